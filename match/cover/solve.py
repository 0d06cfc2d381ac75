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

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise, product
from math import prod
from typing import NamedTuple

from match.cover.elimination import Marginals, Pair, marginals
from match.cover.layouts import Held, choices, made_of, serves
from match.cover.problem import Cover, CoverProblem, Layout
from match.dispatch.plan import RunnerUp

_Wanted = Mapping[int, Mapping[int, Collection[Layout]]]
"""The layouts in which a tensor is wanted, by operator that reads it and candidate that has the operator."""


class _Way(NamedTuple):
    """How a tensor may be held, and at which operators some of the layouts have to be asked for."""

    held: Held
    asking: tuple[tuple[int, Layout], ...]

    def suits(self, place: int, wants: Collection[Layout]) -> bool:
        """Whether a candidate finds what it wants at an operator, and asks for what it has to."""
        asked = all(layout in wants for operator, layout in self.asking if operator == place)
        return asked and all(any(serves(layout, one) for layout in self.held) for one in wants)


def solve(problem: CoverProblem) -> Cover:
    """The cover that costs least, with the runners-up.

    Raises:
        ValueError: if no cover has every operator.
    """
    network = Network(problem)
    least = network.marginals().least[: len(problem.graph.operators)]
    if not all(least):
        raise ValueError("no cover has every operator: candidates of several operators exclude one another")
    best = {min(own, key=lambda number: own[number]) for own in least}
    chosen = sorted(best, key=lambda number: problem.candidates[number].operators[-1])
    runners_up: list[RunnerUp | None] = []
    for number in chosen:
        own = least[problem.candidates[number].operators[0]]
        other = min(((network.cost(own[one]), one) for one in own if one != number), default=None)
        runners_up.append(RunnerUp(problem.candidates[other[1]].module, other[0]) if other else None)
    return Cover(tuple(chosen), network.cost(min(least[0].values()) if least else 0), tuple(runners_up))


class Network:
    """A problem in integers, with a variable for each operator, and behind these for each tensor with a choice."""

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

    def _operators(self) -> None:
        """Candidates cost at their first operators; behind that stands which of those that begin there it is."""
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
            ways = self._ways(tensor, readers)
            if ways:
                self._hold(tensor, ways, readers, writers.get(tensor), given[tensor])

    def _ways(self, tensor: int, readers: _Wanted) -> list[_Way]:
        """All ways to hold a tensor that readers, or those of the network's outputs, may need.

        Conversion to more room may cost less: without a reader that wants it no layout is made for those it holds.
        """
        wanted = {place: set[Layout]().union(*own.values()) for place, own in readers.items()}
        listed = list(dict.fromkeys(layout for own in readers.values() for each in own.values() for layout in each))
        most = sum(max(map(len, own.values())) for own in readers.values())
        if tensor in self._problem.graph.outputs:
            listed = [*dict.fromkeys((*listed, None))]
            kept = [held for held in choices(listed, most + 1) if None in held]
        else:
            kept = choices(listed, most)
        costs = {layout: self._conversion(tensor, layout) for layout in listed}
        tempting = {one for one in listed if any(serves(one, other) and costs[one] < costs[other] for other in listed)}
        return [
            _Way(held, asking)
            for held in kept
            for asking in product(
                *([(place, one) for place, own in wanted.items() if one in own] for one in held if one in tempting)
            )
        ]

    def _hold(
        self,
        tensor: int,
        ways: Sequence[_Way],
        readers: _Wanted,
        writer: int | None,
        given: Mapping[int, Layout],
    ) -> None:
        """A variable of a tensor, or where it can be held in one way alone, what that costs.

        given: that which each candidate gives; what comes from outside, without a writer, is dense.
        """
        tables = {
            place: {
                (number, index): 0
                for number in self._having[place]
                for index, way in enumerate(ways)
                if way.suits(place, wants.get(number, ()))
            }
            for place, wants in readers.items()
        }
        if writer is not None:
            tables[writer] = {
                (number, index): self._making(tensor, given[number], way.held) if number in given else 0
                for number in self._having[writer]
                for index, way in enumerate(ways)
            }
        outside = [self._making(tensor, None, way.held) if writer is None else 0 for way in ways]
        if len(ways) > 1:
            for place, rows in tables.items():
                self._pairs[place, len(self._alone)] = rows
            self._alone.append(dict(enumerate(outside)))
            return
        self._common += outside[0]
        for place, rows in tables.items():
            self._alone[place] = {number: self._alone[place][number] + cost for (number, _), cost in rows.items()}

    def _making(self, tensor: int, given: Layout, held: Held) -> int:
        """What it costs to lay out a tensor in all of `held`."""
        return sum(self._conversion(tensor, layout) for layout in made_of(given, held))

    def _conversion(self, tensor: int, layout: Layout) -> int:
        return self._whole(self._problem.conversions.get((tensor, layout), 0.0))

    def _whole(self, cost: float) -> int:
        """A cost in multiples of what all preferences together may be."""
        numerator, denominator = float(cost).as_integer_ratio()
        return numerator * (self._unit // denominator) * self._preferences
