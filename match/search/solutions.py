"""Many searches at once: what an earlier compilation found is looked up, the rest is shared out among processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from match.processes.workers import Workers
from match.search.cache import Cache
from match.search.problem import SearchProblem, Solution
from match.search.solve import solve


def solutions(
    problems: Sequence[SearchProblem],
    cache: Cache | None,
    workers: Workers,
    count: Callable[[int, int], None] | None = None,
) -> list[Solution]:
    """Solutions in the order of `problems`; new ones are stored in the cache, if there is one.

    `count` is told how many of the new ones are found, and of how many.

    Raises:
        CostModelError: if a cost model fails.
    """
    found = [cache.look_up(problem) if cache else None for problem in problems]
    missing = [problem for problem, solution in zip(problems, found, strict=True) if solution is None]
    solved = workers.answers(solve, missing, _size, count)
    if cache and missing:
        cache.store(list(zip(missing, solved, strict=True)))
    new = iter(solved)
    return [solution or next(new) for solution in found]


def _size(problem: SearchProblem) -> int:
    """Grows with the time that a search takes."""
    return problem.layer.k * problem.layer.oy * problem.layer.ox
