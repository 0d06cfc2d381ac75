"""Lower bounds of what any mapping with a tile costs, from how often each block is fetched at least."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from match.ir.layer import Dim, Role
from match.schedule.cut_operands import cut_operand
from match.schedule.floors import Floors
from match.schedule.rooms import Floats, Ints
from match.schedule.sieve import Sieve, joined
from match.schedule.starts import AllStarts, Starts, Ways
from match.schedule.tiles import TILED, TileCosts, total

PART = 1 << 13
"""Tiles whose transfers are bounded at a time, times the ways in which loop orders begin: so many that what is
computed of them stays in a processor's cache."""


def with_transfers(
    sieve: Sieve, costs: TileCosts, floors: Floors, known: AllStarts, most_moved: float = math.inf
) -> Sieve:
    """The same tiles with the bounds of mappings that move at most `most_moved` bytes.

    They count how often each block is fetched at least, and what of that no kernel can hide: for each operand by
    itself, in the room that the others leave.
    """
    cut = np.flatnonzero((sieve.tiles < costs.whole).any(axis=0)).tolist()
    starts = known.over(tuple(TILED[n] for n in cut))
    rows, size = np.arange(len(sieve)), PART // len(starts.following)
    parts = [sieve.select(rows[begin : begin + size]) for begin in range(0, len(sieve) or 1, size)]
    return joined([_with_transfers(part, costs, floors, starts, most_moved) for part in parts])


def _with_transfers(sieve: Sieve, costs: TileCosts, floors: Floors, starts: Starts, most_moved: float) -> Sieve:
    counts = costs.counts(sieve.tiles)
    blocks = costs.blocks({dim: sieve.tiles[:, n] for n, dim in enumerate(TILED)})
    rooms = costs.rooms.left(blocks, sieve.room)
    several = counts > costs.outer_counts[:, None]
    held = [
        _floors(costs, floors, n, sieve.tiles, counts, room, most_moved - sum(floors.least_moved) + least, ways)
        for n, (room, least, ways) in enumerate(zip(rooms, floors.least_moved, starts.ways, strict=True))
    ]
    first = {dim: several[n] | ~several.any(axis=0) for n, dim in enumerate(TILED)}
    reduced = several[TILED.index(Dim.C)]
    possible = np.stack([reduced if dim is Dim.C else first[dim] & ~reduced for dim in starts.following])
    core, dma = _latency(held, blocks, sieve, costs)
    bounds = (np.maximum(sieve.cycles + core, dma), core, total(floor.moved for floor in held))
    cycles, waits, moved = (np.where(possible, bound, np.inf).min(axis=0) for bound in bounds)
    return replace(sieve, cycles=cycles, moved=moved, beside=sieve.beside + waits)


class _Floor(NamedTuple):
    """Lower bounds over several ways to hold an operand; shape (starts, tiles).

    transfer: DMA cycles of all its blocks. moved: their bytes. chain: DMA cycles and, of an input, those to issue all
    but the first transfers. waits, issues: with one buffer and with two, the core's cycles in which no kernel runs, of
    which the larger sum over all operands counts, as it can issue fetches while it waits for a write-back. waits: for
    transfers, and to issue those of an output. issues: to issue all, and to wait for fetches and for the write-back
    behind the last kernel.
    """

    transfer: Floats
    moved: Floats
    chain: Floats
    waits: tuple[Floats, Floats]
    issues: tuple[Floats, Floats]


def _floors(
    costs: TileCosts,
    floors: Floors,
    number: int,
    tiles: Ints,
    counts: Ints,
    room: Ints,
    most_moved: float,
    ways: Ways,
) -> _Floor:
    """What operand number `number` costs at least in `room` bytes, by start of the order.

    `counts` are of the tiles, shape (4, n).
    """
    operand, issue, outer = costs.pricing.operands[number], costs.pricing.issue, costs.outer_blocks
    own, others = ([dim for dim in TILED if (dim in operand.dims) is mine] for mine in (True, False))
    cut = cut_operand(costs, floors, number, tiles, ways.dims)
    again = costs.iterations(counts, ways.loops, others)
    once = again[0]  # loops over no dimension have those of the outer blocks
    if not any(name == operand.name for name, _ in costs.pricing.memory.private):  # in the shared room
        room = room + cut.partial[-1] - cut.partial
    single = np.where(cut.block <= room, 0.0, np.inf)
    changes = np.array([len(dims) > 0 for dims in ways.cuts])[:, None]
    double = np.where((2 * cut.block <= room) & changes, 0.0, np.inf)
    which, inside = ways.which
    times = again[inside]
    moved = (times * cut.moved[which]).astype(np.float64)
    single, double = (np.where(moved <= most_moved, buffers[which], np.inf) for buffers in (single, double))
    fetches = times * costs.iterations(counts, ways.cuts, own)[which]
    transfer = times * cut.transfer[which] + single
    moved = moved + single
    if operand.role is Role.OUTPUT:
        issues, end = issue * fetches, (once * cut.last)[which]
        begun = end + issues
        cycles, moved, waits, doubled, issued = ways.least(
            transfer, moved, transfer + issues, begun + double, begun + single
        )
        return _Floor(cycles, moved, cycles, (waits, doubled), (issued, doubled))
    first = (once * cut.first)[which] + double
    later = fetches - outer  # all but the first transfers
    issued = issue * np.maximum(0, later), issue * np.maximum(0, later - outer)
    cycles, moved, chain, begun, single, double = ways.least(
        transfer, moved, transfer + issue * later, first, transfer + issued[0], first + issued[1]
    )
    return _Floor(cycles, moved, chain, (cycles, begun), (single, double))


def _latency(held: Sequence[_Floor], blocks: Sequence[Ints], sieve: Sieve, costs: TileCosts) -> tuple[Floats, Floats]:
    """Lower bounds when each operand is held in some way of `held`, with one buffer or two; as `_Floor`.

    Of the core's cycles beside those of `sieve`, and of the latency from what the DMA does.
    """
    pricing = costs.pricing
    transfer = total(floor.transfer for floor in held)
    if not pricing.overlap:
        return transfer, np.zeros_like(transfer)
    core = np.full_like(transfer, np.inf)
    outputs = [operand.role is Role.OUTPUT for operand in pricing.operands]
    begun = pricing.issue * costs.outer_blocks if not all(outputs) else 0.0
    for buffers in itertools.product((0, 1), repeat=len(held)):
        needs = [(1 + more) * block for more, block in zip(buffers, blocks, strict=True)]
        waits = total(floor.waits[more] for more, floor in zip(buffers, held, strict=True))
        added = np.maximum(waits, total(floor.issues[more] for more, floor in zip(buffers, held, strict=True)))
        if costs.outer is None and any(more and not out for out, more in zip(outputs, buffers, strict=True)):
            added = added + pricing.issue  # of the second block, when the last of the first ones has arrived
        np.minimum(core, added, out=core, where=costs.rooms.fit(needs, sieve.room))
    inputs = [floor for out, floor in zip(outputs, held, strict=True) if not out]
    fetched = total(floor.transfer for floor in inputs)
    for floor in inputs:  # the core issues a fetch when the one before has arrived
        fetched = np.maximum(fetched, floor.chain)
    finish = pricing.issue * costs.outer_blocks * any(outputs)  # the last write-back begins behind the last kernel
    dma = pricing.overhead + begun + np.maximum(transfer, fetched + finish)
    return begun + core, dma
