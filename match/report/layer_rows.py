"""The layers of a report as rows of plain values: for CSV files, pandas, and tables in notebooks."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, get_args

from match.dispatch.plan import CPU
from match.files.output import whole_file
from match.report.schema import LayerSummary, Report
from match.report.shares import shares, units

Row = dict[str, str | int | float | bool | None]

Cause = Literal["compute", "transfers", "offload", "external memory", "control core"]
"""What a layer's cycles go into."""

_OWN_CAUSES: tuple[Cause, ...] = ("compute", "transfers", "offload")
"""Causes with a column each, beside `wait_cycles`; what the control core takes is all of a layer."""

CSV_ENDINGS = (".csv",)
_SHOWN = ("layer", "module", "output", "macs", "cycles", "milliseconds", "macs_per_cycle", "bound")


def layer_rows(report: Report) -> list[Row]:
    """A row for each layer: names, shapes, what it is predicted to cost, and what holds it there."""
    peaks = {module.name: module.peak_macs for module in report.target.modules}
    return [_row(layer, report.target.clock_hz, peaks) for layer in report.layers]


def peak_share(layer: LayerSummary, peaks: Mapping[str, int | None]) -> float | None:
    """The share of a layer's cycles in which its MACs can be done; None if it has none, or a peak is not known."""
    parts = [(share.macs, peaks.get(share.module)) for share in shares(layer) if share.macs]
    least = [macs / peak for macs, peak in parts if peak]
    return sum(least) / layer.cycles if parts and len(least) == len(parts) and layer.cycles else None


def causes(layer: LayerSummary) -> dict[Cause, int]:
    """The layer's cycles by what they go into, together all of them.

    "compute" are its kernel calls, "offload" what else the core does: it hands the layer to the module, starts kernels,
    programs transfers, where no kernel call hides it; first calls, whose code is not in a cache, are there too.
    "transfers" are those that nothing hides. "external memory" are its `wait_cycles`.
    """
    own = layer.cycles - layer.wait_cycles
    if layer.module == CPU:
        return {"control core": own, "external memory": layer.wait_cycles}
    compute = min(layer.compute_cycles or 0, own)
    offload = min(layer.overhead_cycles or 0, own - compute)
    return {
        "compute": compute,
        "transfers": own - offload - compute,
        "offload": offload,
        "external memory": layer.wait_cycles,
    }


def causes_of(layers: Iterable[LayerSummary]) -> dict[str, int]:
    """The cycles of layers together by what they go into, those of each that is there."""
    found: dict[str, int] = dict.fromkeys(get_args(Cause), 0)
    for layer in layers:
        for cause, cycles in causes(layer).items():
            found[cause] += cycles
    return {cause: cycles for cause, cycles in found.items() if cycles}


def bytes_moved(layer: LayerSummary) -> int:
    """Bytes that a layer's schedule moves between memories."""
    return sum(operand.bytes_moved for operand in layer.schedule.operands) if layer.schedule else 0


def shapes(given: Iterable[tuple[int, ...]]) -> str:
    """Shapes in short: extents with an x between them."""
    return " ".join("x".join(map(str, shape)) or "scalar" for shape in given)


def write_csv(path: Path, report: Report) -> None:
    """Write the rows, with a line of names above.

    Raises:
        OutputError: if the file cannot be written.
    """
    rows = layer_rows(report)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else ["layer"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    with whole_file(path) as unfinished:
        unfinished.write_text(text.getvalue(), encoding="utf-8")


def html_table(title: str, report: Report) -> str:
    """The most important columns as an HTML table under a title."""
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in _SHOWN)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_text(row[name]))}</td>" for name in _SHOWN) + "</tr>"
        for row in layer_rows(report)
    )
    return f"<p>{html.escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(layer: LayerSummary, clock_hz: float, peaks: Mapping[str, int | None]) -> Row:
    own = causes(layer)
    return {
        "layer": layer.name,
        "source": layer.source,
        "op": layer.op,
        "module": units(layer),
        "parts": layer.parts,
        "input": shapes(layer.input_shapes),
        "output": shapes(layer.output_shapes),
        "removed_channels": layer.removed_channels,
        "macs": layer.macs,
        "cycles": layer.cycles,
        "wait_cycles": layer.wait_cycles,
        **{f"{cause.replace(' ', '_')}_cycles": own.get(cause, 0) for cause in _OWN_CAUSES},
        "milliseconds": 1e3 * layer.cycles / clock_hz,
        "macs_per_cycle": layer.macs / layer.cycles if layer.macs and layer.cycles else None,
        "peak_share": peak_share(layer, peaks),
        "bound": layer.bound,
        "constant_bytes": layer.constant_bytes,
        "weight_bits": layer.weight_bits,
        "bytes_moved": bytes_moved(layer),
        "l1_bytes": layer.l1_bytes,
        "exact": layer.exact,
        "moved_mean": layer.moved.mean if layer.moved else None,
        "moved_largest": layer.moved.largest if layer.moved else None,
    }


def _text(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else value
