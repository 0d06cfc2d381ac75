"""The cover of a network that costs least, exact on chains and graphs alike.

A choice is a variable: for each operator the candidate that has it, for each tensor the layouts in which it is there
for its readers. Each cost depends on two of these at most: a candidate reads no layout but one that is there, what is
there is made of what the writer gives, and operators of a candidate go together. So variables can be eliminated one
after another. From both ends that gives the least cost with each decision, too, and so the runner-up of each candidate.

Sums are exact: floats are integers here, in units of a power of two. Behind their last digit stand the places of
candidates in the problem's list, first operators first. So no two covers are equal, and among those of equal cost the
result takes the candidate that comes first in the list, at the first operator that they differ in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import inf, prod

from match.cover.elimination import Marginals, Pair, marginals
from match.cover.layouts import LayoutSet, Wanted, layout_sets
from match.cover.problem import Cover, CoverProblem, Layout
from match.dispatch.plan import RunnerUp


def solve(problem: CoverProblem, chosen: Sequence[int] | None = None) -> Cover:
    """The cover that costs least, with the runners-up; or the least with the candidates `chosen`, which are a cover.

    Raises:
        ValueError: if no cover has every operator.
    """
    costs = Costs(problem)
    least = costs.marginals().least[: len(problem.graph.operators)]
    if not all(least):
        raise ValueError("no cover has every operator: candidates of several operators exclude one another")
    best = {min(own, key=lambda number: own[number]) for own in least} if chosen is None else {*chosen}
    taken = sorted(best, key=lambda number: problem.candidates[number].operators[-1])
    runners_up: list[RunnerUp | None] = []
    for number in taken:
        own = least[problem.candidates[number].operators[0]]
        other = min(((costs.cost(own[one]), one) for one in own if one != number), default=None)
        runners_up.append(RunnerUp(problem.candidates[other[1]].module, other[0]) if other else None)
    return Cover(tuple(taken), costs.cost(min(least[0].values()) if least else 0), tuple(runners_up))


def least_with_each(problem: CoverProblem) -> tuple[float, ...]:
    """For each candidate the least cost of a cover that has it; infinite where no cover has it.

    Raises:
        ValueError: if an operator has no candidate.
    """
    costs = Costs(problem)
    least = costs.marginals().least
    return tuple(
        costs.cost(least[candidate.operators[0]][number]) if number in least[candidate.operators[0]] else inf
        for number, candidate in enumerate(problem.candidates)
    )


class Costs:
    """A problem as integer costs: a variable for each operator, then one for each tensor with several layout sets."""

    def __init__(self, problem: CoverProblem) -> None:
        """The variables of a problem, and what their values cost.

        Raises:
            ValueError: if an operator has no candidate.
        """
        self._problem = problem
        costs = [*(candidate.cost for candidate in problem.candidates), *problem.conversions.values()]
        self._unit = max((cost.as_integer_ratio()[1] for cost in map(float, costs)), default=1)
        self._having: list[list[int]] = [[] for _ in problem.graph.operators]
        for number, candidate in enumerate(problem.candidates):
            for place in candidate.operators:
                self._having[place].append(number)
        for place, numbers in enumerate(self._having):
            if not numbers:
                raise ValueError(f"no cover has operator {problem.graph.operators[place].name}")
        self._starting: list[list[int]] = [[] for _ in problem.graph.operators]
        for number, candidate in enumerate(problem.candidates):
            self._starting[candidate.operators[0]].append(number)
        self._preferences = prod(max(1, len(numbers)) for numbers in self._starting)
        self._common = 0
        self._alone: list[dict[int, int]] = [dict.fromkeys(numbers, 0) for numbers in self._having]
        self._pairs: dict[Pair, dict[Pair, int]] = {}
        self._operators()
        self._groups()
        self._tensors()

    def marginals(self) -> Marginals:
        """The least cost with each candidate and each way to hold a tensor, and how much work that was."""
        return marginals(self._alone, self._pairs)

    def cost(self, total: int) -> float:
        """What a sum of the variables' costs stands for, with what all covers have in common."""
        return (total + self._common) // self._preferences / self._unit

    @property
    def tables(self) -> tuple[Sequence[Mapping[int, int]], Mapping[Pair, Mapping[Pair, int]]]:
        """What `marginals` is asked: the cost of each variable's values, and of those of two variables together."""
        return self._alone, self._pairs

    def total(self, cost: float) -> int:
        """The largest sum of the variables' costs that stands for at most `cost`."""
        numerator, denominator = float(cost).as_integer_ratio()
        return (numerator * self._unit // denominator + 1) * self._preferences - 1 - self._common

    def _operators(self) -> None:
        """Candidates cost at their first operators; after that stands which of those that begin there it is."""
        below = self._preferences
        for place, numbers in enumerate(self._starting):
            below //= max(1, len(numbers))
            for rank, number in enumerate(numbers):
                self._alone[place][number] = self._whole(self._problem.candidates[number].cost) + rank * below

    def _groups(self) -> None:
        """Operators of a candidate have it together."""
        for candidate in self._problem.candidates:
            for one, other in pairwise(candidate.operators):
                both = {*self._having[one]} & {*self._having[other]}
                self._pairs[one, other] = {
                    (ours, theirs): 0
                    for ours in self._having[one]
                    for theirs in self._having[other]
                    if ours == theirs or not both & {ours, theirs}
                }

    def _tensors(self) -> None:
        """Readers find their layouts in what is held, which is made of what the writer gives."""
        graph = self._problem.graph
        wanted: list[dict[int, dict[int, set[Layout]]]] = [{} for _ in graph.tensors]
        given: list[dict[int, Layout]] = [{} for _ in graph.tensors]
        for number, candidate in enumerate(self._problem.candidates):
            *inner, last = candidate.operators
            for tensor, layout in candidate.wants:
                place = next((place for place in inner if tensor in graph.operators[place].reads), last)
                wanted[tensor].setdefault(place, {}).setdefault(number, set()).add(layout)
            for tensor, layout in candidate.gives:
                given[tensor][number] = layout
        writers = {tensor: place for place, operator in enumerate(graph.operators) for tensor in operator.writes}
        for tensor, readers in enumerate(wanted):
            found = layout_sets(readers, tensor in graph.outputs, partial(self._conversion, tensor))
            if found:
                self._hold(tensor, found, readers, writers.get(tensor), given[tensor])

    def _hold(
        self,
        tensor: int,
        held: Sequence[LayoutSet],
        readers: Wanted,
        writer: int | None,
        given: Mapping[int, Layout],
    ) -> None:
        """Adds a variable for a tensor. If there is only one way to hold the tensor, its cost is added instead.

        given: the layout in which each candidate gives it. What has no writer comes from outside, and is dense.
        """
        conversion = partial(self._conversion, tensor)
        tables = {
            place: {
                (number, index): 0
                for number in self._having[place]
                for index, way in enumerate(held)
                if way.suits(place, wants.get(number, ()))
            }
            for place, wants in readers.items()
        }
        if writer is not None:
            tables[writer] = {
                (number, index): cost
                for number in self._having[writer]
                for index, way in enumerate(held)
                if (cost := way.cost(given[number], conversion) if number in given else 0) is not None
            }
        outside = [way.cost(None, conversion) or 0 if writer is None else 0 for way in held]
        if len(held) > 1:
            for place, rows in tables.items():
                self._pairs[place, len(self._alone)] = rows
            self._alone.append(dict(enumerate(outside)))
            return
        self._common += outside[0]
        for place, rows in tables.items():
            self._alone[place] = {number: self._alone[place][number] + cost for (number, _), cost in rows.items()}

    def _conversion(self, tensor: int, layout: Layout) -> int:
        return self._whole(self._problem.conversions.get((tensor, layout), 0.0))

    def _whole(self, cost: float) -> int:
        """A cost in multiples of what all preferences together may be."""
        numerator, denominator = float(cost).as_integer_ratio()
        return numerator * (self._unit // denominator) * self._preferences
