"""The result of a validation as a table."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from match.report.columns import Column, fitted, left_out
from match.report.schema import AccuracySummary
from match.validation.schema import LayerDifference, TensorDifference, Validation
from match.validation.verdict import differs_by_more


def show(validation: Validation, console: Console) -> None:
    """Print what was compared, a line for each output, and one for each operator where these were compared."""
    console.print(Text(title(validation), style="bold"), "", sep="\n")
    outputs, _ = fitted(_outputs(), validation.outputs, console)
    console.print(outputs, "", sep="\n")
    if validation.layers is not None:
        table, missing = fitted(_layers(), validation.layers, console)
        console.print(table, "", sep="\n")
        for line in left_out(missing, "--json has all of it"):
            console.print(line)
    for line in sentences(validation):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def title(validation: Validation) -> str:
    """What was compared."""
    drawn = "given" if validation.seed is None else f"random, from seed {validation.seed}"
    return (
        f"{validation.network} for {validation.target}: generated C on {validation.platform} and "
        f"{validation.reference}, {validation.samples} samples ({drawn})"
    )


def _outputs() -> list[Column[TensorDifference]]:
    return [
        Column[TensorDifference]("output", lambda tensor: tensor.name, folds=True),
        Column[TensorDifference]("elements", lambda tensor: f"{tensor.elements:,}", "right"),
        Column[TensorDifference]("equal", lambda tensor: f"{tensor.equal:,}", "right"),
        Column[TensorDifference]("off by one", lambda tensor: f"{tensor.off_by_one:,}" if tensor.step else "", "right"),
        Column[TensorDifference]("largest difference", lambda tensor: f"{tensor.largest:g}", "right"),
    ]


def _layers() -> list[Column[LayerDifference]]:
    return [
        Column[LayerDifference]("operator alone", lambda layer: layer.name, folds=True),
        Column[LayerDifference]("what", lambda layer: layer.op, rank=1, folds=True),
        Column[LayerDifference]("module", lambda layer: layer.module, rank=2),
        Column[LayerDifference]("elements", lambda layer: f"{layer.elements:,}", "right", rank=3),
        Column[LayerDifference]("differ", lambda layer: f"{layer.differing:,}" if layer.differing else "", "right"),
        Column[LayerDifference]("share", lambda layer: f"{layer.share:.3%}" if layer.differing else "", "right"),
        Column[LayerDifference]("largest", lambda layer: f"{layer.largest:g}" if layer.differing else "", "right"),
        Column[LayerDifference](
            "known", lambda layer: f"up to {layer.known_steps}" if layer.known_steps else "", rank=4
        ),
    ]


def sentences(validation: Validation) -> list[str]:
    """What came of it."""
    lines = [_verdict(validation)]
    if validation.caveat and not validation.equal:
        lines.append(validation.caveat)
    if validation.layers is not None or validation.verdict in ("as announced", "more than announced"):
        lines.append(_first(validation))
    if validation.accuracy is not None:
        lines.append(_accuracy(validation.accuracy, validation.reference))
    if validation.exact is not None:
        now, then = validation.exact.cycles, validation.exact.exact_cycles
        lines.append(f"With --numerics exact: {then:,} cycles predicted in place of {now:,} ({then / now - 1:+.1%}).")
    return lines


def _accuracy(seen: AccuracySummary, reference: str) -> str:
    parts = [("generated C", seen.right, seen.interval)]
    if seen.exact_right is not None and seen.exact_interval is not None:
        parts.append(("with exact numerics", seen.exact_right, seen.exact_interval))
    parts.append((reference, seen.reference_right, seen.reference_interval))
    shares = (
        f"{name} {right / seen.samples:.2%} ({interval[0]:.1%} to {interval[1]:.1%})" for name, right, interval in parts
    )
    return f"Top-1 accuracy on {seen.samples} labelled samples, with 95 % confidence: {', '.join(shares)}."


def _verdict(validation: Validation) -> str:
    elements = sum(tensor.elements for tensor in validation.outputs)
    equal = sum(tensor.equal for tensor in validation.outputs)
    differ = f"{elements - equal:,} of {elements:,} elements differ"
    match validation.verdict:
        case "equal":
            return f"Equal: all {elements:,} elements."
        case "as announced":
            return f"As announced: {differ}, and no operator is off by more than the report says of it."
        case "more than announced":
            return f"More than announced: {differ}, and the report does not say why."
        case "unknown":
            return (
                f"Not equal: {differ}. Whether the report announced it is not known, as the operators cannot be "
                f"compared: the target is not installed, or another version of the compiler made the project."
            )


def _first(validation: Validation) -> str:
    if validation.first is None:
        return "Operator by operator nothing differs from the network's own integers."
    found = next((layer for layer in validation.layers or () if layer.name == validation.first), None)
    if found is None:
        more = " by more than that" if validation.verdict == "more than announced" else ""
        return f"The first operator that differs{more} is {validation.first}; --layers compares all of them."
    if not differs_by_more(found):
        return f"The first operator that differs is {found.name}, by no more than is known of its requantization."
    return f"The first operator that differs is {found.name} on {found.module}: {found.share:.3%} of its elements."
