"""The first sieve of a search: the tiles that fit a memory, with lower bounds of what any mapping with them costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce

import numpy as np

from match.ir.layer import Dim
from match.schedule.floors import Floors
from match.schedule.rooms import Flags, Floats, Ints
from match.schedule.tiles import TILED, TileCosts

NEAR = 1 / 100
"""Cycles of kernels that are so much more than the least, as a part of it, are next to that."""

DRAWN = 1 << 12
"""Rows of a grid that are drawn, and then tiles from them."""


@dataclass(frozen=True)
class Sieve:
    """Tiles, shape (n, 4), with lower bounds of `cycles` and of bytes `moved`, shape (n,).

    `room` is the most that the tile's blocks may take of the shared room, in bytes. `beside` are cycles of the core in
    which no kernel runs, at least.
    """

    tiles: Ints
    room: Ints
    cycles: Floats
    moved: Floats
    beside: Floats

    def __len__(self) -> int:
        return len(self.tiles)

    def select(self, rows: Ints) -> Sieve:
        """The sieve of these tiles."""
        return Sieve(*(getattr(self, field.name)[rows] for field in fields(self)))

    def with_kernels(self, kernels: Floats) -> Sieve:
        """With the bounds that follow when all kernel calls take so many cycles at least, without their `launch`."""
        return replace(self, cycles=np.maximum(self.cycles, self.beside + kernels))


def joined(parts: Sequence[Sieve]) -> Sieve:
    """One sieve of the tiles of all."""
    names = [field.name for field in fields(Sieve)]
    return Sieve(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def feasible(costs: TileCosts, floors: Floors | None, candidates: Mapping[Dim, Ints]) -> Sieve:
    """All tiles that fit in some mapping; the bounds count kernels, and no transfers."""
    grid = _Grid(costs, candidates)
    others = np.meshgrid(*(np.arange(grid.counts[dim]) for dim in grid.others), indexing="ij", sparse=True)
    rows = dict(zip(grid.others, others, strict=True))
    fitting = grid.fitting(rows)
    times = fitting.ravel()
    ends = np.cumsum(times)
    places = {dim: np.repeat(np.broadcast_to(row, fitting.shape).ravel(), times) for dim, row in rows.items()}
    places[grid.last] = np.arange(ends[-1]) - np.repeat(ends - times, times)
    return grid.sieve(places, floors)


def crowded(costs: TileCosts, candidates: Mapping[Dim, Ints], crowd: float) -> bool:
    """Whether more than a `crowd` of tiles seem to fit, by some drawn at random."""
    if math.prod(map(len, candidates.values())) <= crowd:
        return False
    grid = _Grid(costs, candidates)
    _, ends = grid.drawn(np.random.default_rng(0))
    return bool(ends[-1] * math.prod(grid.counts[dim] for dim in grid.others) > crowd * len(ends))


def sampled(costs: TileCosts, floors: Floors, candidates: Mapping[Dim, Ints], count: int) -> Sieve:
    """Up to `count` of them drawn at random, and as many with one of their sizes as large as fits; the same each time.

    They have sizes of `even_sizes`.
    """
    random = np.random.default_rng(0)
    grid = _Grid(costs, even_sizes(costs, floors, candidates))
    rows, ends = grid.drawn(random)
    drawn = random.integers(max(1, ends[-1]), size=count if ends[-1] else 0)
    row = np.searchsorted(ends, drawn, side="right")
    places = {dim: np.tile(some[row], 2) for dim, some in rows.items()}
    places[grid.last] = np.concatenate([drawn, ends[row] - 1]) - np.tile(np.append(0, ends)[row], 2)
    sieve = grid.sieve(places, floors)
    return sieve.select(np.unique(sieve.tiles, axis=0, return_index=True)[1])


def even_sizes(costs: TileCosts, floors: Floors, candidates: Mapping[Dim, Ints]) -> dict[Dim, Ints]:
    """Of the sizes that cut a dimension into so many tiles two: the smallest, and the smallest of the cheapest.

    The first cuts most evenly; with the second ones kernels take least, or next to that.
    """
    result: dict[Dim, Ints] = {}
    for dim, sizes in candidates.items():
        counts, cycles = -(-costs.extents[dim] // sizes), floors.compute(costs.cutting(dim, sizes))
        _, place, which = np.unique(counts, return_index=True, return_inverse=True)
        least = np.full(len(place), np.inf)
        np.minimum.at(least, which, cycles)
        near = np.nonzero(cycles <= least[which] * (1 + NEAR))[0]
        cheap = near[np.unique(which[near], return_index=True)[1]]
        result[dim] = np.unique(sizes[np.concatenate([place, cheap])])
    return result


class _Grid:
    """The tiles with sizes of `candidates`, of which there are `counts`; places are numbers among them.

    What fits with a size fits with all smaller ones, but for input channels, all of which need no partial sums: `last`
    is the dimension with the most sizes, unless that is the last of `TILED`.
    """

    def __init__(self, costs: TileCosts, candidates: Mapping[Dim, Ints]) -> None:
        self._costs = costs
        self._candidates = candidates
        self.counts = {dim: len(candidates[dim]) for dim in TILED}
        self.last = max((dim for dim in TILED if dim is not Dim.C), key=lambda dim: self.counts[dim])
        self.others = [dim for dim in TILED if dim is not self.last]
        self._scratch: dict[Dim, Ints] = {}
        for dim in TILED:  # it never shrinks when a tile grows
            line = [candidates[d] if d is dim else np.full_like(candidates[dim], candidates[d][0]) for d in TILED]
            self._scratch[dim] = costs.scratch(np.stack(line, axis=1))

    def fitting(self, rows: Mapping[Dim, Ints]) -> Ints:
        """How many sizes of `last` fit with these of the `others`; by bisection."""
        count = self.counts[self.last]
        whole = self._fit({**rows, self.last: np.array(count - 1)})
        result = np.array(count * whole)
        step = 0 if result.all() else 1 << count.bit_length() - 1
        while step:
            more = result + step
            fits = self._fit({**rows, self.last: np.minimum(more, count) - 1}) & (more <= count)
            result[fits] = more[fits]
            step >>= 1
        return result

    def drawn(self, random: np.random.Generator) -> tuple[dict[Dim, Ints], Ints]:
        """`DRAWN` rows, and how many sizes of `last` fit with them and those before."""
        rows = {dim: random.integers(self.counts[dim], size=DRAWN) for dim in self.others}
        return rows, np.cumsum(self.fitting(rows))

    def sieve(self, places: Mapping[Dim, Ints], floors: Floors | None) -> Sieve:
        """Of the tiles at these places, all of which fit."""
        pricing = self._costs.pricing
        tiles = np.stack([self._candidates[dim][places[dim]] for dim in TILED], axis=1)
        calls = self._costs.counts(tiles).prod(axis=0).astype(np.float64)
        beside = pricing.overhead + calls * pricing.launch
        cycles = beside if floors is None else beside + floors.compute(tiles)
        return Sieve(tiles, self._room(places), cycles, np.zeros(len(tiles)), beside)

    def _room(self, places: Mapping[Dim, Ints]) -> Ints:
        sizes = {dim: self._candidates[dim][places[dim]] for dim in TILED}
        most = reduce(np.maximum, (self._scratch[dim][places[dim]] for dim in TILED))
        return self._costs.pricing.memory.size - most - self._costs.partial_sums(sizes, sizes[Dim.C])

    def _fit(self, places: Mapping[Dim, Ints]) -> Flags:
        sizes = {dim: self._candidates[dim][places[dim]] for dim in TILED}
        return self._costs.rooms.fit(self._costs.blocks(sizes), self._room(places))
