"""Many searches at once: what an earlier compilation found is looked up, the rest is shared out among processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from match.search.cache import Cache
from match.search.pool import solve_all
from match.search.problem import SearchProblem, Solution


def solutions(
    problems: Sequence[SearchProblem], cache: Cache | None, jobs: int, count: Callable[[int, int], None] | None = None
) -> list[Solution]:
    """Solutions in the order of `problems`; new ones are stored in the cache, if there is one.

    `count` is told how many of the new ones are found, and of how many.

    Raises:
        CostModelError: if a cost model fails.
    """
    found = [cache.look_up(problem) if cache else None for problem in problems]
    missing = [problem for problem, solution in zip(problems, found, strict=True) if solution is None]
    solved = solve_all(missing, jobs, count) if missing else []
    if cache and missing:
        cache.store(list(zip(missing, solved, strict=True)))
    new = iter(solved)
    return [solution or next(new) for solution in found]
