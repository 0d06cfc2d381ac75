"""The first sieve of a search: the tiles that fit a memory, with lower bounds of what any mapping with them costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from typing import NamedTuple

import numpy as np

from match.layer import Dim, Operand, Role
from match.schedule.floors import Floors
from match.schedule.rooms import Flags, Floats, Ints
from match.schedule.tiles import TILED, TileCosts, subsets, total

PART = 1 << 14
"""Tiles whose transfers are bounded at a time, times the ways in which loop orders begin: so many that what is
computed of them stays in a processor's cache."""


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


def with_transfers(sieve: Sieve, costs: TileCosts, floors: Floors, most_moved: float = math.inf) -> Sieve:
    """The same tiles with the bounds of mappings that move at most `most_moved` bytes.

    They count how often each block is fetched at least, and what of that no kernel can hide: for each operand by
    itself, in the room that the others leave.
    """
    cut = np.flatnonzero((sieve.tiles < costs.whole).any(axis=0)).tolist()
    rows, size = np.arange(len(sieve)), PART // len(_starts([TILED[n] for n in cut]))
    parts = [sieve.select(rows[begin : begin + size]) for begin in range(0, len(sieve) or 1, size)]
    return joined([_with_transfers(part, costs, floors, most_moved) for part in parts])


def _with_transfers(sieve: Sieve, costs: TileCosts, floors: Floors, most_moved: float) -> Sieve:
    tiles, pricing = sieve.tiles, costs.pricing
    counts = costs.counts(tiles)
    sizes = {dim: tiles[:, n] for n, dim in enumerate(TILED)}
    numbers = range(len(pricing.operands))
    blocks = costs.blocks(sizes)
    room = costs.rooms.left(blocks, sieve.room)
    allowed = [most_moved - sum(floors.least_moved) + floors.least_moved[n] for n in numbers]
    several = counts > costs.outer_counts[:, None]
    starts = _starts([dim for n, dim in enumerate(TILED) if several[n].any()])
    ways = [_Ways(costs, floors, n, sieve, counts, room[n], allowed[n], starts) for n in numbers]
    first = {dim: several[n] | ~several.any(axis=0) for n, dim in enumerate(TILED)}
    reduced = several[TILED.index(Dim.C)]
    possible = np.stack([reduced if s.following is Dim.C else first[s.following] & ~reduced for s in starts])
    held = [way.floors for way in ways]
    core, dma = _latency(held, blocks, sieve, costs)
    bounds = (np.maximum(sieve.cycles + core, dma), core, total(np.minimum(one.moved, two.moved) for one, two in held))
    cycles, waits, moved = (np.where(possible, bound, np.inf).min(axis=0) for bound in bounds)
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
    """Lower bounds over several ways to hold an operand with the same number of buffers; shape (starts, tiles).

    transfer: DMA cycles of all its blocks. moved: their bytes. core: those of the cycles beside which no kernel runs,
    and the cycles to issue all. exposed: the former alone, of an input. chain: of an input, DMA cycles and those to
    issue all but the first transfers. end: of an output, cycles of the write-back behind the last kernel and to issue
    all.
    """

    transfer: Floats
    moved: Floats
    core: Floats
    exposed: Floats
    chain: Floats
    end: Floats


