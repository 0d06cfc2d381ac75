"""Layers whose requantization no module executes: their sums on a module, the requantization on the control core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from match.compilation.options import Options
from match.compilation.stopwatch import Stopwatch
from match.dispatch.choice import cpu_cost, dispatch, price
from match.dispatch.plan import CPU, Candidate, LayerDecision
from match.dispatch.request import Workload
from match.partitioning.pattern import Match, Rejection, unrequantized
from match.partitioning.pattern.rows import Chain
from match.target.hardware import MatchTarget

REQUANTIZE = "requantize"
"""Operator, in a decision, that brings the sums of the layer before it back to 8 bits."""

LARGEST_SHARE = 0.25
"""Of main memory that a layer's int32 sums may take: beside them there are inputs, outputs and weights."""

_SUM_BYTES = 4

Row = Match | Rejection | Chain


def apart(
    listed: Sequence[Row],
    decisions: Sequence[LayerDecision],
    prefix: str,
    target: MatchTarget,
    options: Options,
    stopwatch: Stopwatch,
) -> tuple[list[Row], list[LayerDecision], list[Workload]]:
    """The rows and decisions of a network with layers of the control core in two where that costs less.

    The first of the two is the layer without its requantization, on a module that hands out sums; the second is the
    requantization, with the reasons for which modules refused the whole. Behind these, what modules were asked about.
    `prefix` begins the C names of functions.

    Raises:
        CostModelError: if a cost model fails.
    """
    halves = {index: pair for index, row in enumerate(listed) if (pair := _halves(row, decisions[index], target))}
    workloads = [
        Workload(
            replace(sums.layer, name=f"{sums.layer.op}_{index}"),
            sums.constants,
            None,
            f"{prefix}_{index:02d}_{sums.layer.op}_sums",
            decisions[index].source,
        )
        for index, (sums, _) in halves.items()
    ]
    decided = dict(zip(halves, dispatch(workloads, target, options, stopwatch), strict=True))
    rows: list[Row] = []
    results: list[LayerDecision] = []
    for index, (row, decision) in enumerate(zip(listed, decisions, strict=True)):
        rest = _requantization(decision, index, target)
        sums = decided.get(index)
        if sums and sums.plan and _price(sums, options) + _price(rest, options) < _price(decision, options):
            rows += halves[index]
            results += [sums, rest]
        else:
            rows.append(row)
            results.append(decision)
    return rows, results, workloads


def _price(decision: LayerDecision, options: Options) -> float:
    costs = (candidate.cost for candidate in decision.candidates if candidate.module == decision.module)
    return next(price(cost, options) for cost in costs if cost)


def _halves(row: Row, decision: LayerDecision, target: MatchTarget) -> tuple[Match, Chain] | None:
    """The layer's sums and its requantization, if it is on the control core and a module might take the sums."""
    if not isinstance(row, Match) or decision.plan or not any(row.layer.op in unit.sums for unit in target.modules):
        return None
    if _SUM_BYTES * decision.outputs > LARGEST_SHARE * target.main_memory.size:
        return None
    return unrequantized(row)


def _requantization(decision: LayerDecision, index: int, target: MatchTarget) -> LayerDecision:
    """What is left of a layer whose sums are computed elsewhere: as much as one without products."""
    name = f"{REQUANTIZE}_{index}"
    cost = cpu_cost(target, name, decision.op, 0, decision.outputs)
    refusals = tuple(candidate for candidate in decision.candidates if candidate.module != CPU)
    candidates = (*refusals, Candidate(CPU, cost=cost))
    source = decision.source
    return LayerDecision(name, REQUANTIZE, CPU, 0, decision.outputs, cost.cycles, candidates, source=source)
