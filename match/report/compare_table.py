"""A comparison as tables: totals, then the layers that moved."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from match.report.columns import Column, fitted, left_out
from match.report.compare import Change, Comparison, LayerChange, Side, Total
from match.report.settings import objective_text, settings_text
from match.target.memory_sizes import sizes_text

_WORDS = {
    "layers": "fused",
    "schedule": "mapping",
    "l1": "L1 bytes",
    "bytes": "bytes moved",
    "waits": "waits for external memory",
    "requantization": "requantized",
}

_IN_COLUMNS = {"cycles", "fusion"}
"""Aspects that other columns show: the layers of both by their names."""


def show(comparison: Comparison, console: Console) -> None:
    """Print the comparison; layers that are the same in both are counted, not listed."""
    for letter, side in (("A", comparison.a), ("B", comparison.b)):
        console.print(Text(f"{letter}: {described(side)}", style="bold"))
    if comparison.a.sha256 != comparison.b.sha256:
        console.print(Text("The model files differ."))
    console.print()
    known = [total for total in comparison.totals if total.a is not None or total.b is not None]
    totals, _ = fitted(_totals(), known, console)
    console.print(totals, "", sep="\n")
    others = [layer for layer in comparison.layers if not layer.same]
    if others:
        table, missing = fitted(_layers(), others, console)
        console.print(table, "", sep="\n")
        for line in left_out(missing, "--json has all of it"):
            console.print(line)
    console.print(Text(sentence(len(others), len(comparison.layers))))


def sentence(moved: int, layers: int) -> str:
    """How many layers moved."""
    if not moved:
        return f"Nothing moved: all {layers} layers are the same."
    return f"{layers - moved} of {layers} layers are the same."


def described(side: Side) -> str:
    """What was compiled, and how."""
    options = side.options
    l1 = f", L1 {sizes_text(options.l1)} bytes" if options.l1 else ""
    settings = f", {text}" if (text := settings_text(options)) else ""
    return (
        f"{side.model} on {side.target} ({', '.join(options.modules)}; engine {options.engine}, objective "
        f"{objective_text(options)}, numerics {options.numerics}{l1}{settings}; {side.generator})"
    )


def _totals() -> list[Column[Total]]:
    return [
        Column[Total]("predicted", lambda total: total.name),
        Column[Total]("A", lambda total: number(total.a), "right"),
        Column[Total]("B", lambda total: number(total.b), "right"),
        Column[Total]("change", lambda total: relative(total.a, total.b), "right"),
    ]


def _layers() -> list[Column[LayerChange]]:
    return [
        Column[LayerChange]("layer", _named, folds=True),
        Column[LayerChange]("cycles A", lambda layer: number(layer.a_cycles), "right"),
        Column[LayerChange]("cycles B", lambda layer: number(layer.b_cycles), "right"),
        Column[LayerChange]("change", lambda layer: relative(layer.a_cycles, layer.b_cycles), "right"),
        Column[LayerChange]("what moved", _moved, folds=True, rank=1),
    ]


def _named(layer: LayerChange) -> str:
    """Its name, and that of the second report in brackets."""
    return f"{layer.name} ({layer.b_name})" if layer.b_name else layer.name


def _moved(layer: LayerChange) -> str:
    return "\n".join(moved(layer))


def moved(layer: LayerChange) -> list[str]:
    """What moved beside the cycles, and which side has the layer if only one does."""
    if layer.a_cycles is None:
        return ["only in B"]
    if layer.b_cycles is None:
        return ["only in A"]
    return [changed(change) for change in layer.changes if change.aspect not in _IN_COLUMNS]


def changed(change: Change) -> str:
    """What moved of a layer, and why."""
    why = f" ({change.why})" if change.why else ""
    return f"{_WORDS.get(change.aspect, change.aspect)}: {change.a or 'none'} → {change.b or 'none'}{why}"


def number(value: float | None) -> str:
    """A figure with thousands apart; nothing where a report has none."""
    if value is None:
        return ""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3f}"


def relative(a: float | None, b: float | None) -> str:
    """How much more the second is, in percent."""
    if a is None or b is None or a == b:
        return "" if a is None or b is None else "="
    return f"{b / a - 1:+.1%}" if a else "new"
