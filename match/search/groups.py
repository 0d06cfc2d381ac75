"""The mapping of a group: tensors are whole, constants come in parts, and calls are waited for, as it is fastest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from match.errors import NoMappingError
from match.ir.layer import Layer
from match.mapping.group_plan import GroupPlan, Order, group_plan, least_bytes, one_by_one
from match.mapping.schedule import Placement, Schedule
from match.mapping.under_way import ends
from match.prediction.predict import predict
from match.search.problem import SearchProblem
from match.search.strips import strips
from match.target.group import GroupCost

PART_BYTES = 4096, 16384, 65536
"""Least bytes of a part of the constants. The mapping is made with each of these numbers, and the fastest one is taken:
small parts arrive earlier, but the core takes some cycles to start each."""


def group_schedule(problem: SearchProblem) -> Schedule:
    """The mapping of a group onto any number of memories, in each of which all that it holds is whole.

    Kernel calls are waited for one by one, or as late as they may be: their rooms are taken longer for it. They are
    those of whole operators, or of the fastest strips for which there is room.

    Raises:
        NoMappingError: if it does not fit.
    """
    layer, model, inner = problem.layer, problem.cost_model, problem.memories[-1]
    if not isinstance(model, GroupCost):
        raise NoMappingError(layer.name, "is a group, whose operators have cost models of their own")
    sizes = model.sizes(layer)

    def tried(*parts: int) -> list[GroupPlan]:
        def planned(order: Order) -> list[GroupPlan]:
            plans = (group_plan(layer, problem.operands, inner, sizes, part, order) for part in parts)
            return [plan for plan in plans if plan is not None]

        whole, in_strips = _orders(layer, model)
        fitting = filter(None, map(planned, in_strips))
        return [*chain.from_iterable(map(planned, whole)), *next(fitting, ())]

    plans = tried(*PART_BYTES) or tried(1)
    found = [_scheduled(problem, plan) for plan in dict.fromkeys(plans)]
    if not found:
        needed = least_bytes(layer, problem.operands, inner, sizes)
        if needed <= inner.size:
            raise NoMappingError(layer.name, f"leaves gaps in {inner.name}, too large for its {inner.size} bytes")
        raise NoMappingError(layer.name, f"takes {needed} bytes of {inner.name} at least, which has {inner.size}")
    costs = [predict(schedule, model) for schedule in found]  # of equal bytes
    if problem.objective == "energy":
        return min(zip(found, costs, strict=True), key=lambda one: (one[1].energy or 0.0, one[1].cycles))[0]
    return min(zip(found, costs, strict=True), key=lambda one: one[1].cycles)[0]


def _orders(layer: Layer, model: GroupCost) -> tuple[list[Order], Iterator[Order]]:
    """Orders of the kernel calls of whole operators, all of which are tried, and those in strips, fastest first."""
    waiting = one_by_one(layer)
    late = Order(waiting.calls, ends(layer, waiting.calls, model.lanes))
    return [waiting, late], (Order(own, ends(layer, own, model.lanes)) for own in strips(layer, model))


def _scheduled(problem: SearchProblem, plan: GroupPlan) -> Schedule:
    """The mapping with a plan."""
    layer = problem.layer
    placements = tuple(
        Placement(operand.name, memory.name, 0)
        for memory in problem.memories
        for operand in problem.operands
        if memory.has(operand.name)
    )
    return Schedule(layer, problem.operands, problem.memories, (), placements, plan=plan)