class _Ways:
    """What an operand costs at least in `room` bytes: `floors` with one buffer and with two, by start of the order.

    `counts` are of the sieve's tiles, shape (4, n).
    """

    def __init__(
        self,
        costs: TileCosts,
        floors: Floors,
        number: int,
        sieve: Sieve,
        counts: Ints,
        room: Ints,
        most_moved: float,
        starts: Sequence[_Start],
    ) -> None:
        self._operand = operand = costs.pricing.operands[number]
        self._costs = costs
        own, others = ([dim for dim in TILED if (dim in operand.dims) is mine] for mine in (True, False))
        dims = {dim for start in starts for dim in start.outside | {start.following}}
        self._cuts = list(map(frozenset, subsets([dim for dim in own if dim in dims])))
        self._loops = list(map(frozenset, subsets([dim for dim in others if dim in dims])))
        self._again = costs.iterations(counts, self._loops, others)
        inside = np.array([[dim in cut for dim in TILED] for cut in self._cuts])
        tiles = np.where(inside[:, None, :], sieve.tiles, costs.whole)
        shape = tiles.shape[:2]
        sizes = {dim: tiles[:, :, n] for n, dim in enumerate(TILED)}
        block = np.broadcast_to(costs.block(number, sizes), shape)
        left = np.broadcast_to(room, shape)
        if self._out and not any(name == operand.name for name, _ in costs.pricing.memory.private):  # the shared room
            mine = {dim: sieve.tiles[:, n] for n, dim in enumerate(TILED)}
            left = left + costs.partial_sums(mine, mine[Dim.C]) - costs.partial_sums(sizes, mine[Dim.C])
        sums = floors.sums(number, tiles.reshape(-1, len(TILED)))
        transfer, first, last = (figures.reshape(shape) for figures in sums)
        once = self._again[0]  # loops over no dimension have those of the outer blocks
        moved = np.broadcast_to(costs.moved(number, sizes), shape)
        blocks = costs.iterations(counts, self._cuts, own)
        cut = inside.any(axis=1, keepdims=True)
        self._fits: Flags = np.stack([block <= left, cut & (2 * block <= left)])
        self._figures = np.stack([moved, blocks, transfer, once * first, once * last])
        self._most_moved = most_moved
        self.floors = self._floors(starts)

    @property
    def _out(self) -> bool:
        return self._operand.role is Role.OUTPUT

    def _floors(self, starts: Sequence[_Start]) -> list[_Floor]:
        """The least of all ways to cut the operand."""
        repeated = [[start.repeated(self._operand, cut) for cut in self._cuts] for start in starts]
        possible = np.array([[loops is not None for loops in row] for row in repeated])[:, :, None]
        times = self._again[[[self._loops.index(loops or frozenset()) for loops in row] for row in repeated]]
        moved, blocks, transfer, first, last = self._figures
        moved, fetches, transfer = times * moved, times * blocks, times * transfer
        issue, outer = self._costs.pricing.issue, self._costs.outer_blocks
        possible = possible & (moved <= self._most_moved)
        result: list[_Floor] = []
        for buffers, fitting in enumerate(self._fits, 1):
            least = partial(_least, fits=fitting & possible)
            exposed = transfer if buffers == 1 else last if self._out else first
            issues = issue * (fetches if self._out else np.maximum(0.0, fetches - buffers * outer))
            cycles, core = least(transfer), least(exposed + issues)
            if self._out:
                floor = _Floor(cycles, least(moved), core, core, cycles, least(last + issues))
            else:
                chain = transfer + issue * (fetches - outer)
                floor = _Floor(cycles, least(moved), core, least(exposed), least(chain), core)
            result.append(floor)
        return result


def _least(figures: Floats, fits: Flags) -> Floats:
    """Of the ways that fit; shape (starts, ways, tiles) becomes (starts, tiles)."""
    result: Floats = np.where(fits, figures, np.inf).min(axis=1)
    return result


def _latency(
    held: Sequence[Sequence[_Floor]], blocks: list[Ints], sieve: Sieve, costs: TileCosts
) -> tuple[Floats, Floats]:
    """Lower bounds when each operand is held in one of the ways of `held`, with one buffer or two; as `_Floor`.

    Of the core's cycles beside those of `sieve`, and of the latency from what the DMA does.
    """
    pricing = costs.pricing
    transfer = total(np.minimum(one.transfer, two.transfer) for one, two in held)
    if not pricing.overlap:
        return transfer, np.zeros_like(transfer)
    core = np.full_like(transfer, np.inf)
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
