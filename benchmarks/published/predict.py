"""Predicts a cell: the network compiled for the cell's modules, as far as the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.published.alone import alone
from benchmarks.published.cells import Cell, Network
from benchmarks.published.match_runtime import runtime_cycles
from benchmarks.published.networks import model
from benchmarks.published.results import Prediction, Result
from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.plan import LayerDecision
from match.errors import MatchError
from match.frontend import Model
from match.frontend.relay import from_relay
from match.ir.layer import Op
from match.partitioning.partitioner import cut
from match.partitioning.pattern import Match, find_layers
from match.passes.pipeline import integer_network
from match.target.hardware import MatchTarget
from match.target.registry import get_target

RUNTIME = ("MATCH", "gap9")
"""The tool and the target whose run-time is known."""

ALONE = frozenset({Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.DENSE, Op.ADD})
"""Operators that `alone` makes networks of."""


def predict(cell: Cell, network: Network, models: Path) -> Result:
    """The cell with its prediction, or with the reason why there is none.

    Channels that are proven constant are computed all the same, as they were when the cell was measured. Floating point
    at the network's border (conversions, softmax) is left out, for the measured networks had none.
    """
    try:
        target = get_target(cell.target, cell.l1, cell.modules)
        decisions = _decisions(model(network, models), target, cell.shifts)
    except MatchError as error:
        return Result(cell=cell, unavailable=str(error))
    counted = ALONE if network.convolution is not None else frozenset(Op)
    return Result(
        cell=cell,
        prediction=_prediction(cell, target.clock_hz, [decision for decision in decisions if decision.op in counted]),
    )


def _decisions(network: Model, target: MatchTarget, shifts: bool) -> list[LayerDecision]:
    """Of all rows; with `shifts`, layers that can be networks of their own are decided so, with powers of two."""
    options = Options.parse("exact", "latency", "hardware", fuse=False)  # as it was measured: layer by layer
    integer = integer_network(network, target.activations, remove_dead_channels=False)
    decisions = list(cut(integer, target, options, network.name, Stopwatch()).decisions)
    if not shifts:
        return decisions
    layers = [found.layer for found in find_layers(integer) if isinstance(found, Match) and found.layer.op in ALONE]
    parts = [integer_network(from_relay(alone(layer)), target.activations) for layer in layers]
    shifted = [cut(part, target, options, network.name, Stopwatch()).decisions for part in parts]
    kept = [decision for decision in decisions if decision.op not in ALONE]
    return [*kept, *(decision for each in shifted for decision in each if decision.op in ALONE)]


def _prediction(cell: Cell, clock_hz: float, decisions: Sequence[LayerDecision]) -> Prediction:
    macs = sum(decision.macs for decision in decisions)
    measured = _measured_cycles(cell, clock_hz, macs)
    predicted = sum(decision.cycles for decision in decisions)
    known = (cell.tool, cell.target) == RUNTIME
    return Prediction(
        clock_hz=clock_hz,
        macs=macs,
        measured_cycles=measured,
        predicted_cycles=predicted,
        ratio=predicted / measured,
        cpu_cycles=sum(decision.cycles for decision in decisions if decision.plan is None),
        runtime_cycles=sum(map(runtime_cycles, decisions)) if known else None,
    )


def _measured_cycles(cell: Cell, clock_hz: float, macs: int) -> float:
    if cell.cycles is not None:
        return cell.cycles
    if cell.milliseconds is not None:
        return cell.milliseconds * clock_hz / 1000
    if cell.macs_per_cycle is not None:
        return macs / cell.macs_per_cycle
    raise ValueError(f"the cell of {cell.network} on {cell.target} has no measured figure")
