"""Every mapping with given tiles: loop orders, placements and buffers, each with a lower bound of its latency.

For tiles that cut the same dimensions, the mappings of one loop order are arrays: an axis for each operand's choice
of depth and buffers, and a last one for the tiles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from match.cost import CostModel
from match.layer import Dim, Layer, Operand, Role
from match.schedule.blocks import largest_tile
from match.schedule.mapping import REDUCTIONS, Loop, Memory, Placement, Schedule
from match.schedule.rooms import Flags, Ints
from match.schedule.tiles import TILED, Floats, Sums, TileCosts, total
from match.schedule.waits import Held, idle_before_first_kernel, least_idle, queued, written_in_full


@dataclass(frozen=True)
class Nest:
    """Loops and, in the order of the operands, placements of one mapping onto one memory."""

    loops: tuple[Loop, ...]
    placements: tuple[Placement, ...]

    def schedule(
        self, layer: Layer, operands: tuple[Operand, ...], memories: tuple[Memory, ...], cost_model: CostModel
    ) -> Schedule:
        """The checked mapping, with the scratch that `cost_model` asks for."""
        extents = {dim: layer.size(dim) for dim in Dim}
        for loop in self.loops:
            extents[loop.dim] = loop.tile
        scratch = math.ceil(cost_model.scratch(layer, largest_tile(layer, extents)))
        return Schedule(layer, operands, memories, self.loops, self.placements, scratch)


@dataclass(frozen=True)
class Nests:
    """The mappings of one loop order that fit; arrays of shape (n,).

    cycles: lower bounds of their latencies. expected: cycles near their latencies, a lower bound of them unless the
    cost model has its own: the larger of those from what the core and the DMA do, `core` and `dma`. fetched: what of
    the DMA's part comes before the last kernel or behind it. moved: bytes. tile: rows of their tiles.
    """

    cycles: Floats
    expected: Floats
    core: Floats
    dma: Floats
    fetched: Floats
    moved: Floats
    tile: Ints
    _structures: Structures
    _order: tuple[Dim, ...]
    _held: tuple[tuple[tuple[int, int], ...], ...]
    _choices: tuple[Ints, ...]

    def inside(self, operand: int) -> Iterator[tuple[frozenset[Dim], Ints]]:
        """The dimensions of loops that an operand is fetched inside of, with the rows of the mappings where it is."""
        for choice, (depth, _) in enumerate(self._held[operand]):
            yield frozenset(self._order[:depth]), np.nonzero(self._choices[operand] == choice)[0]

    def nest(self, row: int) -> Nest:
        """One of them."""
        costs = self._structures.costs
        sizes = dict(zip(TILED, self._structures.tiles[self.tile[row]].tolist(), strict=True))
        loops = tuple(Loop(dim, sizes[dim], costs.extents[dim]) for dim in self._order)
        held = [ways[int(choice[row])] for ways, choice in zip(self._held, self._choices, strict=True)]
        placements = tuple(
            Placement(operand.name, costs.pricing.memory.name, depth, buffers)
            for operand, (depth, buffers) in zip(costs.pricing.operands, held, strict=True)
        )
        return Nest(loops, placements)


class TilingCosts(Protocol):
    """Lower bounds of what tilings cost: `Floors`."""

    def compute(self, tiles: Ints) -> Floats:
        """Cycles of all kernel calls, without `launch`."""
        ...

    def sums(self, operand: int, dims: frozenset[Dim], tiles: Ints) -> Sums:
        """Of the blocks of an operand that is cut along `dims`."""
        ...


MayWin = Callable[[Floats, Floats], Flags]
"""Which mappings may be wanted, from lower bounds of their cycles and their bytes; one that rises with either."""


class _Stream(NamedTuple):
    """An operand's blocks when it is held in some way; arrays over tiles, or over ways and tiles.

    need: bytes of memory. sums: bytes of partial sums beside them. moved: bytes. transfer: DMA cycles. exposed: those
    beside which no kernel runs, `last` left out. first: those of the blocks before the first kernel. last: those of the
    write-back behind the last kernel. issues: transfers, without those that may be programmed before the first kernel.
    """

    need: Floats
    sums: Floats
    moved: Floats
    transfer: Floats
    exposed: Floats
    first: Floats
    last: Floats
    issues: Floats


_Streams = list[tuple[_Stream, Held]]


class _Blocks(NamedTuple):
    """An operand's blocks when it is cut in some way, once each: bytes of a buffer, costs, bytes moved."""

    size: Ints
    sums: Sums
    moved: Ints


