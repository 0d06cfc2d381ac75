"""The exhaustive search over the mappings onto two memories, each block of the outer one being mapped onto the inner.

Every tile of the outer memory is a candidate, the least bounds first. In one, every mapping onto the inner memory is a
candidate, under bounds that count all blocks of the outer one and what their transfers add in the best of cases; what
is left is predicted with every way to hold the outer blocks that may still be better than the best mapping known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from match.schedule.floors import Floors
from match.schedule.inner_floors import InnerFloors
from match.schedule.inner_search import InnerSearch
from match.schedule.mapping import Schedule
from match.schedule.rooms import Ints
from match.schedule.search import refusal
from match.schedule.sieve import Sieve, feasible, with_transfers
from match.schedule.tiles import Sizes, TileCosts, candidate_tiles
from match.schedule.two_memories import TwoMemories

LARGEST_GRID = 1 << 10
"""Outer tiles that are all candidates; of more, only some sizes of each dimension are. What the others may gain is
reported as the schedule's loss."""

MOST_SEARCHED = 12
"""Outer tiles whose mappings are searched at most, if not all tiles are candidates or not all mappings predicted."""

LARGEST_BOUNDED = 1 << 16
"""Outer tiles that each have a bound of what they may gain; of more there is one bound for all."""

FIRST_SLAB, SLAB = 256, 1 << 10
"""Outer tiles whose bounds are refined at a time."""


class OuterSearch:
    """Finds a mapping onto two memories whose predicted cost no other has less of."""

    def __init__(self, problem: TwoMemories) -> None:
        self.problem = problem
        self.sizes_inside = candidate_tiles(TileCosts(problem.inner_pricing), problem.multiples)
        self.sizes = candidate_tiles(problem.costs, problem.multiples)
        self.thinned = math.prod(len(sizes) for sizes in self.sizes.values()) > LARGEST_GRID
        self.candidates = {dim: _thinned(sizes) if self.thinned else sizes for dim, sizes in self.sizes.items()}
        self.inner_floors = InnerFloors(problem.inner_pricing, self.sizes_inside)
        self.floors = Floors(problem.costs, self.candidates)

    def best(self) -> Schedule:
        """The best mapping.

        Raises:
            ScheduleError: if none fits.
            CostModelError: if the cost model fails.
        """
        sieve = self.sieve()
        if not len(sieve):
            raise refusal(self.problem.costs, self.candidates)
        complete = not self.thinned
        for searched, tile in enumerate(self.promising(sieve)):
            if searched >= MOST_SEARCHED and not complete and self.problem.rank is not None:
                break
            complete &= InnerSearch(self.problem, tile).run()
        if self.problem.rank is None or self.problem.schedule is None:
            raise refusal(TileCosts(self.problem.inner_pricing), self.sizes_inside)
        self.problem.inner_pricing.confirm()
        self.problem.costs.pricing.confirm()
        loss = 0.0 if complete else self.problem.rank.objective - self.least()
        return replace(self.problem.schedule, loss=max(0.0, loss))

    def least(self) -> float:
        """What no mapping has less of, of all outer tiles that fit, candidates or not."""
        if math.prod(len(sizes) for sizes in self.sizes.values()) > LARGEST_BOUNDED:
            whole, numbers = np.array([self.problem.costs.whole]), range(len(self.problem.held))
            outer = sum(self.floors.sums(n, frozenset(), whole).transfer[0] for n in numbers)
            cycles = self.problem.pricing.overhead + max(self.inner_floors.least, outer)
            bounds = np.array([cycles]), np.array([float(sum(self.floors.least_moved))])
        else:
            floors = Floors(self.problem.costs, self.sizes)
            sieve = self.bounded(feasible(self.problem.costs, floors, self.sizes))
            sieve = with_transfers(sieve, self.problem.costs, floors)
            bounds = sieve.cycles, sieve.moved
        return float(self.problem.keys(*bounds, np.zeros(()))[0].min())

    def sieve(self) -> Sieve:
        """The outer tiles that fit, with bounds of what any mapping costs."""
        return self.bounded(feasible(self.problem.costs, self.floors, self.candidates))

    def bounded(self, sieve: Sieve) -> Sieve:
        """The same outer tiles with bounds of what they take on the inner memory."""
        inner = self.inner_floors.cycles(sieve.tiles, self.full_blocks(sieve.tiles))
        return replace(sieve, cycles=np.maximum(sieve.cycles, self.problem.inner_pricing.overhead + inner))

    def full_blocks(self, tiles: Ints) -> Ints:
        """How many blocks of the full size outer tiles make."""
        return np.prod(np.array(self.problem.costs.whole) // tiles, axis=1)

    def promising(self, sieve: Sieve) -> Iterator[Sizes]:
        """Outer tiles that may have a mapping better than the best so far."""
        objective, second = self.problem.keys(sieve.cycles, sieve.moved, np.zeros(len(sieve)))
        order = np.lexsort((-sieve.tiles.prod(axis=1), second, objective))
        begin, end = 0, FIRST_SLAB
        while begin < len(order):
            rows = order[begin:end]
            rows = rows[self.problem.may_win(objective[rows], second[rows])]
            if not len(rows):
                return
            slab = self.refined(sieve.select(rows))
            bounds = self.problem.keys(slab.cycles, slab.moved, np.zeros(len(slab)))
            for row in np.lexsort((-slab.tiles.prod(axis=1), bounds[1], bounds[0])).tolist():
                if not self.problem.may_win(bounds[0][row : row + 1], bounds[1][row : row + 1])[0]:
                    break
                yield tuple(slab.tiles[row].tolist())
            begin, end = end, end + SLAB

    def refined(self, sieve: Sieve) -> Sieve:
        """The same tiles with higher bounds."""
        inner = self.inner_floors.refined(sieve.tiles, self.full_blocks(sieve.tiles))
        cycles = np.maximum(sieve.cycles, self.problem.inner_pricing.overhead + inner)
        return with_transfers(
            replace(sieve, cycles=cycles, tail=self.problem.tail(sieve.tiles)), self.problem.costs, self.floors
        )


def _thinned(sizes: Ints) -> Ints:
    """Of tile sizes the whole, the least for each number of tiles, and the next that are multiples of 4 and of 16."""
    whole = sizes[-1]
    fewest: Ints = -(-whole // np.arange(1, whole + 1, dtype=np.int64))
    least = sizes[np.searchsorted(sizes, fewest)]
    return np.unique([sizes[np.searchsorted(sizes, np.minimum(whole, -(-least // n) * n))] for n in (1, 4, 16)])
