"""The cover of a network that costs least: a shortest path over its operators, exact on chains and graphs alike.

Operators are gone through in the order of execution. A state is what the rest depends on: candidates that are not
complete yet, and of each tensor with readers to come the layouts in which it is there. Two ways into one state differ
in cost alone, so that the cheaper one is enough. A network has few tensors at a time whose readers still have a choice
of layouts, and as few states. From both ends the path gives the best cover with each decision, too, and so the
runner-up of each candidate.

Sums are exact: floats are integers here, in units of a power of two. Among covers of equal cost, the result takes the
candidate that comes first in the problem's list, at the first operator that they differ in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from match.cover.problem import Candidate, Cover, CoverProblem, Layout
from match.cover.tensor import DENSE, HeldLayouts, TensorLayouts
from match.dispatch.plan import RunnerUp


class _State(NamedTuple):
    """Candidates that are begun, and of tensors how they are held; both ascending."""

    begun: tuple[int, ...]
    tensors: tuple[tuple[int, HeldLayouts], ...]


class _Edge(NamedTuple):
    """A decision about one operator: the candidate that has it, what that adds to the cost, the state then."""

    candidate: int
    cost: int
    after: _State


_Step = dict[_State, list[_Edge]]


def solve(problem: CoverProblem) -> Cover:
    """The cover that costs least, with the runners-up.

    Raises:
        ValueError: if no cover has every operator.
    """
    network = _Network(problem)
    start_cost, start = network.start()
    steps: list[_Step] = []
    states: dict[_State, int] = {start: start_cost}
    for place in range(len(problem.graph.operators)):
        step = {state: network.edges(state, place) for state in states}
        steps.append(step)
        reached: dict[_State, int] = {}
        for state, cost in states.items():
            for edge in step[state]:
                total = cost + edge.cost
                reached[edge.after] = min(total, reached.get(edge.after, total))
        if not reached:
            raise ValueError(f"no cover has operator {problem.graph.operators[place].name}")
        states = reached
    return _read_off(problem, network, steps, start, start_cost)


def _read_off(
    problem: CoverProblem, network: _Network, steps: Sequence[_Step], start: _State, start_cost: int
) -> Cover:
    """The path, and for each candidate on it the cheapest other one past its first operator."""
    rests = _rests(steps)
    ahead = {start: start_cost}
    state = start
    taken: dict[int, RunnerUp | None] = {}
    for place, step in enumerate(steps):
        rest = rests[place + 1]
        edge = min((edge for edge in step[state] if edge.after in rest), key=lambda edge: edge.cost + rest[edge.after])
        reached: dict[_State, int] = {}
        other: tuple[int, int] | None = None
        for before, cost in ahead.items():
            for way in step[before]:
                if way.after not in rest:
                    continue
                total = cost + way.cost
                reached[way.after] = min(total, reached.get(way.after, total))
                whole = total + rest[way.after], way.candidate
                if way.candidate != edge.candidate and (other is None or whole < other):
                    other = whole
        if edge.candidate not in taken:
            taken[edge.candidate] = (
                RunnerUp(problem.candidates[other[1]].module, other[0] / network.unit) if other else None
            )
        ahead, state = reached, edge.after
    chosen = sorted(taken, key=lambda number: problem.candidates[number].operators[-1])
    cost = (start_cost + rests[0][start]) / network.unit
    return Cover(tuple(chosen), cost, tuple(taken[number] for number in chosen))


def _rests(steps: Sequence[_Step]) -> list[dict[_State, int]]:
    """For each step: the least cost from each state before it to the end; states without a way there are left out."""
    final = {edge.after for edges in steps[-1].values() for edge in edges} if steps else {_State((), ())}
    rests = [dict.fromkeys(final, 0)]
    for step in reversed(steps):
        behind = rests[-1]
        rests.append(
            {
                state: min(edge.cost + behind[edge.after] for edge in leading)
                for state, edges in step.items()
                if (leading := [edge for edge in edges if edge.after in behind])
            }
        )
    return rests[::-1]


class _Network:
    """A problem in integers."""

    def __init__(self, problem: CoverProblem) -> None:
        self._graph, self._candidates = problem.graph, problem.candidates
        costs = [*(candidate.cost for candidate in problem.candidates), *problem.conversions.values()]
        self.unit = max((cost.as_integer_ratio()[1] for cost in map(float, costs)), default=1)
        self._costs = [self._whole(candidate.cost) for candidate in problem.candidates]
        self._starting: list[list[int]] = [[] for _ in problem.graph.operators]
        for number, candidate in enumerate(problem.candidates):
            self._starting[candidate.operators[0]].append(number)
        self._numbers = [_layouts(tensor, problem.candidates) for tensor in range(len(problem.graph.tensors))]
        self._tensors = [
            TensorLayouts(
                list(numbers), [self._whole(problem.conversions.get((tensor, layout), 0.0)) for layout in numbers]
            )
            for tensor, numbers in enumerate(self._numbers)
        ]
        self._announce()

    def start(self) -> tuple[int, _State]:
        """What comes from outside is dense."""
        written = {tensor for operator in self._graph.operators for tensor in operator.writes}
        cost = 0
        held: dict[int, HeldLayouts] = {}
        for tensor in set(range(len(self._tensors))) - written:
            more, held[tensor] = self._tensors[tensor].give(DENSE)
            cost += more
        return cost, self._state((), held, -1)

    def edges(self, state: _State, place: int) -> list[_Edge]:
        """All decisions about an operator, in the order of the candidates."""
        going = [number for number in state.begun if place in self._candidates[number].operators]
        if going:
            return [self._edge(state, place, going[0], 0)]
        busy = {place for number in state.begun for place in self._candidates[number].operators}
        return [
            self._edge(state, place, number, self._costs[number])
            for number in self._starting[place]
            if busy.isdisjoint(self._candidates[number].operators)
        ]

    def _edge(self, state: _State, place: int, number: int, cost: int) -> _Edge:
        """A candidate reads and writes at its last operator, when all that it reads is there."""
        candidate = self._candidates[number]
        if place != candidate.operators[-1]:
            return _Edge(number, cost, self._state({*state.begun, number}, dict(state.tensors), place))
        held = dict(state.tensors)
        for tensor, layout in candidate.wants:
            if tensor in held:
                more, held[tensor] = self._tensors[tensor].read(held[tensor], self._numbers[tensor][layout])
                cost += more
        for tensor, layout in candidate.gives:
            more, held[tensor] = self._tensors[tensor].give(self._numbers[tensor][layout])
            cost += more
        return _Edge(number, cost, self._state({*state.begun} - {number}, held, place))

    def _state(self, begun: Iterable[int], held: dict[int, HeldLayouts], step: int) -> _State:
        after = ((tensor, self._tensors[tensor].after(held[tensor], step)) for tensor in sorted(held))
        return _State(tuple(sorted(begun)), tuple((tensor, held) for tensor, held in after if held is not None))

    def _announce(self) -> None:
        """Tell tensors in which layouts they may be read until when, and in which they surely are."""
        offered: dict[tuple[int, int], set[Layout]] = {}
        for candidate in self._candidates:
            wants = dict(candidate.wants)
            for tensor, layout in candidate.wants:
                self._tensors[tensor].will_want(self._numbers[tensor][layout], candidate.operators[-1])
            for place in candidate.operators:
                for tensor in self._graph.operators[place].reads:
                    if tensor in wants:
                        offered.setdefault((place, tensor), set()).add(wants[tensor])
        for (_, tensor), layouts in offered.items():
            if len(layouts) == 1:
                self._tensors[tensor].surely_want(self._numbers[tensor][next(iter(layouts))])
        for tensor in self._graph.outputs:
            self._tensors[tensor].surely_want(DENSE)

    def _whole(self, cost: float) -> int:
        numerator, denominator = float(cost).as_integer_ratio()
        return numerator * (self.unit // denominator)


def _layouts(tensor: int, candidates: Sequence[Candidate]) -> dict[Layout, int]:
    """A number for each layout that the tensor may have, the dense one first."""
    numbers: dict[Layout, int] = {None: DENSE}
    for candidate in candidates:
        for other, layout in (*candidate.wants, *candidate.gives):
            if other == tensor:
                numbers.setdefault(layout, len(numbers))
    return numbers
