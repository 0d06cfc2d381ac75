"""What each objective brings: cycles and energy of networks, beside those of least latency."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich import box
from rich.table import Table

import match

TARGETS = ("gap8", "gap9", "pulp_open", "diana")

WAYS: tuple[tuple[str, str | None], ...] = (
    ("latency", None),
    ("energy", None),
    ("edp", None),
    ("energy", "latency=1.1x"),
)
"""Objectives and bounds."""

RESCALED = ("diana",)
"""Targets whose module shifts alone: networks are rescaled, or they would lie on the control core."""


class ObjectiveResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A network on a target, chosen for an objective within a bound.

    `cycles_factor` and `energy_factor` are those of the network of least latency.
    """

    target: str
    network: str
    objective: str
    at_most: str | None
    cycles: int
    energy_pj: float
    cycles_factor: float
    energy_factor: float

    @property
    def is_dear(self) -> bool:
        """Whether it takes more than 1.25 times the cycles for less than 5 % of the energy."""
        return self.cycles_factor > 1.25 and self.energy_factor > 0.95


def networks(folder: Path) -> list[Path]:
    """The model files of a folder."""
    return sorted(path for path in folder.iterdir() if path.suffix in (".onnx", ".tflite"))


def chosen(path: Path, target: str) -> list[ObjectiveResult]:
    """A network, chosen in each way."""
    found: list[ObjectiveResult] = []
    least: tuple[int, float] | None = None
    for objective, at_most in WAYS:
        totals = match.predict(path, target, objective=objective, at_most=at_most, rescale=target in RESCALED).totals
        assert totals.energy_pj is not None, "targets of this project have energies"
        least = least or (totals.cycles, totals.energy_pj)
        found.append(
            ObjectiveResult(
                target=target,
                network=path.name,
                objective=objective,
                at_most=at_most,
                cycles=totals.cycles,
                energy_pj=totals.energy_pj,
                cycles_factor=totals.cycles / least[0],
                energy_factor=totals.energy_pj / least[1],
            )
        )
    return found


def objectives_table(results: Sequence[ObjectiveResult]) -> Table:
    """A row for each network on each target, with cycles and energy of each way."""
    grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for header in ("target", "network"):
        grid.add_column(header)
    for objective, at_most in WAYS:
        name = objective + (f"\n{at_most}" if at_most else "")
        grid.add_column(name, justify="right")
    for row in objectives_rows(results):
        grid.add_row(*row)
    return grid


def objectives_rows(results: Sequence[ObjectiveResult]) -> list[tuple[str, ...]]:
    """For each network on each target its names, and cycles and energy of each way."""
    rows: dict[tuple[str, str], list[str]] = {}
    for one in results:
        rows.setdefault((one.target, one.network), []).append(_cell(one))
    return [(*names, *row) for names, row in rows.items()]


def _cell(one: ObjectiveResult) -> str:
    if one.objective == "latency":
        return f"{one.cycles:,} cycles, {one.energy_pj / 1e6:,.2f} µJ"
    return f"{one.cycles_factor:.3f}, {one.energy_factor:.3f}"
