"""Every cover of a small network with its cost, from the definitions."""

from __future__ import annotations

from collections.abc import Iterator

from match.cover.problem import CoverProblem, Layout


def covers(problem: CoverProblem, free: frozenset[int] | None = None) -> Iterator[tuple[int, ...]]:
    """All sets of candidates that have each operator once, by first operator; candidates as the problem lists them."""
    free = frozenset(range(len(problem.graph.operators))) if free is None else free
    if not free:
        yield ()
        return
    for number, candidate in enumerate(problem.candidates):
        if min(free) in candidate.operators and free.issuperset(candidate.operators):
            for rest in covers(problem, free.difference(candidate.operators)):
                yield (number, *rest)


def cost(problem: CoverProblem, cover: tuple[int, ...]) -> float:
    """Candidates, and for each tensor the conversions that its readers need, each layout once."""
    given: dict[int, Layout] = {}
    wanted: dict[int, set[Layout]] = {tensor: {None} for tensor in problem.graph.outputs}
    for number in cover:
        given.update(problem.candidates[number].gives)
        for tensor, layout in problem.candidates[number].wants:
            wanted.setdefault(tensor, set()).add(layout)
    total = sum(problem.candidates[number].cost for number in cover)
    for tensor, layouts in wanted.items():
        total += conversions(problem, tensor, given.get(tensor), layouts)
    return total


def conversions(problem: CoverProblem, tensor: int, given: Layout, wanted: set[Layout]) -> float:
    """From a layout that is not dense by way of the dense one; what has more room serves who wants less."""
    needed = {layout for layout in wanted if not serves(given, layout)}
    largest = {layout for layout in needed if not any(serves(other, layout) for other in needed - {layout})}
    made = largest | ({None} if needed and given is not None else set())
    if given is None:
        made -= {None}
    return sum(problem.conversions[tensor, layout] for layout in made)


def serves(layout: Layout, wanted: Layout) -> bool:
    """Whether a tensor that is there in a layout can be read in another one."""
    if layout is None or wanted is None:
        return layout is wanted
    return layout.holds(wanted)
