"""Published energies beside predictions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich import box
from rich.table import Table

import match
from benchmarks.published.cells import Network
from benchmarks.published.networks import model
from match.dispatch.plan import CPU
from match.errors import MatchError

CELLS = Path(__file__).with_name("published.toml")


class EnergyCell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an inference of a network took on a target, in one of two units.

    `milliseconds` were published with it. `rescale`: the network's layers shift alone, as the target's do.
    """

    target: str
    network: str
    source: str
    microjoules: float | None = None
    pj_per_mac: float | None = None
    milliseconds: float | None = None
    rescale: bool = False
    remark: str = ""

    def picojoules(self, macs: int) -> float:
        """The energy of an inference of so many multiply-accumulates."""
        if self.microjoules is not None:
            return 1e6 * self.microjoules
        if self.pj_per_mac is not None:
            return self.pj_per_mac * macs
        raise ValueError(f"the cell of {self.network} on {self.target} has no figure")


class EnergyResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A cell with its prediction, or with the reason why there is none.

    `ratio` is predicted energy over published, `power_ratio` the same of energy over time, where both are known.
    """

    cell: EnergyCell
    macs: int = 0
    published_pj: float | None = None
    predicted_pj: float | None = None
    predicted_milliseconds: float | None = None
    ratio: float | None = None
    power_ratio: float | None = None
    unavailable: str | None = None


class _Cells(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    cells: tuple[EnergyCell, ...]


def cells() -> tuple[EnergyCell, ...]:
    """Those of published.toml."""
    return msgspec.toml.decode(CELLS.read_bytes(), type=_Cells).cells


def predicted(cell: EnergyCell, network: Network, models: Path) -> EnergyResult:
    """The cell with its prediction. A single layer is without what the control core does around it."""
    try:
        report = match.predict(model(network, models), cell.target, rescale=cell.rescale)
    except MatchError as error:
        return EnergyResult(cell=cell, unavailable=str(error))
    energy, milliseconds = report.totals.energy_pj, report.totals.milliseconds
    if network.convolution is not None:
        own = [layer for layer in report.layers if layer.module != CPU]
        energy = sum(layer.energy_pj or 0.0 for layer in own)
        milliseconds = 1e3 * sum(layer.cycles for layer in own) / report.target.clock_hz
    if energy is None:
        return EnergyResult(cell=cell, unavailable=f"target {cell.target} gives no energies.")
    published = cell.picojoules(report.model.macs)
    ratio = energy / published
    return EnergyResult(
        cell=cell,
        macs=report.model.macs,
        published_pj=published,
        predicted_pj=energy,
        predicted_milliseconds=milliseconds,
        ratio=ratio,
        power_ratio=None if cell.milliseconds is None else ratio * cell.milliseconds / milliseconds,
    )


def published_table(results: Sequence[EnergyResult]) -> Table:
    """A row for each cell."""
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in ("target", "network"):
        grid.add_column(header)
    for header in ("published", "predicted", "factor", "factor of power"):
        grid.add_column(header, justify="right")
    grid.add_column("source, remarks", overflow="fold")
    for one in results:
        about = "; ".join(filter(None, (one.cell.source, one.cell.remark, one.unavailable)))
        grid.add_row(one.cell.target, one.cell.network, *figures(one), about)
    return grid


def figures(one: EnergyResult) -> tuple[str, str, str, str]:
    """Published, predicted, their factor, and that of power, in microjoules or, as the cell has it, pJ for a MAC."""
    if one.published_pj is None or one.predicted_pj is None:
        return ("", "", "", "")

    def shown(energy: float) -> str:
        return f"{energy / one.macs:.3g} pJ/MAC" if one.cell.pj_per_mac is not None else f"{energy / 1e6:.3g} µJ"

    power = "" if one.power_ratio is None else f"{one.power_ratio:.2f}"
    return shown(one.published_pj), shown(one.predicted_pj), f"{one.ratio:.2f}", power
