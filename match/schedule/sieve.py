"""The first sieve of a search: the tiles that fit a memory, with lower bounds of what any mapping with them costs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from match.layer import Dim, Role
from match.schedule.floors import Floors
from match.schedule.rooms import Flags, Ints
from match.schedule.tiles import TILED, Floats, TileCosts, total


@dataclass(frozen=True)
class Sieve:
    """Tiles, shape (n, 3), with lower bounds of `cycles` and of bytes `moved`, shape (n,).

    `room` is the most that the tile's blocks may take of the shared room, in bytes. `tail` are cycles of the core that
    follow when all inputs are there, at least.
    """

    tiles: Ints
    room: Ints
    cycles: Floats
    moved: Floats
    tail: Floats

    def __len__(self) -> int:
        return len(self.tiles)

    def select(self, rows: Ints) -> Sieve:
        """The sieve of these tiles."""
        return Sieve(self.tiles[rows], self.room[rows], self.cycles[rows], self.moved[rows], self.tail[rows])


def feasible(costs: TileCosts, floors: Floors | None, candidates: Mapping[Dim, Ints]) -> Sieve:
    """All tiles that fit in some mapping; the bounds count kernels, and no transfers."""
    pricing = costs.pricing
    grid = np.meshgrid(*(candidates[dim] for dim in TILED), indexing="ij", sparse=True)
    sizes = dict(zip(TILED, grid, strict=True))
    scratch = np.zeros((), np.int64)
    for dim in TILED:  # it never shrinks when a tile grows
        line = np.stack(
            [candidates[d] if d is dim else np.full_like(candidates[dim], candidates[d][0]) for d in TILED], 1
        )
        shape = [len(line) if d is dim else 1 for d in TILED]
        scratch = np.maximum(scratch, costs.scratch(line).reshape(shape))
    room = pricing.memory.size - scratch
    fits = costs.rooms.fit(costs.blocks(sizes), room)
    index = np.nonzero(fits)
    tiles = np.stack([candidates[dim][places] for dim, places in zip(TILED, index, strict=True)], axis=1)
    cycles = pricing.overhead + costs.repeats(costs.counts(tiles), TILED) * pricing.launch
    if floors is not None:
        cycles = cycles + floors.compute(tiles)
    nothing = np.zeros(len(tiles))
    return Sieve(tiles, np.broadcast_to(room, fits.shape)[index], cycles.astype(np.float64), nothing, nothing)


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
    ways = [_Ways(costs, floors, n, sieve, room[n], allowed[n]) for n in numbers]
    cycles, moved = np.full(len(sieve), np.inf), np.full(len(sieve), np.inf)
    uncut = costs.repeats(counts, TILED) == costs.outer_blocks
    for outermost in TILED:
        possible = uncut | (counts[outermost] > costs.outer_counts[outermost])
        held = [way.floors[outermost] for way in ways]
        np.minimum(cycles, _latency(held, blocks, sieve, costs), out=cycles, where=possible)
        np.minimum(moved, total(np.minimum(one.moved, two.moved) for one, two in held), out=moved, where=possible)
    return replace(sieve, cycles=cycles, moved=moved)


@dataclass(frozen=True)
class _Floor:
    """Lower bounds over several ways to hold an operand with the same number of buffers; arrays over tiles.

    transfer: DMA cycles of all its blocks. moved: their bytes. exposed: cycles of them beside which no kernel runs.
    core: these and the cycles to issue transfers. chain: DMA cycles and those to issue all but the first transfers.
    """

    transfer: Floats
    moved: Floats
    exposed: Floats
    core: Floats
    chain: Floats

    @classmethod
    def over_nothing(cls, count: int) -> _Floor:
        return cls(*(np.full(count, np.inf) for _ in range(5)))

    def admit(self, fits: Flags, *figures: Floats) -> None:
        """Take in one more way, with its figures in the order of the fields, where it fits."""
        for mine, its in zip((self.transfer, self.moved, self.exposed, self.core, self.chain), figures, strict=True):
            np.minimum(mine, its, out=mine, where=fits)


class _Ways:
    """What an operand costs at least in `room` bytes: `floors` by outermost loop, with one buffer and with two."""

    def __init__(
        self, costs: TileCosts, floors: Floors, number: int, sieve: Sieve, room: Ints, most_moved: float
    ) -> None:
        operand = costs.pricing.operands[number]
        out = operand.role is Role.OUTPUT
        dims = [dim for dim in TILED if dim in operand.dims]
        others = [dim for dim in TILED if dim not in operand.dims]
        counts = costs.counts(sieve.tiles)
        once = costs.repeats(counts, (), others)
        sizes = {dim: sieve.tiles[:, n] for n, dim in enumerate(TILED)}
        self.floors = {dim: (_Floor.over_nothing(len(sieve)), _Floor.over_nothing(len(sieve))) for dim in TILED}
        for cut in itertools.chain.from_iterable(itertools.combinations(dims, n) for n in range(len(dims) + 1)):
            block = costs.block(number, {dim: sizes[dim] for dim in cut})
            sums = floors.sums(number, frozenset(cut), sieve.tiles)
            moved = costs.moved(number, frozenset(cut), sieve.tiles).astype(np.float64)
            blocks = costs.repeats(counts, cut, dims).astype(np.float64)
            first, last = once * sums.first, once * sums.last
            for outermost in TILED:
                if cut and outermost in dims and outermost not in cut:
                    continue  # a block is fetched inside the outermost loop, or before all of them
                again = costs.repeats(counts, (outermost,) if cut else (), others)
                for buffers in (1, 2) if cut else (1,):
                    fits = (buffers * block <= room) & (again * moved <= most_moved)
                    fetches = again * blocks
                    before = buffers * costs.outer_blocks
                    issues = costs.pricing.issue * (fetches if out else np.maximum(0.0, fetches - before))
                    transfer = again * sums.transfer
                    exposed = transfer if buffers == 1 else last if out else first
                    self.floors[outermost][buffers - 1].admit(
                        fits,
                        transfer,
                        again * moved,
                        exposed + issues if out else exposed,
                        exposed + issues,
                        transfer + issues,
                    )


def _latency(held: list[tuple[_Floor, _Floor]], blocks: list[Ints], sieve: Sieve, costs: TileCosts) -> Floats:
    """Lower bound of the cycles when each operand is held in one of the ways of `held`, with one buffer or two."""
    pricing = costs.pricing
    transfer = total(np.minimum(one.transfer, two.transfer) for one, two in held)
    if not pricing.overlap:
        return sieve.cycles + transfer
    core = np.full(len(sieve), np.inf)
    outputs = [operand.role is Role.OUTPUT for operand in pricing.operands]
    for buffers in itertools.product((0, 1), repeat=len(held)):
        needs = [(1 + more) * block for more, block in zip(buffers, blocks, strict=True)]
        # While the core waits for a write-back, it can issue transfers.
        waits = any(out and not more for out, more in zip(outputs, buffers, strict=True))
        added = total(
            ways[more].exposed if waits and not out else ways[more].core
            for out, more, ways in zip(outputs, buffers, held, strict=True)
        )
        np.minimum(core, added, out=core, where=costs.rooms.fit(needs, sieve.room))
    begun = pricing.issue * costs.outer_blocks if not all(outputs) else 0.0
    inputs = [way for out, way in zip(outputs, held, strict=True) if not out]
    fetched = total(np.minimum(one.transfer, two.transfer) for one, two in inputs)
    for one, two in inputs:  # the core issues a fetch when the one before has arrived
        fetched = np.maximum(fetched, np.minimum(one.chain, two.chain))
    dma = pricing.overhead + begun + np.maximum(transfer, fetched + sieve.tail)
    return np.maximum(sieve.cycles + begun + core, dma)
