"""The cover, its cost and its runners-up against all covers of small networks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from random import Random
from typing import NamedTuple

import pytest

from match.cover.problem import Candidate, Cover, CoverProblem
from match.cover.solve import Costs, solve
from match.dispatch.plan import RunnerUp
from match.ir.graph import Graph, Operator, Tensor
from match.mapping.storage import part_of
from tests.cover.brute_force import cost, covers
from tests.cover.integer_program import least_cost
from tests.cover.networks import LAYOUTS, parallel_problem, random_problem
from tests.seeds import seeded

pytestmark = pytest.mark.unit

SEEDS = range(150)
MOST_ROWS = 300_000


class Solved(NamedTuple):
    """A random network, its cover, and all its covers with what they cost."""

    problem: CoverProblem
    found: Cover
    priced: tuple[tuple[float, tuple[int, ...]], ...]

    @property
    def least(self) -> float:
        return min(price for price, _ in self.priced)


@cache
def solved(seed: int) -> Solved:
    problem = random_problem(Random(seed))
    return Solved(problem, solve(problem), tuple((cost(problem, cover), cover) for cover in covers(problem)))


@pytest.fixture(scope="module", params=SEEDS)
def random_network(request: pytest.FixtureRequest) -> Solved:
    return solved(request.param)


def test_cheapest_of_all_covers(random_network: Solved) -> None:
    problem, found, priced = random_network
    first = next(cover for price, cover in priced if price == random_network.least)
    assert found.cost == random_network.least
    assert sorted(found.chosen) == sorted(first), "of equals, the candidates that come first"
    for number, other in zip(found.chosen, found.runners_up, strict=True):
        without = [price for price, cover in priced if number not in cover]
        assert (other.cost if other else None) == min(without, default=None)
        if other:
            place = problem.candidates[number].operators[0]
            assert any(
                price == other.cost and number not in cover and other.module == problem.candidates[one].module
                for price, cover in priced
                for one in cover
                if place in problem.candidates[one].operators
            )


def test_groups_come_in_an_order_of_execution(random_network: Solved) -> None:
    problem, found, _ = random_network
    there = set(range(len(problem.graph.tensors)))
    there -= {tensor for operator in problem.graph.operators for tensor in operator.writes}
    for number in found.chosen:
        candidate = problem.candidates[number]
        assert there.issuperset(tensor for tensor, _ in candidate.wants)
        there.update(tensor for tensor, _ in candidate.gives)


def test_random_networks_have_what_the_tests_are_about() -> None:
    every = [solved(seed) for seed in SEEDS]
    fused = [p for p, cover, _ in every if any(len(p.candidates[number].operators) > 1 for number in cover.chosen)]
    converted = [p for p, cover, _ in every if cover.cost > sum(p.candidates[number].cost for number in cover.chosen)]
    ties = [one for one in every if [price for price, _ in one.priced].count(one.least) > 1]
    assert len(fused) > 60
    assert len(converted) > 60
    assert len(ties) > 3
    assert max(len(problem.graph.operators) for problem, _, _ in every) == 13


SHAPES = [(1, False), (2, False), (2, True), (3, False), (3, True), (4, False), (4, True)]


@pytest.mark.parametrize(("paths", "interleaved"), SHAPES)
@seeded(1, swept=9)
def test_work_of_a_hundred_operators(paths: int, interleaved: bool, seed: int) -> None:
    """Parallel paths are as much work as one, however their operators are ordered."""
    problem = parallel_problem(Random(seed), 100, paths, interleaved)
    assert len(problem.candidates) > 600
    assert Costs(problem).marginals().rows < MOST_ROWS


@pytest.mark.parametrize(("paths", "interleaved"), SHAPES)
@seeded(1, swept=9)
def test_parallel_paths_against_an_integer_program(paths: int, interleaved: bool, seed: int) -> None:
    problem = parallel_problem(Random(seed), 26, paths, interleaved)
    found = solve(problem)
    assert found.cost == cost(problem, found.chosen) == least_cost(problem)
    middle = len(found.chosen) // 2
    number, other = found.chosen[middle], found.runners_up[middle]
    assert (other.cost if other else None) == least_cost(problem, without=number)


def chain(count: int) -> Graph:
    operators = (Operator(f"op_{n}", "op", "op", 0, 0, 120, (n,), (n + 1,)) for n in range(count))
    return Graph(tuple(operators), (Tensor((1, 4, 6, 5), "int8"),) * (count + 1), (count,))


def test_a_dearer_module_in_the_layout_of_its_neighbours() -> None:
    """Alone the second operator is cheaper on the core by 3; two conversions cost 4."""
    layout = LAYOUTS[1]
    graph = chain(3)
    candidates = [Candidate((n,), "unit", 5.0, ((n, layout),), ((n + 1, layout),)) for n in range(3)]
    candidates += [Candidate((n,), "cpu", 2.0 if n == 1 else 50.0, ((n, None),), ((n + 1, None),)) for n in range(3)]
    costs = {(tensor, one): 2.0 for tensor in range(4) for one in (layout, None)}
    found = solve(CoverProblem(graph, tuple(candidates), costs))
    assert found.chosen == (0, 1, 2)
    assert found.cost == 15 + 4
    assert found.runners_up == tuple(
        RunnerUp("cpu", cost) for cost in (50.0 + 2 + 2 + 5 + 2, 20.0, 2 + 5 + 2 + 2 + 50.0)
    )


def test_no_candidate() -> None:
    graph = chain(2)
    only = Candidate((0,), "unit", 1.0, ((0, None),), ((1, None),))
    with pytest.raises(ValueError, match="no cover has operator op_1"):
        solve(CoverProblem(graph, (only,), {}))


def test_nothing_to_cover() -> None:
    found = solve(CoverProblem(Graph((), (Tensor((1,), "int8"),), (0,)), (), {}))
    assert (found.chosen, found.cost, found.runners_up) == ((), 0.0, ())


def test_what_is_kept_inside_is_read_inside() -> None:
    graph = replace(chain(2), outputs=(1, 2))
    both = Candidate((0, 1), "fused", 1.0, ((0, None),), ((2, None),))
    with pytest.raises(ValueError, match="does not come from the last one"):
        CoverProblem(graph, (both,), {})


def test_parts_are_never_converted() -> None:
    """Who reads a part takes it as it is given; where one reader cannot, it is no part."""
    part = part_of(4, 2, 6)

    def operator(name: str, reads: tuple[int, ...], writes: tuple[int, ...]) -> Operator:
        return Operator(name, name, name, 0, 0, 8, reads, writes)

    graph = Graph(
        (operator("write", (0,), (1,)), operator("join", (1,), (2,)), operator("read", (1,), (3,))),
        tuple(Tensor((2, 2, 2), "uint8") for _ in range(4)),
        (2, 3),
    )
    candidates = (
        Candidate((0,), "module", 10.0, ((0, None),), ((1, None),)),
        Candidate((0,), "module", 11.0, ((0, None),), ((1, part),)),
        Candidate((1,), "module", 5.0, ((1, None),), ((2, None),)),
        Candidate((1,), "cpu", 0.0, ((1, part),), ((2, None),)),
        Candidate((2,), "cpu", 3.0, ((1, None),), ((3, None),)),
    )
    copied = solve(CoverProblem(graph, candidates, {}))
    assert (copied.chosen, copied.cost) == ((0, 2, 4), 18.0)
    reading = Candidate((2,), "module", 4.0, ((1, part),), ((3, None),))
    inside = solve(CoverProblem(graph, (*candidates, reading), {}))
    assert (inside.chosen, inside.cost) == ((1, 3, 5), 15.0)
