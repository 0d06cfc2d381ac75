"""Predicts a cell: the network compiled for the cell's modules, as far as the decisions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.published.cells import Cell, Network
from benchmarks.published.match_runtime import runtime_cycles
from benchmarks.published.networks import model
from benchmarks.published.results import Prediction, Result
from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.compiled.stations import rescaled_where_asked
from match.dispatch.plan import LayerDecision
from match.errors import MatchError
from match.frontend import Model
from match.ir.layer import Op
from match.partitioning.layouts import LAYOUT
from match.partitioning.partitioner import cut
from match.passes.pipeline import integer_network
from match.target.hardware import MatchTarget
from match.target.registry import get_target

RUNTIME = ("MATCH", "gap9")
"""The tool and the target whose run-time is known."""

COUNTED = frozenset({*Op, LAYOUT})
"""Operators that are counted, of a single convolution it alone: all but those in floating point."""


def predict(cell: Cell, network: Network, models: Path) -> Result:
    """The cell with its prediction, or with the reason why there is none.

    Channels that are proven constant are computed all the same, as they were when the cell was measured. Floating point
    at the network's border (conversions, softmax) is left out, for the measured networks had none.
    """
    try:
        target = get_target(cell.target, cell.l1, cell.modules)
        decisions = _decisions(model(network, models), target, cell.rescale)
    except MatchError as error:
        return Result(cell=cell, unavailable=str(error))
    counted = COUNTED if network.convolution is None else {Op.CONV2D}
    return Result(
        cell=cell,
        prediction=_prediction(cell, target.clock_hz, [decision for decision in decisions if decision.op in counted]),
    )


def _decisions(network: Model, target: MatchTarget, rescale: bool) -> tuple[LayerDecision, ...]:
    """What is predicted for all rows, layer by layer as they were measured."""
    options = Options.parse(fuse=False, rescale=rescale)
    integer = integer_network(network, target.activations, remove_dead_channels=False)
    return cut(rescaled_where_asked(integer, target, options), target, options, network.name, Stopwatch()).decisions


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
        layout_cycles=sum(decision.cycles for decision in decisions if decision.op == LAYOUT),
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
