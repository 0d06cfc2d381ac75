"""The mapping of a group: there is one, for all of its tensors are whole."""

from __future__ import annotations

from match.errors import NoMappingError
from match.mapping.group_plan import group_plan, least_bytes
from match.mapping.schedule import Placement, Schedule
from match.search.problem import SearchProblem
from match.target.group import GroupCost


def group_schedule(problem: SearchProblem) -> Schedule:
    """The mapping of a group onto any number of memories, in each of which all that it holds is whole.

    Raises:
        NoMappingError: if it does not fit.
    """
    layer, model, inner = problem.layer, problem.cost_model, problem.memories[-1]
    if not isinstance(model, GroupCost):
        raise NoMappingError(layer.name, "is a group, whose operators have cost models of their own")
    sizes = model.sizes(layer)
    plan = group_plan(layer, problem.operands, inner, sizes)
    if plan is None:
        needed = least_bytes(layer, problem.operands, inner, sizes)
        raise NoMappingError(layer.name, f"takes {needed} bytes of {inner.name} at least, which has {inner.size}")
    placements = tuple(
        Placement(operand.name, memory.name, 0)
        for memory in problem.memories
        for operand in problem.operands
        if memory.has(operand.name)
    )
    return Schedule(layer, problem.operands, problem.memories, (), placements, plan=plan)
