"""The first sieve of a search: the tiles that fit a memory, with lower bounds of what any mapping with them costs."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np

from match.layer import Dim, Operand, Role
from match.schedule.floors import Floors
from match.schedule.rooms import Flags, Floats, Ints
from match.schedule.tiles import TILED, TileCosts, subsets, total


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


def feasible(costs: TileCosts, floors: Floors | None, candidates: Mapping[Dim, Ints]) -> Sieve:
    """All tiles that fit in some mapping; the bounds count kernels, and no transfers."""
    pricing = costs.pricing
    scratch: dict[Dim, Ints] = {}
    for dim in TILED:  # it never shrinks when a tile grows
        line = [candidates[d] if d is dim else np.full_like(candidates[dim], candidates[d][0]) for d in TILED]
        scratch[dim] = costs.scratch(np.stack(line, axis=1))

    def room(places: Mapping[Dim, Ints]) -> Ints:
        sizes = {dim: candidates[dim][places[dim]] for dim in TILED}
        most = functools.reduce(np.maximum, (scratch[dim][places[dim]] for dim in TILED))
        return pricing.memory.size - most - costs.partial_sums(sizes, sizes[Dim.C])

    def fit(places: Mapping[Dim, Ints]) -> Flags:
        sizes = {dim: candidates[dim][places[dim]] for dim in TILED}
        return costs.rooms.fit(costs.blocks(sizes), room(places))

    places = _fitting({dim: len(candidates[dim]) for dim in TILED}, fit)
    tiles = np.stack([candidates[dim][places[dim]] for dim in TILED], axis=1)
    calls = costs.repeats(costs.counts(tiles), TILED).astype(np.float64)
    beside = pricing.overhead + calls * pricing.launch
    cycles = beside if floors is None else beside + floors.compute(tiles)
    return Sieve(tiles, room(places), cycles, np.zeros(len(tiles)), beside)


def _fitting(counts: Mapping[Dim, int], fit: Callable[[Mapping[Dim, Ints]], Flags]) -> dict[Dim, Ints]:
    """Places of all tiles that `fit`, among so many sizes of each dimension.

    What fits with a size fits with all smaller ones, but for input channels, all of which need no partial sums: of the
    dimension with the most sizes, the largest is found by bisection.
    """
    last = max((dim for dim in TILED if dim is not Dim.C), key=lambda dim: counts[dim])
    others = [dim for dim in TILED if dim is not last]
    grid = np.meshgrid(*(np.arange(counts[dim]) for dim in others), indexing="ij", sparse=True)
    rows = dict(zip(others, grid, strict=True))
    fitting = np.zeros([counts[dim] for dim in others], np.int64)
    step = 1 << counts[last].bit_length() - 1
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


def with_transfers(sieve: Sieve, costs: TileCosts, floors: Floors, most_moved: float = math.inf) -> Sieve:
    """The same tiles with the bounds of mappings that move at most `most_moved` bytes.

    They count how often each block is fetched at least, and what of that no kernel can hide: for each operand by
    itself, in the room that the others leave.
    """
    tiles, pricing = sieve.tiles, costs.pricing
    counts = costs.counts(tiles)
    sizes = {dim: tiles[:, n] for n, dim in enumerate(TILED)}
    numbers = range(len(pricing.operands))
    blocks = costs.blocks(sizes)
    room = costs.rooms.left(blocks, sieve.room)
    allowed = [most_moved - sum(floors.least_moved) + floors.least_moved[n] for n in numbers]
    dims = [dim for dim in TILED if (counts[dim] > costs.outer_counts[dim]).any()]
    starts = _starts(dims)
    ways = [_Ways(costs, floors, n, sieve, room[n], allowed[n], starts) for n in numbers]
    cycles, moved, waits = (np.full(len(sieve), np.inf) for _ in range(3))
    uncut = costs.repeats(counts, TILED) == costs.outer_blocks
    reduced = counts[Dim.C] > costs.outer_counts[Dim.C]
    for start in starts:
        first = counts[start.following] > costs.outer_counts[start.following]
        possible = reduced if start.following is Dim.C else (uncut | first) & ~reduced
        held = [way.floors[start] for way in ways]
        core, dma = _latency(held, blocks, sieve, costs)
        np.minimum(cycles, np.maximum(sieve.cycles + core, dma), out=cycles, where=possible)
        np.minimum(waits, core, out=waits, where=possible)
        np.minimum(moved, total(np.minimum(one.moved, two.moved) for one, two in held), out=moved, where=possible)
    return replace(sieve, cycles=cycles, moved=moved, beside=sieve.beside + waits)


class _Start(NamedTuple):
    """How a loop order begins: with the loops `outside`, in any order, and then the one over `following`.

    Where input channels are cut that is theirs, as the output's blocks lie outside of it; else it is the outermost.
    """

    outside: frozenset[Dim]
    following: Dim

    def repeated(self, operand: Operand, cut: frozenset[Dim]) -> frozenset[Dim] | None:
        """Loops that fetch blocks again which are cut along `cut` and no other dimension; None if there are no such."""
        first = self.outside | {self.following}
        if cut <= self.outside:  # fetched inside some of them, or before all loops
            left = operand.role is Role.CONSTANT and self.following is Dim.C
            return None if left and Dim.C in operand.indivisible_dims else frozenset()
        if not first & operand.dims <= cut or (self.following is Dim.C and operand.role is Role.OUTPUT):
            return None
        return first - operand.dims


def _starts(dims: Collection[Dim]) -> list[_Start]:
    """All ways in which loops over some of `dims` begin."""
    others = [dim for dim in dims if dim is not Dim.C]
    starts = [_Start(frozenset(), dim) for dim in others or TILED[:1]]  # one at least, for a tile that cuts nothing
    if Dim.C in dims:
        starts += [_Start(frozenset(outside), Dim.C) for outside in subsets(others)]
    return starts


class _Floor(NamedTuple):
    """Lower bounds over several ways to hold an operand with the same number of buffers; arrays over tiles.

    transfer: DMA cycles of all its blocks. moved: their bytes. exposed: cycles of them beside which no kernel runs.
    core: these and the cycles to issue transfers. chain: DMA cycles and those to issue all but the first transfers.
    end: of an output, cycles of the write-back behind the last kernel and to issue all.
    """

    transfer: Floats
    moved: Floats
    exposed: Floats
    core: Floats
    chain: Floats
    end: Floats


class _Ways:
    """What an operand costs at least in `room` bytes: `floors` by start of the order, with one buffer and with two."""

    def __init__(
        self,
        costs: TileCosts,
        floors: Floors,
        number: int,
        sieve: Sieve,
        room: Ints,
        most_moved: float,
        starts: Collection[_Start],
    ) -> None:
        operand = costs.pricing.operands[number]
        out = operand.role is Role.OUTPUT
        dims = {dim for start in starts for dim in start.outside | {start.following}}
        cuts = list(map(frozenset, subsets([dim for dim in TILED if dim in operand.dims & dims])))
        inside = np.array([[dim in cut for dim in TILED] for cut in cuts])
        tiles = np.where(inside[:, None, :], sieve.tiles, costs.whole)
        shape = tiles.shape[:2]
        sizes = {dim: tiles[:, :, n] for n, dim in enumerate(TILED)}
        block = np.broadcast_to(costs.block(number, sizes), shape)
        left = np.broadcast_to(room, shape)
        if out and not any(name == operand.name for name, _ in costs.pricing.memory.private):  # in the shared room
            own = {dim: sieve.tiles[:, n] for n, dim in enumerate(TILED)}
            left = left + costs.partial_sums(own, own[Dim.C]) - costs.partial_sums(sizes, own[Dim.C])
        sums = (figures.reshape(shape) for figures in floors.sums(number, tiles.reshape(-1, len(TILED))))
        moved = np.broadcast_to(costs.moved(number, sizes), shape)
        self._costs = costs
        self._counts = costs.counts(sieve.tiles)
        self._others = [dim for dim in TILED if dim not in operand.dims]
        blocks = [self._repeats(cut, operand.dims) for cut in cuts]
        self._figures = (block, left, moved, np.stack(blocks), *sums)
        self._most_moved = most_moved
        self._out = out
        self.floors: dict[_Start, tuple[_Floor, _Floor]] = {}
        for start in starts:
            repeated = [start.repeated(operand, cut) for cut in cuts]
            rows = [n for n, loops in enumerate(repeated) if loops is not None]
            again = [self._repeats(loops, self._others) for loops in repeated if loops is not None]
            cut_rows = [n for n in rows if cuts[n]]
            cut_again = [times for n, times in zip(rows, again, strict=True) if cuts[n]]
            self.floors[start] = self._floor(rows, again, 1), self._floor(cut_rows, cut_again, 2)

    def _repeats(self, loops: Collection[Dim], among: Collection[Dim]) -> Ints:
        """How many iterations loops over some dimensions, of those `among`, have."""
        result = self._costs.repeats(self._counts, loops, [dim for dim in TILED if dim in among])
        return np.broadcast_to(result, len(self._counts[Dim.K]))

    def _floor(self, rows: list[int], again: list[Ints], buffers: int) -> _Floor:
        """The least of some ways to cut the operand, each of whose blocks are fetched so many times `again`."""
        costs = self._costs
        if not rows:
            return _Floor(*np.full((len(_Floor._fields), len(self._counts[Dim.K])), np.inf))
        block, left, moved, blocks, transfer, first, last = (figure[rows] for figure in self._figures)
        issue, times = costs.pricing.issue, np.stack(again)
        once = costs.repeats(self._counts, (), self._others)
        moved = times * moved
        fits = (buffers * block <= left) & (moved <= self._most_moved)
        fetches = times * blocks
        issues = issue * (fetches if self._out else np.maximum(0.0, fetches - buffers * costs.outer_blocks))
        transfer, first, last = times * transfer, once * first, once * last
        exposed = transfer if buffers == 1 else last if self._out else first
        core = exposed + issues
        chain = transfer + issue * (fetches - costs.outer_blocks)
        figures = (transfer, moved, core if self._out else exposed, core, chain, last + issues)
        return _Floor(*(np.where(fits, figure, np.inf).min(axis=0) for figure in figures))


def _latency(
    held: list[tuple[_Floor, _Floor]], blocks: list[Ints], sieve: Sieve, costs: TileCosts
) -> tuple[Floats, Floats]:
    """Lower bounds when each operand is held in one of the ways of `held`, with one buffer or two.

    Of the core's cycles beside those of `sieve`, and of the latency from what the DMA does.
    """
    pricing = costs.pricing
    transfer = total(np.minimum(one.transfer, two.transfer) for one, two in held)
    if not pricing.overlap:
        return transfer, np.zeros(len(sieve))
    core = np.full(len(sieve), np.inf)
    outputs = [operand.role is Role.OUTPUT for operand in pricing.operands]
    begun = pricing.issue * costs.outer_blocks if not all(outputs) else 0.0
    for buffers in itertools.product((0, 1), repeat=len(held)):
        needs = [(1 + more) * block for more, block in zip(buffers, blocks, strict=True)]
        chosen = [(out, more, ways[more]) for out, more, ways in zip(outputs, buffers, held, strict=True)]
        added = total(way.end if out and not more else way.core for out, more, way in chosen)
        if any(out and not more for out, more, _ in chosen):
            # While the core waits for a write-back, it can issue transfers.
            waits = total(way.core if out else way.exposed for out, _, way in chosen)
            added = np.maximum(added, waits)
        if costs.outer is None and any(more and not out for out, more, _ in chosen):
            added = added + pricing.issue  # of the second block, when the last of the first ones has arrived
        np.minimum(core, added, out=core, where=costs.rooms.fit(needs, sieve.room))
    inputs = [ways for out, ways in zip(outputs, held, strict=True) if not out]
    fetched = total(np.minimum(one.transfer, two.transfer) for one, two in inputs)
    for one, two in inputs:  # the core issues a fetch when the one before has arrived
        fetched = np.maximum(fetched, np.minimum(one.chain, two.chain))
    finish = pricing.issue * costs.outer_blocks * any(outputs)  # the last write-back begins behind the last kernel
    dma = pricing.overhead + begun + np.maximum(transfer, fetched + finish)
    return begun + core, dma
