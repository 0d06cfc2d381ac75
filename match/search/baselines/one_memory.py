"""The engines of the literature map onto one memory."""

from __future__ import annotations

from match.errors import NoMappingError
from match.mapping.memory import Memory
from match.search.problem import SearchProblem


def only_memory(problem: SearchProblem, engine: str) -> Memory:
    """The one memory of a problem.

    Raises:
        NoMappingError: if there are more.
    """
    if len(problem.memories) != 1:
        raise NoMappingError(
            problem.layer.name,
            f"has {len(problem.memories)} levels of scratchpad, and the {engine} engine maps onto one",
        )
    return problem.memories[0]
