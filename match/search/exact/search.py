"""The search over the mappings onto one memory: best first, until the next bound exceeds the best cost.

Tiles are taken in chunks, in the order of their lower bounds, and the mappings of a chunk in the order of their own
bounds. A mapping whose bound exceeds the best known cost is dropped; the others are predicted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from match.ir.layer import Dim
from match.mapping.schedule import Loop, Placement
from match.prediction.arrays import Flags, Floats, Ints
from match.prediction.predict import latency
from match.search.exact.bounds import Bound, TileGroup, least_figures, tile_bound
from match.search.exact.residencies import Residencies, residencies
from match.search.exact.tables import TILED, Box, Tables

GRAIN = 256
"""Latencies and energies are compared in units of 1 / GRAIN cycles or pJ, so that the order of additions decides
nothing."""

MOST_VIEWS = 1 << 12
"""The most mappings for which a cost model's own `latency` is called."""

CHUNKS = 4, 16, 64, 256, 1024
"""Tiles whose mappings are bounded at a time: few at first, because a good best mapping leaves fewer to bound."""

FEW = 4
"""Mappings that are predicted before those of more tiles are bounded."""

RANKED = (Dim.K, Dim.OY, Dim.OX, Dim.C)
"""The first of mappings of equal cost has larger tiles along K, then OY, and so on, and its loops in this order."""

BELOW = 1 - 1e-12
"""A factor that keeps a bound below the cost that it bounds, whatever the order of additions."""


class OrderedLoops(NamedTuple):
    """Loops, outermost first, and placements in the order of the operands."""

    loops: tuple[Loop, ...]
    placements: tuple[Placement, ...]


def nests(tables: Tables, tile: Mapping[Dim, int], options: Residencies, number: int) -> Iterator[OrderedLoops]:
    """The loops and placements of a tile in one residency, in every order of loops that allows it."""
    operands, memory = tables.prices.operands, tables.prices.memory
    placements: list[Placement] = []
    for operand, ways, which in zip(operands, options.ways, options.which[:, number].tolist(), strict=True):
        inside, buffers = ways[int(which)]
        placements.append(Placement(operand.name, memory.name, len(inside), buffers))
    for order in options.orders[number]:
        yield OrderedLoops(tuple(Loop(dim, tile[dim], tables.whole[dim]) for dim in order), tuple(placements))


class Rank(NamedTuple):
    """How good a mapping is, the least being best.

    The objective comes first, then the other cost (bytes, or cycles), larger tiles (K before OY before OX), operands
    placed further out, and fewer buffers.
    """

    objective: float
    second: float
    volume: int = 0
    order: tuple[int, ...] = ()
    placements: tuple[tuple[int, int], ...] = ()
    tile: tuple[int, ...] = ()


class Candidates(NamedTuple):
    """Tiles that may win; arrays over tiles.

    numbers: those of their sizes, shape (4, tiles). room: bytes for blocks. kernels, last_kernels: cycles of all
    kernel calls, with the overhead, and of the last one in each outer block. work: pJ of these cycles beyond what any
    cycle takes, at least. objective, second: the first two entries of the rank of their mappings, at least.
    """

    numbers: Ints
    room: Ints
    kernels: Floats
    last_kernels: Floats
    work: Floats
    objective: Floats
    second: Floats

    @staticmethod
    def none() -> Candidates:
        """No tiles."""
        return Candidates(np.empty((len(TILED), 0), np.int64), np.empty(0, np.int64), *(np.empty(0) for _ in range(5)))

    def select(self, rows: Ints) -> Candidates:
        """Some of the tiles."""
        figures: list[Any] = [figure[..., rows] for figure in self]
        return Candidates(*figures)


def joined(parts: list[Candidates]) -> Candidates:
    """All tiles of some candidates."""
    figures: list[Any] = [np.concatenate(some, axis=-1) for some in zip(Candidates.none(), *parts, strict=True)]
    return Candidates(*figures)


class Predicted(NamedTuple):
    """What a mapping costs: cycles in all, of kernels, and of the core beside them; bytes moved."""

    cycles: float
    compute: float
    overhead: float
    moved: int


class BoundedResidency(NamedTuple):
    """A residency of a tile that may win: the first two entries of its rank are at least `objective` and `second`.

    It is expected to cost `expected`. `residency` is the number of one of `residencies`, `sizes` are those of the tile.
    `number` is its own, by which equal ones are ordered.
    """

    expected: float
    second: float
    number: int
    objective: float
    sizes: tuple[int, ...]
    residencies: Residencies
    residency: int


