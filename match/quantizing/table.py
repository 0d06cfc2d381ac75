"""What quantizing a network found, on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from match.quantizing.form import Form
from match.quantizing.schema import LayerError, Quantization, RunSummary
from match.report.columns import Column, fitted, left_out

_SHOWN_LAYERS = 10
_SHOWN_CLASSES = 12
_NAMES = {
    "float": "float model",
    "quantized": "quantized model",
    "hardware": "C, hardware numerics",
    "exact": "C, exact numerics",
}


def show_quantization(result: Quantization, console: Console) -> None:
    """Print the ways to compute the network side by side, the layers that lose most, and what is not quantized."""
    console.print(Text(_title(result), style="bold"), "", sep="\n")
    runs, _ = fitted(_run_columns(result), [run for run in result.runs if not run.refusal], console)
    console.print(runs, "", sep="\n")
    shown = next((run for name in ("hardware", "quantized") for run in result.runs if run.run == name), None)
    if shown is not None and shown.confusion and len(shown.confusion) <= _SHOWN_CLASSES:
        console.print(f"{_NAMES[shown.run]}: labels in rows, classes given in columns")
        console.print(_confusion(shown.confusion), "", sep="\n")
    worst = sorted(result.layers, key=_worst)[:_SHOWN_LAYERS]
    layers, missing = fitted(_layer_columns(result), worst, console)
    console.print(layers, "", sep="\n")
    for line in left_out(missing, "--json has all of it"):
        console.print(line)
    for line in _sentences(result, len(worst)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def _title(result: Quantization) -> str:
    form = result.form
    text = Form(
        "uint8" if form.activations == "uint8" else "int8",
        form.symmetric,
        form.per_channel,
        form.powers_of_two,
        form.one_scale_for_addends,
    ).text
    return (
        f"{result.network} for {result.target}: {text}; {result.calibrated} samples to calibrate, "
        f"{result.samples} to measure"
    )


def _run_columns(result: Quantization) -> list[Column[RunSummary]]:
    def share(run: RunSummary) -> str:
        return "" if run.right is None else f"{run.right / result.samples:.2%}"

    def interval(run: RunSummary) -> str:
        return "" if run.interval is None else f"{run.interval[0]:.1%} to {run.interval[1]:.1%}"

    columns = [Column[RunSummary]("computed by", lambda run: _NAMES[run.run])]
    if result.classes is not None:
        columns += [
            Column[RunSummary]("right", lambda run: "" if run.right is None else f"{run.right:,}", "right"),
            Column[RunSummary]("accuracy", share, "right"),
            Column[RunSummary]("95 % confidence", interval, "right", rank=1),
        ]
    if any(run.agreeing is not None for run in result.runs):
        agreeing = Column[RunSummary](
            "same class as float", lambda run: "" if run.agreeing is None else f"{run.agreeing:,}", "right", rank=2
        )
        columns.append(agreeing)
    return [*columns, Column[RunSummary]("SQNR, dB", lambda run: _decibels(run.sqnr_db), "right")]


def _layer_columns(result: Quantization) -> list[Column[LayerError]]:
    columns = [
        Column[LayerError]("layer", lambda layer: layer.name, folds=True),
        Column[LayerError]("what", lambda layer: layer.op),
        Column[LayerError]("weight bits", lambda layer: str(layer.weight_bits or ""), "right", rank=1),
        Column[LayerError]("SQNR, dB", lambda layer: _decibels(layer.sqnr_db), "right"),
        Column[LayerError]("cosine", lambda layer: f"{layer.cosine:.5f}", "right", rank=2),
        Column[LayerError](
            "lost here, dB", lambda layer: "" if layer.loss_db is None else f"{layer.loss_db:.1f}", "right"
        ),
    ]
    if any(layer.alone_db is not None for layer in result.layers):
        columns.append(
            Column[LayerError](
                "gain if float, dB", lambda layer: "" if layer.alone_db is None else f"{layer.alone_db:.2f}", "right"
            )
        )
    if any(layer.alone_right is not None for layer in result.layers):
        columns.append(
            Column[LayerError](
                "right if float", lambda layer: "" if layer.alone_right is None else f"{layer.alone_right:+d}", "right"
            )
        )
    return columns


def _worst(layer: LayerError) -> float:
    """Smallest of the layer that costs most: as the outputs gain without it, or as it loses."""
    if layer.alone_db is not None:
        return -layer.alone_db
    return -layer.loss_db if layer.loss_db is not None else float("inf")


def _decibels(value: float | None) -> str:
    return "equal" if value is None else f"{value:.1f}"


def _confusion(counts: Sequence[Sequence[int]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for number in range(len(counts)):
        table.add_column(str(number), justify="right")
    for number, row in enumerate(counts):
        table.add_row(str(number), *(str(count) if count else "." for count in row))
    return table


def _sentences(result: Quantization, shown: int) -> list[str]:
    lines: list[str] = []
    if shown < len(result.layers):
        lines.append(f"These {shown} of {len(result.layers)} quantized tensors lose most; --json has all.")
    lines += [f"{_NAMES[run.run]}: {run.refusal}" for run in result.runs if run.refusal]
    lines += list(result.notes)
    lines += [f"In floating point: {kind.op} ({', '.join(kind.names)}): {kind.why}." for kind in result.floating]
    for what in dict.fromkeys((layer.op, layer.why) for layer in result.control_core):
        same = [layer for layer in result.control_core if (layer.op, layer.why) == what]
        names, cycles = ", ".join(layer.name for layer in same), sum(layer.cycles for layer in same)
        lines.append(f"On the control core: {names} ({what[0]}, {cycles:,} cycles), as {what[1]}.")
    if result.narrowing is not None:
        narrow, unit = result.narrowing, "of the samples" if result.classes is not None else "dB"
        allowed = f"{narrow.allowed:.2%}" if result.classes is not None else f"{narrow.allowed:g}"
        loss = f"{narrow.loss:.2%}" if result.classes is not None else f"{narrow.loss:.2f}"
        lines.append(
            f"Narrower weights: {result.cycles:,} cycles in place of {narrow.cycles_in_8_bits:,} "
            f"({result.cycles / narrow.cycles_in_8_bits - 1:+.1%}) for a loss of {loss} {unit} ({allowed} allowed)."
        )
    lines.append(f"Predicted on {result.target}: {result.cycles:,} cycles, {result.milliseconds:.3f} ms.")
    return lines
