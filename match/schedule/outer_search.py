"""The exhaustive search over the mappings onto two memories, each block of the outer one being mapped onto the inner.

Every tile of the outer memory is a candidate, the least bounds first; these know of the kernels, and of each way to
hold an outer tile's blocks, all operands of which have to fit together. In an outer tile every mapping onto the inner
memory is a candidate, under bounds that count all blocks of the outer one and what their transfers add in the best of
cases; what is left is predicted with every way to hold the outer blocks that may still be better than the best mapping
known. The first few mappings of every outer tile come before the others of any.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from match.schedule.floors import Floors
from match.schedule.inner_floors import InnerFloors
from match.schedule.inner_search import InnerSearch
from match.schedule.mapping import Schedule
from match.schedule.rooms import Ints
from match.schedule.search import refusal
from match.schedule.sieve import Sieve, feasible
from match.schedule.tiles import TILED, Sizes, TileCosts, candidate_tiles
from match.schedule.two_memories import Held, TwoMemories, total_cycles

LARGEST_GRID = 1 << 8
"""So many outer tiles are all candidates; of more, only some sizes of each dimension are. What the others may gain is
reported as the schedule's loss."""

MOST_SEARCHED, MOST_OF_ALL = 24, 48
"""Outer tiles whose mappings are searched at most: if not all tiles are candidates or not all mappings predicted, and
if they are."""

LARGEST_BOUNDED = 1 << 16
"""Outer tiles that each have a bound of what they may gain; of more there is one bound for all."""

FIRST_PREDICTED, MOST_PREDICTED = 1 << 3, 1 << 10
"""Mappings that are predicted at most: of one outer tile at first, to have one to compare with, and then of all outer
tiles. Where the outer memory's transfers take longest, the bounds of thousands are equal, and next to nothing tells
them apart."""

SLAB = 1 << 11
"""Outer tiles whose ways to be held are bounded at a time."""


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
        waiting: list[tuple[Sizes, list[Held]]] = []
        for searched, (tile, ways) in enumerate(self.promising(sieve)):
            if self.problem.rank is not None and searched >= (MOST_OF_ALL if complete else MOST_SEARCHED):
                complete = False
                break
            if not InnerSearch(self.problem, tile, ways, FIRST_PREDICTED).run():
                waiting.append((tile, ways))
        left = MOST_PREDICTED
        for tile, ways in waiting:
            search = InnerSearch(self.problem, tile, ways, left)
            complete &= search.run()
            left = max(0, search.views_left)
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
            outer = sum(self.floors.sums(n, whole).transfer[0] for n in numbers)
            cycles = self.problem.pricing.overhead + max(self.inner_floors.least, outer)
            bounds = np.array([cycles]), np.array([float(sum(self.floors.least_moved))])
            return float(self.problem.keys(*bounds, np.zeros(()))[0].min())
        floors = Floors(self.problem.costs, self.sizes)
        sieve = self.bounded(feasible(self.problem.costs, floors, self.sizes))
        objective = self.problem.keys(sieve.cycles, sieve.moved, np.zeros(()))[0]
        order, least = np.argsort(objective), math.inf
        for begin in range(0, len(order), SLAB):
            rows = order[begin : begin + SLAB]
            if objective[rows[0]] >= least:
                break
            slab = self.held(self.with_kernels(sieve.select(rows), floors), floors)
            least = min(least, float(self.problem.keys(slab.cycles, slab.moved, np.zeros(()))[0].min()))
        return least

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

    def promising(self, sieve: Sieve) -> Iterator[tuple[Sizes, list[Held]]]:
        """Outer tiles that may have a mapping better than the best so far, with the ways to hold their blocks.

        The least bounds come first. They are refined one tile at a time, as far as that is needed to tell which.
        """
        sieve = self.with_kernels(sieve, self.floors)
        held = self.held(sieve, self.floors)
        bounds = self.problem.keys(held.cycles, held.moved, np.zeros(len(sieve)))
        volumes = -sieve.tiles.prod(axis=1)
        figures = zip(*(figure.tolist() for figure in (*bounds, volumes)), strict=True)
        left = [_Candidate(one, two, volume, row) for row, (one, two, volume) in enumerate(figures)]
        heapq.heapify(left)
        while left:
            first = heapq.heappop(left)
            if not self.problem.may_win(np.array([first.objective]), np.array([first.second]))[0]:
                return
            tile: Sizes = tuple(sieve.tiles[first.row].tolist())
            if first.ways is not None:
                yield tile, first.ways
                continue
            ways = self.problem.ways(tile)
            objective, second = self.refined(held.select(np.array([first.row])), float(sieve.cycles[first.row]), ways)
            heapq.heappush(left, first._replace(objective=objective, second=second, ways=ways))

    def with_kernels(self, sieve: Sieve, floors: Floors) -> Sieve:
        """The same outer tiles with bounds that count a kernel call on each block: its parts take no less."""
        kernels = floors.compute_cutting(TILED, sieve.tiles)
        return replace(sieve, cycles=np.maximum(sieve.cycles, self.problem.inner_pricing.overhead + kernels))

    def held(self, sieve: Sieve, floors: Floors) -> Sieve:
        """The same outer tiles with bounds from the ways to hold their blocks."""
        return self.problem.with_ways(replace(sieve, tail=self.problem.tail(sieve.tiles)), floors)

    def refined(self, tile: Sieve, inner: float, ways: list[Held]) -> tuple[float, float]:
        """Higher bounds of one outer tile, which takes `inner` cycles at least, and whose blocks are held in `ways`."""
        divided = self.inner_floors.refined(tile.tiles, self.full_blocks(tile.tiles))
        cycles = np.maximum(inner, self.problem.inner_pricing.overhead + divided)
        totals = np.minimum.reduce([total_cycles(way, cycles, tile.tail) for way in ways])
        moved = np.array([min(way.moved for way in ways)])
        objective, second = self.problem.keys(totals, moved, np.zeros(1))
        return float(objective[0]), float(second[0])


class _Candidate(NamedTuple):
    """An outer tile with bounds of its mappings, the first two entries of `Rank`; its ways once these are exact."""

    objective: float
    second: float
    volume: int
    row: int
    ways: list[Held] | None = None


def _thinned(sizes: Ints) -> Ints:
    """Of tile sizes the whole, the least for each number of tiles, and the next that are multiples of 4 and of 16."""
    whole = sizes[-1]
    fewest: Ints = -(-whole // np.arange(1, whole + 1, dtype=np.int64))
    least = sizes[np.searchsorted(sizes, fewest)]
    return np.unique([sizes[np.searchsorted(sizes, np.minimum(whole, -(-least // n) * n))] for n in (1, 4, 16)])
