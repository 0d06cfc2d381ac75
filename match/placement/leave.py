"""Which constants leave main memory, if all of them cannot stay there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from match.placement.contents import load, packed
from match.placement.improve import earlier, fetched_at
from match.placement.latency import predict
from match.placement.problem import Choice, PlacementProblem

_EARLIER = 7


def with_fewer_residents(problem: PlacementProblem, choice: Choice) -> Choice:
    """The choice with fewer constants that stay, so that it fits, or as few as help at the step that is too full.

    What is there at that step and is another one's is fetched before it or behind it: first what costs the fewest
    predicted cycles for each byte. Bytes that the step does not lack are not counted, so that constants that are much
    larger than that go only if they are cheap.
    """
    now = predict(problem, choice, {}).cycles
    known: dict[int, tuple[float, int]] = {}  # what it cost when it was last asked; mostly it costs more later

    while choice.resident:
        loads = load(problem, choice, {})
        fullest = max(range(len(loads)), key=lambda step: (loads[step], -step))
        if loads[fullest] <= problem.main and packed(problem, choice, {}) is not None:
            break
        lacking = max(loads[fullest] - problem.main, 1)
        left = {*choice.resident, *(n for n, at in enumerate(choice.fetched) if at is not None and at <= fullest < n)}
        left.discard(fullest)
        fresh: set[int] = set()

        def per_byte(step: int, lacking: int = lacking) -> tuple[float, int, int]:
            size = problem.steps[step].constants
            return known.get(step, (0.0, 0))[0] / min(size, lacking), -size, step

        while left:
            step = min(left, key=per_byte)
            if step in fresh:
                break
            costs = [
                (predict(problem, _fetched(choice, step, at), {}).cycles - now, -at)
                for at in _starts(problem, step, fullest)
            ]
            if costs:
                known[step] = min(costs)
                fresh.add(step)
            else:
                left.remove(step)
        else:
            break
        cost, at = known.pop(step)
        choice, now = _fetched(choice, step, -at), now + cost
    return choice


def _starts(problem: PlacementProblem, step: int, fullest: int) -> Iterator[int]:
    """When the constants of a step may be fetched so that they are not there at another one."""
    return (at for at in earlier(problem, step, _EARLIER) if not at <= fullest <= step)


def _fetched(choice: Choice, step: int, at: int) -> Choice:
    """The choice with the constants of a step fetched whole at the beginning of another one."""
    return replace(fetched_at(choice, step, at), resident=choice.resident - {step})
