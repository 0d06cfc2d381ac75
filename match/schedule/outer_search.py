"""The search over the mappings onto two memories, each block of the outer one being mapped onto the inner.

It is a branch and bound. Outer tiles that make the same number of blocks along each dimension are bounded together
(`OuterCells`), at first without what happens in the inner memory, then with it (`InnerFloors`); then each of them by
itself, under bounds from every way to hold its blocks, all operands of which have to fit together. In an outer tile
every mapping onto the inner memory is a candidate (`InnerSearch`). Small layers are searched to the end; of others,
what is left when there was effort enough has a bound, too, which says how much better it can be.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from match.schedule.floors import Floors
from match.schedule.inner_cuts import Cell, Loose
from match.schedule.inner_floors import InnerFloors
from match.schedule.inner_search import Effort, InnerSearch
from match.schedule.kinds import Along
from match.schedule.limits import Limits
from match.schedule.mapping import Schedule
from match.schedule.outer_cells import OuterCells, fitting_sizes
from match.schedule.rooms import Floats, Ints
from match.schedule.search import refusal
from match.schedule.tiles import TILED, AlongKey, Sizes, TileCosts, candidate_tiles
from match.schedule.two_memories import OuterWay, TwoMemories

LIKELY = 1 + 1 / 32
"""What the first mappings that are looked at are bounded to take, at most: so many times the bound of their tile."""

LOOSER = 1 / 32
"""How much lower the bound of a tile is, as a part of it, for each dimension that it cuts beyond the first. It decides
what is searched first."""

HOLD, BOUND, DIVIDE, REFINE = range(4)
"""The steps from a cell to a tile that is searched."""

HELD, CELLS, TILES = 256, 16, 8
"""Cells whose blocks are held, and cells and outer tiles whose mappings in both memories are bounded, at a time."""


class Node(NamedTuple):
    """A cell or one of its tiles, with bounds of its mappings: the first two entries of `Rank`.

    `likely` is what it is expected to cost; the least comes first, larger ones before smaller ones.
    """

    likely: float
    second: float
    volume: int
    objective: float
    cell: int
    tile: Sizes


class OuterSearch:
    """Finds a mapping onto two memories whose predicted cost no other has less of."""

    def __init__(self, problem: TwoMemories, limits: Limits) -> None:
        self.problem = problem
        self.sizes_inside = candidate_tiles(problem.inner_pricing, problem.multiples)
        sizes = candidate_tiles(problem.costs.pricing, problem.multiples, packing=problem.costs.packing)
        fitting = fitting_sizes(problem.costs, sizes)
        if fitting is None:
            raise refusal(problem.costs, sizes)
        self.floors = Floors(problem.costs, fitting)
        self.cells = OuterCells(problem.costs, fitting, self.floors, limits.grid)
        largest = {dim: int(sizes[-1]) for dim, sizes in fitting.items()}
        self.inner_floors = InnerFloors(problem.inner_pricing, self.sizes_inside, largest, problem.held)
        self.least_moved = float(sum(self.floors.least_moved))
        self.whole = problem.costs.kernels.compute(np.array([problem.costs.whole]))
        pairs = math.prod(len(sizes[dim]) * len(self.sizes_inside[dim]) for dim in TILED)
        self.limits = limits.of(pairs)
        self.along: dict[AlongKey, Along] = {}
        self.left_out = math.inf
        self.effort = {BOUND: self.limits.cells, DIVIDE: self.limits.divided, REFINE: self.limits.refined}
        self.queues: list[list[Node]] = []
        self.unbounded: list[Node] = []

    def best(self) -> Schedule:
        """The best mapping.

        Raises:
            ScheduleError: if none fits.
            CostModelError: if the cost model fails.
        """
        problem, limits = self.problem, self.limits
        waiting: list[tuple[Node, list[OuterWay]]] = []
        left = limits.first_bounded_in_all
        for searched, node in enumerate(self.promising()):
            if problem.rank is not None and (searched >= limits.searched or left <= 0):
                self.left_out = min(self.left_out, node.objective)
                break
            ways = problem.ways(node.tile)
            likely = math.inf if problem.rank is not None else problem.most_cycles(ways, node.objective * LIKELY)
            effort = Effort(limits.first_predicted, limits.first_bounded)
            if not self.try_tile(node, ways, effort, likely):
                waiting.append((node, ways))
            left -= effort.bounded
        for place in range(len(self.queues)):
            self.leave_out(place)
        effort = Effort(limits.predicted, limits.bounded)
        for node, ways in waiting:
            if not self.try_tile(node, ways, effort, math.inf):
                self.left_out = min(self.left_out, node.objective)
        self.tighten()
        if problem.rank is None or problem.schedule is None:
            raise refusal(TileCosts(problem.inner_pricing), self.sizes_inside)
        problem.inner_pricing.confirm()
        problem.costs.pricing.confirm()
        return replace(problem.schedule, loss=max(0.0, problem.rank.objective - self.left_out))

    def try_tile(self, node: Node, ways: list[OuterWay], effort: Effort, most: float) -> bool:
        """Try mappings of an outer tile that take at most so many cycles on the inner memory.

        Returns whether no other is left that may win. With no mapping to compare with yet, there is no end to the
        effort.
        """
        most = min(most, self.problem.most_cycles(ways, self.problem.best_objective))
        inside = self.inner_floors.tiles(node.tile, most)
        if inside and effort.spent and self.problem.rank is not None:
            return False
        complete = True
        if inside:
            grid = self.limits.inner_grid
            search = InnerSearch(self.problem, node.tile, ways, inside, effort, self.along, grid)
            complete = search.run()
            if search.thinned:
                self.thin(node)
        return complete and most >= self.problem.most_cycles(ways, self.problem.best_objective)

    def thin(self, node: Node) -> None:
        """Leave out what an outer tile has of mappings with other inner tiles."""
        self.left_out = min(self.left_out, node.objective)

    def promising(self) -> Iterator[Node]:
        """Outer tiles that may have a mapping better than the best so far, the least bounds first.

        `left_out` has the least bound of those that did not come.
        """
        steps = {
            HOLD: (self.hold, HELD),
            BOUND: (self.bound, CELLS),
            DIVIDE: (self.divide, 1),
            REFINE: (self.refine, TILES),
        }
        self.queues = [self.all_cells(), [], [], [], []]
        limits = self.limits
        searched: dict[int, int] = {}
        while any(self.queues):
            waiting = [place for place, queue in enumerate(self.queues) if queue]
            if self.problem.rank is None:  # what there is no effort left for waits for what is behind it
                spent = max((step for step, left in self.effort.items() if left <= 0), default=-1)
                waiting = [place for place in waiting if place > spent] or waiting
            place = min(waiting, key=lambda n: (*self.queues[n][0][:2], -n))
            queue = self.queues[place]
            if not self.may_win(queue[0]):
                heapq.heappop(queue)
                continue
            if place == len(steps):
                node = heapq.heappop(queue)
                searched[node.cell] = searched.get(node.cell, 0) + 1
                if self.problem.rank is None or searched[node.cell] <= limits.alike:
                    yield node
                else:
                    self.left_out = min(self.left_out, node.objective)
                continue
            step, most = steps[place]
            if self.effort.get(place, 1) <= 0 and self.problem.rank is not None:
                for other in range(place + 1):
                    self.leave_out(other)
                continue
            nodes = [heapq.heappop(queue) for _ in range(min(most, len(queue)))]
            if place in self.effort:
                self.effort[place] -= len(nodes)
            for node in step(nodes):
                heapq.heappush(self.queues[place + 1], node)

    def may_win(self, node: Node) -> bool:
        """Whether there may be a mapping better than the best so far."""
        rank = self.problem.rank
        return rank is None or (node.objective, node.second) < rank[:2]

    def leave_out(self, place: int) -> None:
        """Look no further at the cells or tiles of a queue."""
        queue = self.queues[place]
        if place <= BOUND:
            self.unbounded += queue
        else:
            self.left_out = min([self.left_out, *(node.objective for node in queue)])
        queue.clear()

    def tighten(self) -> None:
        """Take in what was left out before it was bounded in both memories: that is done now, the least first."""
        left = sorted(filter(self.may_win, self.unbounded), key=lambda node: node.objective)
        count = int(min(len(left), max(self.limits.cells // 2, self.effort[BOUND])))
        for begin in range(0, count, CELLS):
            chunk = left[begin : min(begin + CELLS, count)]
            if chunk[0].objective < self.left_out:
                bounds = [node.objective for node in self.bound(chunk)]
                self.left_out = min([self.left_out, *bounds])
        self.left_out = min([self.left_out, *(node.objective for node in left[count:])])

    def all_cells(self) -> list[Node]:
        """All cells, with bounds that know of the inner memory that each block has a kernel call and transfers."""
        tiles, blocks = self.cells.tiles, self.blocks(self.cells.tiles)
        cycles = self.with_calls(self.whole, blocks)
        nodes = self.nodes(np.arange(len(tiles)), tiles, cycles, np.full(len(tiles), self.least_moved))
        heapq.heapify(nodes)
        return nodes

    def hold(self, nodes: list[Node]) -> list[Node]:
        """Cells with bounds from every way to hold their blocks in the outer memory."""
        rows = np.array([node.cell for node in nodes])
        tiles = self.cells.tiles[rows]
        least = self.with_calls(self.whole, self.blocks(tiles))
        tail = self.problem.tail(self.cells.last[rows])
        cycles, _ = self.problem.bounds(
            tiles, least, tail, self.cells, lambda loose: least[np.array([row for row, _ in loose])]
        )
        return self.nodes(rows, tiles, cycles, np.full(len(rows), self.least_moved))

    def bound(self, nodes: list[Node]) -> list[Node]:
        """Cells with bounds of what happens in both memories."""
        rows = np.array([node.cell for node in nodes])
        inner = partial(self.inner_cycles, [self.cells.cell(row) for row in rows.tolist()])
        tail = self.problem.tail(self.cells.last[rows])
        cycles, _ = self.problem.bounds(self.cells.tiles[rows], inner(), tail, self.cells, inner)
        return self.nodes(rows, self.cells.tiles[rows], cycles, np.full(len(rows), self.least_moved))

    def divide(self, nodes: list[Node]) -> list[Node]:
        """The tiles of a cell with bounds of their own in the outer memory."""
        (node,) = nodes
        tiles, complete = self.cells.divided(node.cell)
        if not complete:
            self.left_out = min(self.left_out, node.objective)
        inner = partial(self.inner_cycles, [self.cells.cell(node.cell)] * len(tiles))
        cycles, moved = self.problem.bounds(tiles, inner(), self.problem.tail(tiles), self.floors, inner)
        return self.nodes(np.full(len(tiles), node.cell), tiles, cycles, moved)

    def refine(self, nodes: list[Node]) -> list[Node]:
        """Tiles with bounds of their own in both memories."""
        tiles = np.array([node.tile for node in nodes])
        inner = partial(self.inner_cycles, [tuple((size,) for size in node.tile) for node in nodes])
        kernels = self.with_calls(self.floors.compute_cutting(TILED, tiles), self.blocks(tiles))
        least = np.maximum(inner(), kernels)
        cycles, moved = self.problem.bounds(tiles, least, self.problem.tail(tiles), None, inner)
        return self.nodes(np.array([node.cell for node in nodes]), tiles, cycles, moved)

    def inner_cycles(self, cells: Sequence[Cell], loose: Sequence[tuple[int, Loose]] | None = None) -> Floats:
        """`InnerFloors.cycles` of these cells, or of some, by row, with an operand that is loose; with the overhead."""
        chosen = [(cell, None) for cell in cells] if loose is None else [(cells[row], which) for row, which in loose]
        most = self.problem.most_cycles([], self.problem.best_objective)
        return self.problem.inner_pricing.overhead + self.inner_floors.cycles(chosen, most)

    def nodes(self, cells: Ints, tiles: Ints, cycles: Floats, moved: Floats) -> list[Node]:
        """Those that may have a mapping better than the best so far, with bounds from cycles and outer bytes."""
        objective, second = self.problem.keys(cycles, moved, np.zeros(len(tiles)))
        cut = np.maximum(0, (tiles < np.array(self.problem.costs.whole)).sum(axis=1) - 1)
        likely, volume = objective * (1 + LOOSER * cut), -tiles.prod(axis=1)
        rows = np.nonzero(self.problem.may_win(objective, second) & np.isfinite(cycles))[0].tolist()
        return [
            Node(
                float(likely[n]),
                float(second[n]),
                int(volume[n]),
                float(objective[n]),
                int(cells[n]),
                tuple(tiles[n].tolist()),
            )
            for n in rows
        ]

    def blocks(self, tiles: Ints) -> Ints:
        """How many blocks outer tiles make."""
        return np.prod(-(-np.array(self.problem.costs.whole) // tiles), axis=1)

    def with_calls(self, kernels: Floats, blocks: Ints) -> Floats:
        """Cycles of mappings whose kernels take so many, with a call and a transfer of each operand for each block."""
        pricing = self.problem.inner_pricing
        return pricing.overhead + kernels + blocks * (pricing.launch + len(pricing.operands) * pricing.issue)
