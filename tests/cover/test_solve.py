"""The cover, its cost and its runners-up against all covers of small networks."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from match.cover.problem import Candidate, CoverProblem
from match.cover.solve import solve
from match.dispatch.plan import RunnerUp
from match.ir.graph import Graph, Operator, Tensor
from tests.cover.brute_force import cost, covers
from tests.cover.networks import LAYOUTS, random_problem

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("block", range(6))
def test_cheapest_of_all_covers(block: int) -> None:
    """50 networks each."""
    for seed in range(50 * block, 50 * block + 50):
        problem = random_problem(Random(seed))
        priced = [(cost(problem, cover), cover) for cover in covers(problem)]
        least = min(price for price, _ in priced)
        first = next(cover for price, cover in priced if price == least)
        found = solve(problem)
        assert found.cost == least, seed
        assert sorted(found.chosen) == sorted(first), f"{seed}: of equals, the candidates that come first"
        for number, other in zip(found.chosen, found.runners_up, strict=True):
            without = [price for price, cover in priced if number not in cover]
            assert (other.cost if other else None) == min(without, default=None), seed
            if other:
                place = problem.candidates[number].operators[0]
                assert any(
                    price == other.cost and number not in cover and other.module == problem.candidates[one].module
                    for price, cover in priced
                    for one in cover
                    if place in problem.candidates[one].operators
                )


def test_random_networks_have_what_the_test_is_about() -> None:
    problems = [random_problem(Random(seed)) for seed in range(300)]
    chosen = [(problem, solve(problem)) for problem in problems]
    fused = [p for p, cover in chosen if any(len(p.candidates[number].operators) > 1 for number in cover.chosen)]
    converted = [p for p, cover in chosen if cover.cost > sum(p.candidates[number].cost for number in cover.chosen)]
    ties = [p for p in problems if [cost(p, c) for c in covers(p)].count(solve(p).cost) > 1]
    assert len(fused) > 50
    assert len(converted) > 50
    assert len(ties) >= 10
    assert max(len(p.graph.operators) for p in problems) == 13


def test_groups_come_in_an_order_of_execution() -> None:
    for seed in range(300):
        problem = random_problem(Random(seed))
        there = set(range(len(problem.graph.tensors)))
        there -= {tensor for operator in problem.graph.operators for tensor in operator.writes}
        for number in solve(problem).chosen:
            candidate = problem.candidates[number]
            assert there.issuperset(tensor for tensor, _ in candidate.wants), seed
            there.update(tensor for tensor, _ in candidate.gives)


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
