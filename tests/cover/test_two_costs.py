"""Covers of least product and within bounds, against all covers of small networks and an enumeration of larger ones."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from match.cover import two_costs
from match.cover.problem import Candidate, CoverProblem
from match.cover.solve import least_with_each, solve
from match.cover.two_costs import TwoCosts
from tests.cover.brute_force import cost, covers
from tests.cover.networks import parallel_problem, random_problem
from tests.cover.test_solve import chain
from tests.seeds import seeded

pytestmark = pytest.mark.unit


def with_second(first: CoverProblem, random: Random) -> TwoCosts:
    """The same candidates at other costs, mostly larger where the first is small; conversions cost half as much."""
    most = max((candidate.cost for candidate in first.candidates), default=0.0)
    candidates = tuple(
        replace(one, cost=max(0.0, most - one.cost) + random.choice([0, 1, 2.5, 7])) for one in first.candidates
    )
    conversions = {key: price / 2 for key, price in first.conversions.items()}
    return TwoCosts(first, replace(first, candidates=candidates, conversions=conversions))


@seeded(60, 400)
def test_least_product_of_all_covers(seed: int) -> None:
    random = Random(seed)
    problem = with_second(random_problem(random), random)
    products = [cost(problem.first, one) * cost(problem.second, one) for one in covers(problem.first)]
    found = problem.least_product()
    assert found.cost == pytest.approx(min(products), rel=1e-12)
    assert cost(problem.first, found.chosen) * cost(problem.second, found.chosen) == pytest.approx(found.cost)
    for other in found.runners_up:
        assert other is None or other.cost >= min(products) * (1 - 1e-9)


@seeded(60, 400)
def test_least_within_every_bound(seed: int) -> None:
    random = Random(seed)
    problem = with_second(random_problem(random), random)
    points = [(cost(problem.first, one), cost(problem.second, one), one) for one in covers(problem.first)]
    for most in random.sample(sorted({second for _, second, _ in points}), min(4, len({s for _, s, _ in points}))):
        found = problem.least_within(most)
        least = min(first for first, second, _ in points if second <= most)
        assert found.cost == pytest.approx(least, rel=1e-12)
        assert cost(problem.second, found.chosen) <= most
        for number, other in zip(found.chosen, found.runners_up, strict=True):
            without = [first for first, second, cover in points if second <= most and number not in cover]
            assert other is None or not without or other.cost <= min(without) * (1 + 1e-9) + 1e-9
    with pytest.raises(ValueError, match="no cover costs at most"):
        problem.least_within(min(second for _, second, _ in points) - 0.5)


@seeded(40, 200)
def test_least_cost_with_each_candidate(seed: int) -> None:
    problem = random_problem(Random(seed))
    priced = [(cost(problem, cover), cover) for cover in covers(problem)]
    for number, least in enumerate(least_with_each(problem)):
        assert least == min((price for price, cover in priced if number in cover), default=float("inf"))


def knapsack(random: Random, count: int) -> TwoCosts:
    """A chain of operators, each quick or frugal by amounts of its own: covers within bounds are a knapsack's."""
    graph = chain(count)
    quick, frugal = ([random.randrange(20, 400) for _ in range(count)] for _ in range(2))
    ends = [(((n, None),), ((n + 1, None),)) for n in range(count)]

    def problem(costs: list[tuple[int, int]]) -> CoverProblem:
        candidates = (
            Candidate((n,), name, float(price), *ends[n])
            for n, both in enumerate(costs)
            for name, price in zip(("quick", "frugal"), both, strict=True)
        )
        return CoverProblem(graph, tuple(candidates), {})

    return TwoCosts(problem([(10 + f, 10) for f in frugal]), problem([(10, 10 + q) for q in quick]))


@seeded(8, 40)
def test_a_knapsack(seed: int) -> None:
    """Twenty operators, against a table of the least first cost for each second cost."""
    random = Random(seed)
    problem = knapsack(random, 20)
    least = {0: 0}
    firsts, seconds = ([int(one.cost) for one in side.candidates] for side in (problem.first, problem.second))
    for quick, frugal, fast, slow in zip(firsts[::2], firsts[1::2], seconds[::2], seconds[1::2], strict=True):
        further: dict[int, int] = {}
        for second, first in least.items():
            for more, price in ((fast, quick), (slow, frugal)):
                further[second + more] = min(first + price, further.get(second + more, 1 << 60))
        least = further
    smallest = solve(problem.second).cost
    for factor in (1.0, 1.3, 2.0, 4.0, 100.0):
        most = factor * smallest
        assert problem.least_within(most).cost == min(first for second, first in least.items() if second <= most)
    assert problem.least_product().cost == min(first * second for second, first in least.items())


def test_a_bound_that_is_not_proven_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few problems to solve the cover is within the bound, and no better than the best."""
    problem = knapsack(Random(3), 20)
    most = 1.5 * solve(problem.second).cost
    best = problem.least_within(most).cost
    monkeypatch.setattr(two_costs, "MOST_POINTS", 1)
    found = problem.least_within(most)
    assert sum(problem.second.candidates[number].cost for number in found.chosen) <= most
    assert best <= found.cost <= 1.1 * best


@seeded(1, 4)
def test_parallel_paths(seed: int) -> None:
    """No cover of a larger network that other weights give is better."""
    random = Random(seed)
    problem = with_second(parallel_problem(random, 16, 2, interleaved=False), random)
    found = problem.least_product()
    most = 1.1 * solve(problem.second).cost
    within = problem.least_within(most)
    for weight in (0.0, 0.1, 0.5, 1.0, 2.0, 10.0):
        candidates = zip(problem.first.candidates, problem.second.candidates, strict=True)
        weighed = replace(
            problem.first,
            candidates=tuple(replace(one, cost=one.cost + weight * other.cost) for one, other in candidates),
            conversions={key: price * (1 + weight / 2) for key, price in problem.first.conversions.items()},
        )
        chosen = solve(weighed).chosen
        first, second = cost(problem.first, chosen), cost(problem.second, chosen)
        assert first * second >= found.cost * (1 - 1e-9)
        assert second > most or first >= within.cost
