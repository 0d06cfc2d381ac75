"""Covers of a network that have two costs: that of least product, and that of least cost within a bound of the other.

Both are found by covers of least weighted cost, `first + weight * second`. The covers that are least for some weight
are the corners of the convex hull of all covers, as points of two costs.

- A product of two positive costs has no minimum inside a convex region, so that of least product is such a corner, and
  all corners that may be it are looked at.
- A cover within a bound need not be a corner. The weight of the two corners around the bound gives a lower bound of
  its cost (Lagrange). It leaves out candidates with which no cover can be better than the corner within the bound; of
  covers by the others, `fronts` finds the least.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from match.cover.fronts import BoundedSum, TooManyPointsError
from match.cover.problem import Cover, CoverProblem
from match.cover.solve import Costs, least_with_each, solve
from match.dispatch.plan import RunnerUp

MOST_POINTS = 2_000_000
"""Points of two costs that are made for a cover within a bound: a second or two. If they are not enough, it is a
corner's."""

LESS = 1 - 1e-12
"""A weighted cost that is less than this share of another one is less, whatever the order of additions."""


class Corner(NamedTuple):
    """The two costs of a cover, and the places of its candidates."""

    first: float
    second: float
    chosen: tuple[int, ...]

    def weighed(self, weight: float) -> float:
        """Its weighted cost."""
        return self.first + weight * self.second


@dataclass(frozen=True)
class TwoCosts:
    """A network and its candidates with either cost; the two problems differ in costs alone."""

    first: CoverProblem
    second: CoverProblem

    def least_product(self) -> Cover:
        """The cover of least product of its costs.

        The cost of a runner-up is at least its product: half its weighted cost, squared, by the weight at which both
        costs of the result count alike.

        Raises:
            ValueError: if no cover has every operator.
        """
        best = min(self._corners(), key=lambda corner: (corner.first * corner.second, corner.first))
        weight = best.first / best.second if best.second else 0.0
        cover = solve(self._weighed(weight), best.chosen)

        def product(weighed: float) -> float:
            return weighed * weighed / (4 * weight) if weight else 0.0

        return _priced(cover, best.first * best.second, product)

    def least_within(self, most: float) -> Cover:
        """The cover of least first cost whose second is at most `most`.

        The cost of a runner-up is a lower bound of what covers within the bound cost without that decision.

        Raises:
            ValueError: if there is none.
        """
        free, bound = self._at(0.0), self._of(self.second)
        if bound.second > most:
            raise ValueError(f"no cover costs at most {most}: the least is {bound.second}")
        if free.second <= most:
            return _priced(solve(self.first, free.chosen), free.first, float)
        weight = _weight(free, bound)
        while (corner := self._at(weight)).weighed(weight) < LESS * free.weighed(weight):
            free, bound = (free, corner) if corner.second <= most else (corner, bound)
            weight = _weight(free, bound)
        chosen = self._within(most, weight, bound)
        cover = solve(self._weighed(weight), chosen.chosen)
        return _priced(cover, chosen.first, lambda weighed: weighed - weight * most)

    def _within(self, most: float, weight: float, bound: Corner) -> Corner:
        """The cover of least first cost whose second is at most `most`; the corner `bound` is one within."""
        least = least_with_each(self._weighed(weight))
        hopeful = [n for n, cost in enumerate(least) if LESS * cost <= bound.first + weight * most]
        first, second = (Costs(_with(one, hopeful)) for one in (self.first, self.second))
        (alone, pairs), (others, other_pairs) = first.tables, second.tables
        if [own.keys() for own in alone] != [own.keys() for own in others]:  # conversions are dear in another order
            return bound
        search = BoundedSum(second.total(most), MOST_POINTS)
        try:
            values = search.least((alone, others), (pairs, other_pairs))
        except TooManyPointsError:
            return bound
        if values is None:  # the corner costs what it may, and its sum in another order is rounded to more
            return bound
        operators = range(len(self.first.graph.operators))
        taken = {hopeful[values[place]] for place in operators}
        last = [candidate.operators[-1] for candidate in self.first.candidates]
        return min(bound, self._corner(tuple(sorted(taken, key=lambda number: last[number]))))

    def _corners(self) -> Iterator[Corner]:
        """The corners of the convex hull that may have the least product."""
        one, other = self._at(0.0), self._of(self.second)
        yield from (one, other)
        least = min(corner.first * corner.second for corner in (one, other))
        spans = [(one, other)]
        while spans:
            one, other = spans.pop()
            if other.second >= one.second or one.first * other.second >= least:
                continue
            weight = _weight(one, other)
            corner = self._at(weight)
            if corner.weighed(weight) < LESS * one.weighed(weight):
                least = min(least, corner.first * corner.second)
                spans += [(one, corner), (corner, other)]
                yield corner

    def _at(self, weight: float) -> Corner:
        """The corner of least weighted cost."""
        return self._of(self._weighed(weight))

    def _of(self, problem: CoverProblem) -> Corner:
        return self._corner(solve(problem).chosen)

    def _corner(self, chosen: tuple[int, ...]) -> Corner:
        """The two costs of a cover."""
        first, second = (solve(_with(one, chosen)).cost for one in (self.first, self.second))
        return Corner(first, second, chosen)

    def _weighed(self, weight: float) -> CoverProblem:
        candidates = zip(self.first.candidates, self.second.candidates, strict=True)
        conversions = self.second.conversions
        return replace(
            self.first,
            candidates=tuple(replace(one, cost=one.cost + weight * other.cost) for one, other in candidates),
            conversions={key: cost + weight * conversions[key] for key, cost in self.first.conversions.items()},
        )


def _weight(one: Corner, other: Corner) -> float:
    """The weight at which two corners cost alike, of which the first has less of the first cost."""
    return (other.first - one.first) / (one.second - other.second) if one.second > other.second else math.inf


def _with(problem: CoverProblem, numbers: Sequence[int]) -> CoverProblem:
    """The problem with some of its candidates."""
    return replace(problem, candidates=tuple(problem.candidates[number] for number in numbers))


def _priced(cover: Cover, cost: float, price: Callable[[float], float]) -> Cover:
    """The cover at another cost, and its runners-up at what `price` makes of theirs."""
    others = (other and RunnerUp(other.module, price(other.cost)) for other in cover.runners_up)
    return replace(cover, cost=cost, runners_up=tuple(others))
