"""What the benchmark writes, as types (schema.json is made from them) and as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from rich import box
from rich.table import Table

from benchmarks.published.cells import Cell

SCHEMA_VERSION = 1


class Prediction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cell in cycles at `clock_hz`, for a network of `macs` an inference.

    `ratio` is predicted over measured. `cpu_cycles` are the part of the prediction that is TVM's C on the control core,
    `layout_cycles` the part of these that lays activations out anew between it and modules.
    `runtime_cycles` is what the measuring tool's own run-time adds by its published constants, null where they are not
    known; it is not in the prediction.
    """

    clock_hz: float
    macs: int
    measured_cycles: float
    predicted_cycles: float
    ratio: float
    cpu_cycles: float
    layout_cycles: float
    runtime_cycles: float | None


class Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published cell with its prediction, or with the reason why there is none (`unavailable`)."""

    cell: Cell
    prediction: Prediction | None = None
    unavailable: str | None = None


class Results(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All cells, in the order of cells.toml."""

    schema_version: int = SCHEMA_VERSION
    results: tuple[Result, ...]


def schema() -> dict[str, Any]:
    """JSON Schema of `Results`."""
    return msgspec.json.schema(Results)


def table(results: Sequence[Result]) -> Table:
    """A row for each cell; cells without a prediction say why."""
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in ("target", "modules", "network", "measured by"):
        grid.add_column(header)
    for header in ("measured", "predicted", "ratio", "with run-time"):
        grid.add_column(header, justify="right")
    grid.add_column("source, remarks", overflow="fold")
    for result in results:
        cell = result.cell
        grid.add_row(
            cell.target,
            "+".join(cell.modules) or "cpu",
            cell.network,
            cell.tool,
            *(figures(cell, result.prediction) if result.prediction else [""] * 4),
            "; ".join(filter(None, (cell.source, cell.remark, result.unavailable))),
        )
    return grid


def figures(cell: Cell, prediction: Prediction) -> tuple[str, str, str, str]:
    """Measured, predicted, their ratio, and that with the run-time's cycles.

    In milliseconds or, as the cell has it, MACs per cycle; both ratios are of cycles.
    """

    def shown(cycles: float) -> str:
        if cell.macs_per_cycle is not None:
            return f"{prediction.macs / cycles:.2f} MAC/cycle"
        return f"{1000 * cycles / prediction.clock_hz:.2f} ms"

    explained = ""
    if prediction.runtime_cycles is not None:
        total = prediction.predicted_cycles + prediction.runtime_cycles
        explained = f"{total / prediction.measured_cycles:.2f}"
    return (
        shown(prediction.measured_cycles),
        shown(prediction.predicted_cycles),
        f"{prediction.ratio:.2f}",
        explained,
    )