class Structures:
    """The mappings of some tiles, shape (n, 4), that cut the dimensions `cut` and no other.

    Their bounds follow from `costs` or, with `floors`, from what is less: of transfers, and of kernels unless C is cut.
    """

    def __init__(self, costs: TileCosts, tiles: Ints, cut: tuple[Dim, ...], floors: TilingCosts | None = None) -> None:
        self.costs = costs
        self.tiles = tiles
        self._transfers = floors or costs
        self._cut = cut
        pricing = costs.pricing
        self._counts = costs.counts(tiles)
        kernels = costs.kernels if floors is None or Dim.C in cut else floors
        self.work = pricing.overhead + self._blocks(cut) * pricing.launch + kernels.compute(tiles)
        self._exact = self._transfers is costs
        priced = kernels is costs.kernels and not costs.packing
        self._tail = costs.kernels.last(tiles) if priced else np.zeros(len(tiles))
        self._room = pricing.memory.size - costs.scratch(tiles)
        self._streams: dict[tuple[int, frozenset[Dim], int], Floats] = {}
        self._known: dict[tuple[int, frozenset[Dim]], _Blocks] = {}

    def nests(self, may_win: MayWin | None = None) -> Iterator[Nests]:
        """All mappings that fit, or those of them that `may_win`, one loop order at a time."""
        for order in itertools.permutations(self._cut):
            held = [self._held(operand, order) for operand in self.costs.pricing.operands]
            if all(held):
                nests = self._combine(order, held, may_win)
                if nests is not None:
                    yield nests

    def _held(self, operand: Operand, order: tuple[Dim, ...]) -> tuple[tuple[int, int], ...]:
        """The depths and numbers of buffers that an operand may have in loops of this order."""
        depths = [0, *(depth for depth, dim in enumerate(order, 1) if dim in operand.dims)]
        outside = REDUCTIONS if operand.role is Role.OUTPUT else frozenset[Dim]()  # partial sums stay with their block
        return tuple(
            (depth, buffers)
            for depth in depths
            if (self.costs.packing or operand.indivisible_dims.isdisjoint(order[depth:]))
            and outside.isdisjoint(order[:depth])
            for buffers in ((1, 2) if depth else (1,))
        )

    def _blocks(self, dims: Collection[Dim], among: Iterable[Dim] = TILED) -> Ints:
        """How many iterations loops over `dims`, of those `among`, have."""
        return self.costs.repeats(self._counts, dims, among)

    def _stream(self, number: int, outer: frozenset[Dim], buffers: int) -> Floats:
        """Operand number `number`, its blocks fetched inside the loops `outer`: rows in the order of `_Stream`."""
        known = self._streams.get((number, outer, buffers))
        if known is None:
            operand = self.costs.pricing.operands[number]
            blocks = self._blocks_of(number, operand.dims & outer)
            others = [dim for dim in TILED if dim not in operand.dims]
            again, once = self._blocks(outer, others), self._blocks((), others)
            known = np.zeros((len(_Stream._fields), len(self.tiles)))
            stream = _Stream(*known)
            stream.need[:] = buffers * blocks.size
            stream.moved[:] = again * blocks.moved
            stream.transfer[:] = again * blocks.sums.transfer
            fetches = self._blocks(outer)
            if operand.role is Role.OUTPUT:
                stream.last[:] = once * blocks.sums.last
                stream.exposed[:] = stream.transfer - stream.last if buffers == 1 else 0.0
                stream.issues[:] = fetches
                sizes = {dim: self.tiles[:, TILED.index(dim)] for dim in operand.dims & outer}
                stream.sums[:] = self.costs.partial_sums(sizes, self.tiles[:, TILED.index(Dim.C)])
            else:
                stream.first[:] = once * blocks.sums.first
                stream.exposed[:] = stream.transfer if buffers == 1 else stream.first
                stream.issues[:] = fetches - buffers * self.costs.outer_blocks
            self._streams[number, outer, buffers] = known
        return known

    def _blocks_of(self, number: int, dims: frozenset[Dim]) -> _Blocks:
        known = self._known.get((number, dims))
        if known is None:
            size = self.costs.block(number, {dim: self.tiles[:, TILED.index(dim)] for dim in dims})
            sums = self._transfers.sums(number, dims, self.tiles)
            known = self._known[number, dims] = _Blocks(size, sums, self.costs.moved(number, dims, self.tiles))
        return known

    def _combine(
        self, order: tuple[Dim, ...], held: list[tuple[tuple[int, int], ...]], may_win: MayWin | None
    ) -> Nests | None:
        """The mappings of one loop order; None if none of them `may_win`."""
        pricing = self.costs.pricing
        ways = [
            np.stack([self._stream(number, frozenset(order[:depth]), buffers) for depth, buffers in choices], 1)
            for number, choices in enumerate(held)
        ]
        apart: list[_Stream] = []  # each operand's along an axis of its own
        for number, figures in enumerate(ways):
            shape = [figures.shape[1] if n == number else 1 for n in range(len(held))]
            apart.append(_Stream(*figures.reshape(len(figures), *shape, -1)))
        needs = [stream.need.astype(np.int64) for stream in apart]
        fits = self.costs.rooms.fit(needs, self._room - total(stream.sums.astype(np.int64) for stream in apart))
        if may_win is not None:
            fits = fits & may_win(self._least(apart), total(stream.moved for stream in apart))
            if not fits.any():
                return None
        *choices, tile = np.nonzero(fits)
        held_ways = [np.array(ways)[choice] for ways, choice in zip(held, choices, strict=True)]
        streams = [
            (_Stream(*figures[:, choice, tile]), Held(way[:, 0], way[:, 1] == 2))
            for figures, choice, way in zip(ways, choices, held_ways, strict=True)
        ]
        outputs = [operand.role is Role.OUTPUT for operand in pricing.operands]
        inputs = [stream for stream, is_output in zip(streams, outputs, strict=True) if not is_output]
        written = [stream for stream, is_output in zip(streams, outputs, strict=True) if is_output]
        fetched = total(stream.transfer for stream, _ in inputs)
        transfer = fetched + total(stream.transfer for stream, _ in written)
        begun = pricing.issue * self.costs.outer_blocks if inputs else 0.0
        last = total(stream.last for stream, _ in written)
        fixed = self.work[tile] + pricing.issue * total(stream.issues for stream, _ in written) + last
        if pricing.overlap:
            core = fixed + np.maximum(self._waits(inputs, written, begun), self._queued_waits(inputs, written, begun))
            for stream, _ in inputs:  # the core issues a fetch when the one before has arrived
                fetched = np.maximum(fetched, stream.transfer + pricing.issue * stream.issues)
            fetched = pricing.overhead + begun + fetched + last + np.zeros(len(tile))
            dma = np.maximum(pricing.overhead + begun + transfer, fetched + self._tail[tile])
        else:
            issues = pricing.issue * total(stream.issues for stream, _ in inputs)
            core = fixed + begun + issues + transfer - last
            dma = fetched = np.zeros(len(tile))
        moved = total(stream.moved for stream, _ in streams) + np.zeros(len(tile))
        expected = np.maximum(core, dma)
        least = self.work[tile] if pricing.has_latency else expected
        return Nests(least, expected, core, dma, fetched, moved, tile, self, order, tuple(held), tuple(choices))

    def _least(self, streams: list[_Stream]) -> Floats:
        """At most `Nests.cycles`: what is a sum of figures of each operand by itself."""
        pricing = self.costs.pricing
        if pricing.has_latency:
            return self.work
        outputs = [operand.role is Role.OUTPUT for operand in pricing.operands]
        begun = 0.0 if all(outputs) else pricing.issue * self.costs.outer_blocks
        transfer = total(stream.transfer for stream in streams)
        issues = pricing.issue * total(stream.issues for stream in streams)
        if not pricing.overlap:
            return self.work + begun + issues + transfer
        last = total(stream.last for stream in streams)  # 0 for inputs
        waits = total(
            stream.exposed + pricing.issue * stream.issues if out else stream.exposed
            for out, stream in zip(outputs, streams, strict=True)
        )
        core = self.work + begun + last + np.maximum(waits, issues)
        return np.maximum(core, pricing.overhead + begun + transfer)

    def _waits(self, inputs: _Streams, written: _Streams, begun: float) -> Floats:
        """Cycles in which no kernel runs, but for the last write-back: each operand's own, and to issue transfers."""
        issue, held = self.costs.pricing.issue, [held for _, held in inputs]
        idle: Floats | float = begun
        if self.costs.outer is None and inputs:
            first = [stream.first for stream, _ in inputs]
            idle = idle_before_first_kernel(held, first, issue) if self._exact else least_idle(held, issue)
        # While the core waits for a write-back, it can issue transfers.
        waits = total(stream.exposed for stream, _ in written)
        issues = issue * total(stream.issues for stream, _ in inputs)
        return idle + total(stream.exposed for stream, _ in inputs) + np.maximum(waits, issues)

    def _queued_waits(self, inputs: _Streams, written: _Streams, begun: float) -> Floats:
        """The same, where transfers are also waited for because a block is queued behind them.

        While the core waits for one of those, it can issue one of what is behind it.
        """
        held = [held for _, held in inputs]
        core, waits, issues = np.array(begun), np.zeros(()), np.zeros(())
        for place, (stream, how) in enumerate(inputs):
            behind = queued(how, place, held)
            core = core + np.where(behind, stream.transfer, stream.exposed)
            issues = issues + np.where(behind, 0.0, stream.issues)
        for stream, how in written:
            waits = waits + np.where(written_in_full(how, held), stream.transfer - stream.last, stream.exposed)
        return core + np.maximum(waits, self.costs.pricing.issue * issues)
