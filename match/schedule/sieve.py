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
    """Tiles, shape (n, 4), with lower bounds of `cycles` and of bytes `moved`, shape (n,).

    `room` is the most that the tile's blocks may take of the shared room, in bytes.
    """

    tiles: Ints
    room: Ints
    cycles: Floats
    moved: Floats

    def __len__(self) -> int:
        return len(self.tiles)

    def select(self, rows: Ints) -> Sieve:
        """The sieve of these tiles."""
        return Sieve(self.tiles[rows], self.room[rows], self.cycles[rows], self.moved[rows])


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
    room = pricing.memory.size - scratch - costs.partial_sums(sizes, sizes[Dim.C])
    fits = costs.rooms.fit(costs.blocks(sizes), room)
    index = np.nonzero(fits)
    tiles = np.stack([candidates[dim][places] for dim, places in zip(TILED, index, strict=True)], axis=1)
    cycles = pricing.overhead + costs.repeats(costs.counts(tiles), TILED) * pricing.launch
    if floors is not None:
        cycles = cycles + floors.compute(tiles)
    return Sieve(tiles, np.broadcast_to(room, fits.shape)[index], cycles.astype(np.float64), np.zeros(len(tiles)))


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
    dims = [dim for dim in TILED if (counts[dim] > costs.outer_counts[dim]).any()] or [TILED[0]]
    ways = [_Ways(costs, floors, n, sieve, room[n], allowed[n], dims) for n in numbers]
    cycles, moved = np.full(len(sieve), np.inf), np.full(len(sieve), np.inf)
    uncut = costs.repeats(counts, TILED) == costs.outer_blocks
    for outermost in dims:
        possible = uncut | (counts[outermost] > costs.outer_counts[outermost])
        held = [way.floors[outermost] for way in ways]
        np.minimum(cycles, _latency(held, blocks, sieve, costs), out=cycles, where=possible)
        np.minimum(moved, total(np.minimum(one.moved, two.moved) for one, two in held), out=moved, where=possible)
    return replace(sieve, cycles=cycles, moved=moved)


@dataclass(frozen=True)
class _Floor:
    """Lower bounds over several ways to hold an operand with the same number of buffers; arrays over tiles.

    transfer: DMA cycles of all its blocks. moved: their bytes. exposed: cycles of them beside which no kernel runs.
    core: these and the cycles to issue transfers.
    """

    transfer: Floats
    moved: Floats
    exposed: Floats
    core: Floats

    @classmethod
    def over_nothing(cls, count: int) -> _Floor:
        return cls(*(np.full(count, np.inf) for _ in range(4)))

    def admit(self, fits: Flags, transfer: Floats, moved: Floats, exposed: Floats, core: Floats) -> None:
        """Take in one more way, where it fits."""
        ways = ((self.transfer, transfer), (self.moved, moved), (self.exposed, exposed), (self.core, core))
        for mine, its in ways:
            np.minimum(mine, its, out=mine, where=fits)


class _Ways:
    """What an operand costs at least in `room` bytes: `floors` by outermost loop, with one buffer and with two."""

    def __init__(
        self,
        costs: TileCosts,
        floors: Floors,
        number: int,
        sieve: Sieve,
        room: Ints,
        most_moved: float,
        loops: list[Dim],
    ) -> None:
        operand = costs.pricing.operands[number]
        out = operand.role is Role.OUTPUT
        own = [dim for dim in TILED if dim in operand.dims]
        dims = [dim for dim in loops if dim in operand.dims]
        others = [dim for dim in TILED if dim not in operand.dims]
        counts = costs.counts(sieve.tiles)
        once = costs.repeats(counts, (), others)
        sizes = {dim: sieve.tiles[:, n] for n, dim in enumerate(TILED)}
        reduced = sizes[Dim.C]
        cut_reduction = reduced < costs.extents[Dim.C]
        in_shared_room = out and not any(name == operand.name for name, _ in costs.pricing.memory.private)
        least_sums = costs.partial_sums(sizes, reduced)
        self.floors = {dim: (_Floor.over_nothing(len(sieve)), _Floor.over_nothing(len(sieve))) for dim in loops}
        for cut in itertools.chain.from_iterable(itertools.combinations(dims, n) for n in range(len(dims) + 1)):
            block = costs.block(number, {dim: sizes[dim] for dim in cut})
            possible = room
            if in_shared_room:
                possible = room - costs.partial_sums({dim: sizes[dim] for dim in cut}, reduced) + least_sums
            elif Dim.C in operand.indivisible_dims and Dim.C not in cut:
                possible = np.where(cut_reduction, -1, room)
            sums = floors.sums(number, frozenset(cut), sieve.tiles)
            moved = costs.moved(number, frozenset(cut), sieve.tiles).astype(np.float64)
            blocks = costs.repeats(counts, cut, own).astype(np.float64)
            first, last = once * sums.first, once * sums.last
            for outermost in loops:
                if cut and (outermost not in cut if outermost in dims else out and outermost is Dim.C):
                    continue  # a block is fetched inside the outermost loop, or before all of them
                again = costs.repeats(counts, (outermost,) if cut else (), others)
                for buffers in (1, 2) if cut else (1,):
                    fits = (buffers * block <= possible) & (again * moved <= most_moved)
                    fetches = again * blocks
                    before = buffers * costs.outer_blocks
                    issues = costs.pricing.issue * (fetches if out else np.maximum(0.0, fetches - before))
                    transfer = again * sums.transfer
                    exposed = transfer if buffers == 1 else last if out else first
                    self.floors[outermost][buffers - 1].admit(
                        fits, transfer, again * moved, exposed + issues if out else exposed, exposed + issues
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
    return np.maximum(sieve.cycles + begun + core, pricing.overhead + begun + transfer)
