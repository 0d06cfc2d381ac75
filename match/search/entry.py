"""Solutions as bytes and back: what the cache stores and what worker processes send.

Only the decisions of a search are stored. Everything else comes from the problem, and the mapping is built and checked
again, so that corrupt bytes cannot become a mapping that does not fit.
"""

from __future__ import annotations

import msgspec

from match.errors import ScheduleError
from match.mapping.group_plan import GroupPlan
from match.mapping.schedule import Loop, Placement, Schedule
from match.search.problem import SearchProblem, Solution
from match.target.cost import Cost


class _Mapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    loops: tuple[Loop, ...]
    placements: tuple[Placement, ...]
    scratch: int
    loss: float
    cost: Cost
    plan: GroupPlan | None


class _StoredSolution(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    mapping: _Mapping | None
    refusal: str | None
    needed: int | None


def encode(solution: Solution) -> bytes:
    """A solution without its problem, as JSON."""
    schedule, cost = solution.schedule, solution.cost
    mapping = None
    if schedule is not None and cost is not None:
        mapping = _Mapping(schedule.loops, schedule.placements, schedule.scratch, schedule.loss, cost, schedule.plan)
    return msgspec.json.encode(_StoredSolution(mapping, solution.refusal, solution.needed))


def decode(data: bytes, problem: SearchProblem) -> Solution | None:
    """The solution of `problem` that `encode` wrote; None if the bytes are none."""
    try:
        entry = msgspec.json.decode(data, type=_StoredSolution)
        if entry.mapping is None:
            return Solution(refusal=entry.refusal, needed=entry.needed) if entry.refusal else None
        mapping = entry.mapping
        schedule = Schedule(
            problem.layer,
            problem.operands,
            problem.memories,
            mapping.loops,
            mapping.placements,
            mapping.scratch,
            mapping.loss,
            mapping.plan,
        )
    except (msgspec.MsgspecError, ScheduleError, StopIteration):
        return None
    return Solution(schedule, mapping.cost)
