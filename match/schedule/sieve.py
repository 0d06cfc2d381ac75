"""The first sieve of a search: the tiles that fit a memory, with lower bounds of what any mapping with them costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce

import numpy as np

from match.layer import Dim
from match.schedule.floors import Floors
from match.schedule.rooms import Flags, Floats, Ints
from match.schedule.tiles import TILED, TileCosts


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
    pricing = costs.pricing
    scratch: dict[Dim, Ints] = {}
    for dim in TILED:  # it never shrinks when a tile grows
        line = [candidates[d] if d is dim else np.full_like(candidates[dim], candidates[d][0]) for d in TILED]
        scratch[dim] = costs.scratch(np.stack(line, axis=1))

    def room(places: Mapping[Dim, Ints]) -> Ints:
        sizes = {dim: candidates[dim][places[dim]] for dim in TILED}
        most = reduce(np.maximum, (scratch[dim][places[dim]] for dim in TILED))
        return pricing.memory.size - most - costs.partial_sums(sizes, sizes[Dim.C])

    def fit(places: Mapping[Dim, Ints]) -> Flags:
        sizes = {dim: candidates[dim][places[dim]] for dim in TILED}
        return costs.rooms.fit(costs.blocks(sizes), room(places))

    places = _fitting({dim: len(candidates[dim]) for dim in TILED}, fit)
    tiles = np.stack([candidates[dim][places[dim]] for dim in TILED], axis=1)
    calls = costs.counts(tiles).prod(axis=0).astype(np.float64)
    beside = pricing.overhead + calls * pricing.launch
    cycles = beside if floors is None else beside + floors.compute(tiles)
    return Sieve(tiles, room(places), cycles, np.zeros(len(tiles)), beside)


def _fitting(counts: Mapping[Dim, int], fit: Callable[[Mapping[Dim, Ints]], Flags]) -> dict[Dim, Ints]:
    """Places of all tiles that `fit`, among so many sizes of each dimension.

    What fits with a size fits with all smaller ones, but for input channels, all of which need no partial sums: of the
    dimension with the most sizes, the largest is found by bisection, unless that is the last.
    """
    last = max((dim for dim in TILED if dim is not Dim.C), key=lambda dim: counts[dim])
    others = [dim for dim in TILED if dim is not last]
    grid = np.meshgrid(*(np.arange(counts[dim]) for dim in others), indexing="ij", sparse=True)
    rows = dict(zip(others, grid, strict=True))
    whole = fit({**rows, last: np.array(counts[last] - 1)})
    fitting = np.broadcast_to(counts[last] * whole, [counts[dim] for dim in others]).copy()
    step = 0 if fitting.all() else 1 << counts[last].bit_length() - 1
    while step:
        more = fitting + step
        fits = fit({**rows, last: np.minimum(more, counts[last]) - 1}) & (more <= counts[last])
        fitting[fits] = more[fits]
        step >>= 1
    times = fitting.ravel()
    ends = np.cumsum(times)
    return {
        **{dim: np.repeat(np.broadcast_to(places, fitting.shape).ravel(), times) for dim, places in rows.items()},
        last: np.arange(ends[-1]) - np.repeat(ends - times, times),
    }
