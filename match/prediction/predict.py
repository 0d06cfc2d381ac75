"""Predicted latency of a schedule: the time to execute all its events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from match.mapping.group_plan import GroupPlan
from match.mapping.schedule import Loop, Placement, Schedule
from match.prediction.direct import direct_cost
from match.prediction.group import GroupWalk
from match.prediction.nested import levels_of, nested_latency
from match.prediction.prices import Prices
from match.prediction.view import view_of
from match.prediction.walk import Walk
from match.target.cost import Cost, CostModel
from match.target.group import GroupCost


def predict(schedule: Schedule, cost_model: CostModel) -> Cost:
    """Predicted cost of executing `schedule` on the module that `cost_model` describes, in cycles and bytes.

    Raises:
        CostModelError: if the cost model fails.
    """
    if schedule.direct:
        return direct_cost(schedule.layer, schedule.operands, cost_model)
    if isinstance(cost_model, GroupCost):
        cost_model = cost_model.of(schedule.plan)
    if len(schedule.memories) > 1:
        return nested_latency(levels_of(schedule, cost_model))
    memory = schedule.inner_memory
    placements = [schedule.placement(operand.name, memory) for operand in schedule.operands]
    pricing = Prices(schedule.layer, schedule.operands, memory, cost_model)
    return latency(pricing, schedule.loops, placements, schedule.plan)


def latency(
    pricing: Prices, loops: Sequence[Loop], placements: Sequence[Placement], plan: GroupPlan | None = None
) -> Cost:
    """Cost of a mapping onto one memory; `placements` are in the order of the operands. Nothing is checked."""
    sizes = pricing.layer.extents
    if plan is not None:
        walk = GroupWalk(pricing, plan)
        walk.run(pricing.overhead)
    else:
        walk = Walk(pricing, loops, placements, sizes)
        walk.run({dim: (0, size) for dim, size in sizes.items()}, pricing.overhead)
    moved = tuple((operand.name, count) for operand, count in zip(pricing.operands, walk.moved, strict=True))
    cost = Cost(walk.now, walk.compute, sum(walk.transfers), walk.overhead, moved)
    if pricing.has_latency:
        moves = list(zip(walk.moved, walk.transfers, strict=True))
        cost = replace(cost, cycles=pricing.latency(view_of(pricing, loops, placements, cost, moves)))
    return replace(cost, energy=pricing.energy({pricing.memory.name: sum(walk.moved)}, cost))
