"""Predicts a cell: the network compiled for the cell's modules, as far as the decisions."""

from __future__ import annotations

from pathlib import Path

from benchmarks.published.cells import Cell, Network
from benchmarks.published.match_runtime import runtime_cycles
from benchmarks.published.networks import model
from benchmarks.published.results import Prediction, Result
from match.errors import MatchError
from match.options import Options
from match.partitioner import cut
from match.plan import LayerDecision
from match.registry import get_target
from match.stopwatch import Stopwatch
from match.transform.pipeline import integer_relay

MATCH = "MATCH"
"""The tool whose run-time is known."""


def predict(cell: Cell, network: Network, models: Path) -> Result:
    """The cell with its prediction, or with the reason why there is none.

    Channels that are proven constant are computed all the same, as they were when the cell was measured.
    """
    try:
        target = get_target(cell.target, cell.l1, cell.modules)
        loaded = model(network, models)
        integer = integer_relay(loaded, target.activations, remove_dead_channels=False)
        options = Options.parse("exact", "latency", "hardware")
        decisions = cut(integer, target, options, loaded.name, Stopwatch()).decisions
    except MatchError as error:
        return Result(cell=cell, unavailable=str(error))
    macs = sum(decision.macs for decision in decisions)
    if network.convolution is not None:
        decisions = tuple(decision for decision in decisions if decision.macs)
    return Result(cell=cell, prediction=_prediction(cell, target.clock_hz, macs, decisions))


def _prediction(cell: Cell, clock_hz: float, macs: int, decisions: tuple[LayerDecision, ...]) -> Prediction:
    measured = _measured_cycles(cell, clock_hz, macs)
    predicted = sum(decision.cycles for decision in decisions)
    of_match = cell.tool == MATCH and any(decision.plan for decision in decisions)
    return Prediction(
        clock_hz=clock_hz,
        macs=macs,
        measured_cycles=measured,
        predicted_cycles=predicted,
        ratio=predicted / measured,
        cpu_cycles=sum(decision.cycles for decision in decisions if decision.plan is None),
        runtime_cycles=sum(map(runtime_cycles, decisions)) if of_match else None,
    )


def _measured_cycles(cell: Cell, clock_hz: float, macs: int) -> float:
    if cell.cycles is not None:
        return cell.cycles
    if cell.milliseconds is not None:
        return cell.milliseconds * clock_hz / 1000
    if cell.macs_per_cycle is not None:
        return macs / cell.macs_per_cycle
    raise ValueError(f"the cell of {cell.network} on {cell.target} has no measured figure")