class Search:
    """Finds a mapping of least predicted cost; of equal ones the first by `Rank`.

    With outer blocks, costs are those of all blocks, one after the other.
    """

    def __init__(self, tables: Tables, objective: str, most: Rank | None = None) -> None:
        """Mappings that are not better than `most` are left out."""
        prices = tables.prices
        self.tables = tables
        self.prices = prices
        self.least_figures = least_figures(tables)
        self.by_latency = objective == "latency"
        self.byte_energy = prices.byte_energy(prices.memory.name) if objective == "energy" else None
        self.energy = prices.cycle_energy
        self.rank = most
        self.nest: OrderedLoops | None = None
        self.views_left = MOST_VIEWS if prices.has_latency else math.inf
        self.least_left = math.inf
        self._residencies: dict[tuple[Dim, ...], Residencies] = {}
        self._numbers = itertools.count()

    def run(self) -> OrderedLoops | None:
        """The best mapping, None if none fits or is better than the one to begin with.

        Tiles with all input channels come first: few of the others may be better than the best of them.
        """
        parts, whole = self.tables.channels
        for channels in ([parts, whole],) if self.prices.has_latency else ([whole], [parts]):
            boxes = [box for numbers in channels for box in self.tables.boxes(numbers)]
            waiting: list[BoundedResidency] = []
            for tiles in self.best_first(joined([self.candidates(box) for box in boxes])):
                for group, work in self.groups(tiles):
                    for mapping in self.mappings(group, work):
                        heappush(waiting, mapping)
                self.try_best(waiting, FEW)
            self.try_best(waiting, len(waiting))
        return self.nest

    @property
    def loss(self) -> float:
        """How much better a mapping that was left out may be at most."""
        return 0.0 if self.rank is None else max(0.0, self.rank.objective - self.least_left)

    def candidates(self, box: Box) -> Candidates:
        """Tiles of a box that fit and may win."""
        tables, prices = self.tables, self.prices
        room, fits = tables.room(box)
        if not fits.any():
            return Candidates.none()
        kernels, last_kernels = tables.kernels(box)
        begun = prices.overhead + tables.calls(box) * prices.launch
        work = np.broadcast_to(BELOW * self.energy.work(prices.overhead + kernels - begun, begun), fits.shape)
        kernels = prices.overhead + kernels
        bound = tile_bound(tables, self.least_figures, box, kernels)
        keys = [np.broadcast_to(key, fits.shape) for key in self.keys(self.sure(bound, kernels), work)]
        index = np.array(np.nonzero(fits & self.may_win(*keys)))
        figures: list[Any] = [figure[*index] for figure in (room, kernels, last_kernels, work, *keys)]
        first = np.array([[part.start] for part in box])
        return Candidates(first + index, *figures)

    def best_first(self, tiles: Candidates) -> Iterator[Candidates]:
        """Tiles that may have a mapping better than the best so far, best bound first, some at a time."""
        left, chunks, size = np.arange(len(tiles.room)), iter(CHUNKS), 0
        while len(left := left[self.may_win(tiles.objective[left], tiles.second[left])]):
            if self.views_left <= 0:
                self.least_left = min(self.least_left, float(tiles.objective[left].min()))
                return
            size = min(next(chunks, size), len(left))
            order = np.argpartition(tiles.objective[left], size - 1)
            rows, left = left[order[:size]], left[order[size:]]
            yield tiles.select(rows)

    def sure(self, bound: Bound, kernels: Floats) -> Bound:
        """The part of a bound that holds for the cost model: only the kernels, if it has a latency of its own."""
        return Bound(kernels, bound.moved) if self.prices.has_latency else bound

    def keys(self, bound: Bound, work: Floats) -> tuple[Floats, Floats]:
        """The first two entries of `Rank`, at least; `work` is that of `Candidates`."""
        cycles = np.round(bound.cycles * (GRAIN * BELOW)) / GRAIN
        if self.by_latency:
            return cycles, bound.moved
        if self.byte_energy is None:
            return bound.moved, cycles
        energy = bound.moved * self.byte_energy + cycles * self.energy.cycle + work
        return np.round(energy * GRAIN) / GRAIN, cycles

    def may_win(self, objective: Floats, second: Floats) -> Flags:
        """Whether a mapping with one of these bounds may be better than the best so far."""
        if self.rank is None:
            return np.ones(objective.shape, np.bool_)
        better = objective < self.rank.objective
        if self.views_left <= 0:  # what else it costs is not asked for any more
            return better
        return better | ((objective == self.rank.objective) & (second <= self.rank.second))

    def try_best(self, waiting: list[BoundedResidency], most: int) -> None:
        """Take the `most` mappings with the least expected cost out of the heap `waiting`, and predict them."""
        for _ in range(min(most, len(waiting))):
            mapping = heappop(waiting)
            for nest in self.nests(mapping):
                if self.rank is None or self.ranked(mapping.objective, mapping.second, nest) < self.rank:
                    self.try_nest(nest)
                elif mapping.objective > self.rank.objective and not self.prices.has_latency:
                    waiting.clear()  # all that follow come later
                    return
            if self.views_left <= 0:
                self.least_left = min(self.least_left, *(left.objective for left in (mapping, *waiting)))
                waiting.clear()
                return

    def groups(self, tiles: Candidates) -> Iterator[tuple[TileGroup, Floats]]:
        """The tiles in groups, with the `work` of each; those of a group cut the same dimensions."""
        for dims, rows in self.tables.by_cuts(tiles.numbers):
            if dims not in self._residencies:
                self._residencies[dims] = residencies(self.prices.operands, dims, packed=False)
            some = tiles.select(rows)
            figures = some.numbers, some.room, some.kernels, some.last_kernels
            yield TileGroup(self.tables, dims, *figures, self._residencies[dims]), some.work

    def mappings(self, group: TileGroup, work: Floats) -> Iterator[BoundedResidency]:
        """The mappings of some tiles that fit and may win."""

        def keys(tile: Ints, bound: Bound) -> tuple[Floats, Floats]:
            return self.keys(self.sure(bound, group.kernels[tile]), work[tile])

        residency, tile, bound = group.bounds(lambda tile, bound: self.may_win(*keys(tile, bound)))
        expected, _ = self.keys(bound, work[tile])
        objective, second = keys(tile, bound)
        rows = np.flatnonzero(self.may_win(objective, second))
        sizes = np.array([self.tables.sizes[dim][index] for dim, index in zip(TILED, group.index, strict=True)]).T
        figures = (figure[rows].tolist() for figure in (expected, objective, second, residency))
        for row, size in zip(zip(*figures, strict=True), sizes[tile[rows]].tolist(), strict=True):
            cost, least, other, way = row
            yield BoundedResidency(cost, other, next(self._numbers), least, tuple(size), group.residencies, way)

    def nests(self, mapping: BoundedResidency) -> Iterator[OrderedLoops]:
        """The loops and placements of a residency, in every order of loops that allows it."""
        sizes = dict(zip(TILED, mapping.sizes, strict=True))
        yield from nests(self.tables, sizes, mapping.residencies, mapping.residency)

    def try_nest(self, nest: OrderedLoops) -> None:
        """Predict a mapping and keep it if it is the best so far."""
        self.views_left -= 1
        cost = self.predicted(nest)
        bound = Bound(np.array(cost.cycles / BELOW), np.array(float(cost.moved)))
        objective, second = self.keys(bound, np.array(self.energy.work(cost.compute, cost.overhead)))
        rank = self.ranked(float(objective), float(second), nest)
        if self.rank is None or rank < self.rank:
            self.rank, self.nest = rank, nest

    def predicted(self, nest: OrderedLoops) -> Predicted:
        """What a mapping costs."""
        self.prices.prepare(self.tile(nest))
        cost = latency(self.prices, nest.loops, nest.placements)
        return Predicted(cost.cycles, cost.compute, cost.overhead, cost.moved_bytes)

    def tile(self, nest: OrderedLoops) -> dict[Dim, int]:
        """Extents of a mapping's tiles along `TILED`."""
        whole = {dim: self.tables.whole[dim] for dim in TILED}
        return whole | {loop.dim: loop.tile for loop in nest.loops}

    def ranked(self, objective: float, second: float, nest: OrderedLoops) -> Rank:
        """The rank of a mapping from its cost, or from its bound."""
        extents = self.tile(nest)
        tile = tuple(extents[dim] for dim in RANKED)
        return Rank(
            objective,
            second,
            -math.prod(tile),
            tuple(RANKED.index(loop.dim) for loop in nest.loops),
            tuple((placement.depth, placement.buffers) for placement in nest.placements),
            tuple(-size for size in tile),
        )
