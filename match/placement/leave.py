"""Which constants leave main memory, if all of them cannot stay there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from match.placement.contents import load, packed
from match.placement.improve import earlier, fetched_at
from match.placement.latency import course
from match.placement.problem import Choice, PlacementProblem

_EARLIER = 7


class _Move(NamedTuple):
    """What it costs more to fetch constants, at that step, than to have them stay or come as they do."""

    cycles: float
    at: int


def with_fewer_residents(problem: PlacementProblem, choice: Choice) -> Choice:
    """The choice with fewer constants that stay, so that it fits, or as few as help at the step that is too full.

    What is there at that step and is another one's is fetched before it or after it: first what costs the fewest
    predicted cycles for each byte. Bytes that the step does not lack are not counted, so that constants that are much
    larger than that go only if they are cheap.
    """
    now = course(problem, choice, {}).cycles
    known: dict[int, _Move] = {}
    while choice.resident:
        loads = load(problem, choice, {})
        fullest = max(range(len(loads)), key=lambda step: (loads[step], -step))
        if loads[fullest] <= problem.main and packed(problem, choice, {}) is not None:
            break
        step = _cheapest(problem, choice, now, fullest, max(loads[fullest] - problem.main, 1), known)
        if step is None:
            break
        move = known.pop(step)
        choice, now = _fetched(choice, step, move.at), now + move.cycles
    return choice


def _cheapest(
    problem: PlacementProblem, choice: Choice, now: float, fullest: int, lacking: int, known: dict[int, _Move]
) -> int | None:
    """The step whose constants leave the fullest step at the least cost for each byte; none if no others are there.

    `known` has moves from earlier questions and gets those of this one. Most moves cost more later, so that only those
    that seem the cheapest are asked again.
    """
    left = {*choice.resident, *(n for n, at in enumerate(choice.fetched) if at is not None and at <= fullest < n)}
    left.discard(fullest)
    fresh: set[int] = set()

    def per_byte(step: int) -> tuple[float, int, int]:
        size = problem.steps[step].constants
        return (known[step].cycles if step in known else 0.0) / min(size, lacking), -size, step

    while left:
        step = min(left, key=per_byte)
        if step in fresh:
            return step
        moves = [
            _Move(course(problem, _fetched(choice, step, at), {}).cycles - now, at)
            for at in _starts(problem, step, fullest)
        ]
        if moves:
            known[step] = min(moves, key=lambda move: (move.cycles, -move.at))
            fresh.add(step)
        else:
            left.remove(step)
    return None


def _starts(problem: PlacementProblem, step: int, fullest: int) -> Iterator[int]:
    """When the constants of a step may be fetched so that they are not there at another one."""
    return (at for at in earlier(problem, step, _EARLIER) if not at <= fullest <= step)


def _fetched(choice: Choice, step: int, at: int) -> Choice:
    """The choice with the constants of a step fetched whole at the beginning of another one."""
    return replace(fetched_at(choice, step, at), resident=choice.resident - {step})
