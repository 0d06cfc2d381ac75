"""Every mapping with given tiles: loop orders, placements and buffers, each with a lower bound of its latency.

What an operand costs follows from the loops that its blocks are fetched inside of, in whatever order these are: that is
computed once, for all tiles. So are the bounds of mappings: orders in which all operands are fetched inside of the same
loops, which is a residency, have the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from match.ir.layer import Dim, Layer, Operand, Role
from match.schedule.blocks import largest_tile
from match.schedule.cut_operands import TransferCosts, cut_operand
from match.schedule.mapping import Loop, Memory, Placement, Schedule
from match.schedule.residencies import AllResidencies, Residencies, Way, ways_in
from match.schedule.rooms import Flags, Floats, Ints
from match.schedule.tiles import TILED, TileCosts, subsets, total
from match.schedule.waits import Held, Stream, Streams, Waits, idle_before_first_kernel, least_idle
from match.target.cost import CostModel

PART = 1 << 14
"""Mappings that are bounded at a time, whatever the order of their loops: few enough for a processor's cache."""


@dataclass(frozen=True)
class Nest:
    """Loops and, in the order of the operands, placements of one mapping onto one memory."""

    loops: tuple[Loop, ...]
    placements: tuple[Placement, ...]

    def schedule(
        self, layer: Layer, operands: tuple[Operand, ...], memories: tuple[Memory, ...], cost_model: CostModel
    ) -> Schedule:
        """The checked mapping, with the scratch that `cost_model` asks for."""
        extents = layer.extents
        for loop in self.loops:
            extents[loop.dim] = loop.tile
        scratch = math.ceil(cost_model.scratch(layer, largest_tile(layer, extents)))
        return Schedule(layer, operands, memories, self.loops, self.placements, scratch)


@dataclass(frozen=True)
class Figures:
    """Lower bounds of mappings.

    core, dma: cycles, from what the core does and from what the DMA does. fetched: what of the DMA's part comes before
    the last kernel or behind it. moved: bytes.
    """

    core: Floats
    dma: Floats
    fetched: Floats
    moved: Floats


@dataclass(frozen=True)
class Nests(Figures):
    """Mappings that fit, those of a tile in one residency as one; arrays of shape (n,).

    cycles: lower bounds of their latencies. expected: cycles near their latencies, a lower bound of them unless the
    cost model has its own: the larger of `core` and `dma`. tile: rows of their tiles.
    """

    cycles: Floats
    expected: Floats
    tile: Ints
    _structures: Structures
    _residencies: Residencies
    _residency: Ints

    def orders(self, row: int) -> tuple[tuple[Dim, ...], ...]:
        """The orders of loops that a row stands for, outermost first."""
        return self._residencies.orders[int(self._residency[row])]

    def nest(self, row: int, order: tuple[Dim, ...]) -> Nest:
        """The mapping of a row in one of its orders."""
        costs = self._structures.costs
        sizes = dict(zip(TILED, self._structures.tiles[self.tile[row]].tolist(), strict=True))
        ways = self._residencies.ways_of(int(self._residency[row]))
        placements = tuple(
            Placement(operand.name, costs.pricing.memory.name, len(inside), buffers)
            for operand, (inside, buffers) in zip(costs.pricing.operands, ways, strict=True)
        )
        return Nest(tuple(Loop(dim, sizes[dim], costs.extents[dim]) for dim in order), placements)


class TilingCosts(TransferCosts, Protocol):
    """Lower bounds of what tilings cost: `Floors` and, of whole cells, `OuterCells`."""

    def compute(self, tiles: Ints) -> Floats:
        """Cycles of all kernel calls, without `launch`."""
        ...


MayWin = Callable[[Floats, Floats], Flags]
"""Which mappings may be wanted, from lower bounds of their cycles and their bytes; one that rises with either."""


class Bounds(NamedTuple):
    """Tiles that cut the same dimensions, by row, in the residencies in which the blocks of some of them fit.

    These are `fitting` ones. The figures are of shape (fitting, tiles), infinite where blocks do not fit.
    """

    rows: Ints
    residencies: Residencies
    fitting: Ints
    figures: Figures


class _Part(NamedTuple):
    """Tiles that cut the same dimensions, by row, in all residencies.

    places: by operand, rows of `Structures._figures` of each residency, shape (residencies, 1).
    """

    rows: Ints
    residencies: Residencies
    places: list[Ints]


class Structures:
    """The mappings of some tiles, shape (n, 4).

    Their bounds follow from `costs` or, with `floors`, from what is less: of transfers, and of kernels unless C is cut.
    """

    def __init__(
        self, costs: TileCosts, tiles: Ints, residencies: AllResidencies, floors: TilingCosts | None = None
    ) -> None:
        self.costs = costs
        self.tiles = tiles
        self._residencies = residencies
        self._transfers = floors or costs
        self._exact = floors is None
        self._cut = tiles < np.array(costs.whole)
        pricing = costs.pricing
        self._counts = costs.counts(tiles)
        kernels, self._tail = self._kernels(floors)
        self.work = pricing.overhead + self._counts.prod(axis=0) * pricing.launch + kernels
        self._room = pricing.memory.size - costs.scratch(tiles)
        cut = [dim for n, dim in enumerate(TILED) if self._cut[:, n].any()]
        ways = [ways_in(operand, cut) for operand in pricing.operands]
        self._ways = [{way: place for place, way in enumerate(some)} for some in ways]
        self._figures = [self._streams(number, some) for number, some in enumerate(ways)]

    def nests(self, may_win: MayWin | None = None) -> Iterator[Nests]:
        """All mappings that fit, or those of them that `may_win`, some tiles at a time."""
        for part in self._parts():
            nests = self._nests(part, may_win)
            if nests is not None:
                yield nests

    def bounds(self) -> Iterator[Bounds]:
        """All residencies, some tiles that cut the same dimensions at a time."""
        for part in self._parts():
            yield self._bounds(part)

    def _parts(self) -> Iterator[_Part]:
        for dims, rows in self._patterns():
            residencies = self._residencies.over(dims)
            places = [
                np.array([known[way] for way in ways], np.int64)[which]
                for known, ways, which in zip(self._ways, residencies.ways, residencies.which, strict=True)
            ]
            size = max(1, PART // max(1, len(residencies.orders)))
            for begin in range(0, len(rows), size):
                yield _Part(rows[begin : begin + size], residencies, places)

    def _fits(self, part: _Part) -> Flags:
        """Where the blocks of tiles fit, shape (residencies, rows)."""
        needs: list[Ints] = []
        sums: list[Ints] = []
        for figures, place in zip(self._figures, part.places, strict=True):
            stream = Stream(*figures)
            needs.append(stream.need[place, part.rows].astype(np.int64))
            sums.append(stream.sums[place, part.rows].astype(np.int64))
        shape = len(part.residencies.orders), len(part.rows)
        return np.broadcast_to(self.costs.rooms.fit(needs, self._room[part.rows] - total(sums)), shape)

    def _bounds(self, part: _Part) -> Bounds:
        (rows, residencies, places), fits = part, self._fits(part)
        fitting = np.flatnonzero(fits.any(axis=1))
        streams = [
            (Stream(*figures[:, place[fitting], rows]), Held(held.depth[fitting], held.double[fitting]))
            for figures, place, held in zip(self._figures, places, residencies.held, strict=True)
        ]
        of = self._of(rows, streams)
        figures = (np.where(fits[fitting], figure, np.inf) for figure in (of.core, of.dma, of.fetched, of.moved))
        return Bounds(rows, residencies, fitting, Figures(*figures))

    def _nests(self, part: _Part, may_win: MayWin | None) -> Nests | None:
        """Those that fit and `may_win`; None if there are none."""
        pricing, (rows, residencies, places) = self.costs.pricing, part
        residency, column = np.nonzero(self._fits(part))
        if may_win is not None:
            apart = self._apart(places, residency, rows[column])
            worth = may_win(self._least(rows[column], apart), total(stream.moved for stream in apart))
            residency, column = residency[worth], column[worth]
        if not len(residency):
            return None
        tile = rows[column]
        held = [Held(how.depth[residency, 0], how.double[residency, 0]) for how in residencies.held]
        of = self._of(tile, list(zip(self._apart(places, residency, tile), held, strict=True)))
        expected = np.maximum(of.core, of.dma)
        least = self.work[tile] if pricing.has_latency else expected
        return Nests(of.core, of.dma, of.fetched, of.moved, least, expected, tile, self, residencies, residency)

    def _apart(self, places: list[Ints], residency: Ints, tile: Ints) -> list[Stream]:
        """Each operand's blocks of tiles in a residency each."""
        return [
            Stream(*figures.reshape(len(figures), -1).take(place[residency, 0] * len(self.tiles) + tile, axis=1))
            for figures, place in zip(self._figures, places, strict=True)
        ]

    def _patterns(self) -> Iterator[tuple[tuple[Dim, ...], Ints]]:
        """The dimensions that tiles cut, with the rows of the tiles."""
        patterns = self._cut @ (1 << np.arange(len(TILED)))
        for pattern in np.unique(patterns).tolist():
            yield tuple(dim for n, dim in enumerate(TILED) if pattern >> n & 1), np.nonzero(patterns == pattern)[0]

    def _kernels(self, floors: TilingCosts | None) -> tuple[Floats, Floats]:
        """Cycles of all kernel calls, without `launch`.

        And of the last one in each outer block, with it; 0 where it has no price.
        """
        costs, tiles = self.costs, self.tiles
        launch = costs.pricing.launch * costs.outer_blocks
        if floors is None:
            last = np.zeros(len(tiles)) if costs.packing else launch + costs.kernels.last(tiles)
            return costs.kernels.compute(tiles), last
        kernels, tail = floors.compute(tiles), np.zeros(len(tiles))
        reduced = np.nonzero(self._cut[:, TILED.index(Dim.C)])[0]
        if len(reduced):
            kernels[reduced] = costs.kernels.compute(tiles[reduced])
            tail[reduced] = launch + costs.kernels.last(tiles[reduced])
        return kernels, tail

    def _streams(self, number: int, ways: list[Way]) -> Floats:
        """Operand number `number` in all its ways: `Stream`, shape (fields, ways, tiles)."""
        costs, operand = self.costs, self.costs.pricing.operands[number]
        others = [dim for dim in TILED if dim not in operand.dims]
        loops = [dims for dims, _ in ways]
        fetches, again = costs.iterations(self._counts, loops), costs.iterations(self._counts, loops, others)
        once = costs.iterations(costs.outer_counts[:, None], [()], others)
        # Ways inside the same loops of its own have the same blocks.
        own = [dim for dim in TILED if any(dim in dims for dims in loops) and dim in operand.dims]
        cuts = {frozenset(some): place for place, some in enumerate(subsets(own))}
        which = [cuts[dims & operand.dims] for dims in loops]
        cut = cut_operand(costs, self._transfers, number, self.tiles, own)
        block, partial, moved, transfer, first, last = (figures[which] for figures in cut)
        buffers = np.array([count for _, count in ways])[:, None]
        result = np.zeros((len(Stream._fields), len(ways), len(self.tiles)))
        stream = Stream(*result)
        stream.need[:] = buffers * block
        stream.sums[:] = partial
        stream.moved[:] = again * moved
        stream.transfer[:] = again * transfer
        if operand.role is Role.OUTPUT:
            stream.last[:] = once * last
            stream.exposed[:] = np.where(buffers == 1, stream.transfer - stream.last, 0.0)
            stream.issues[:] = fetches
        else:
            stream.first[:] = once * first
            stream.exposed[:] = np.where(buffers == 1, stream.transfer, stream.first)
            stream.issues[:] = fetches - buffers * costs.outer_blocks
        return result

    def _of(self, rows: Ints, streams: Streams) -> Figures:
        """Of mappings of the tiles in `rows`, the last axis of `streams`."""
        pricing = self.costs.pricing
        outputs = [operand.role is Role.OUTPUT for operand in pricing.operands]
        inputs = [stream for stream, is_output in zip(streams, outputs, strict=True) if not is_output]
        written = [stream for stream, is_output in zip(streams, outputs, strict=True) if is_output]
        nothing = np.zeros(np.broadcast_shapes(rows.shape, *(stream.transfer.shape for stream, _ in streams)))
        fetched = total(stream.transfer for stream, _ in inputs)
        transfer = fetched + total(stream.transfer for stream, _ in written)
        begun = pricing.issue * self.costs.outer_blocks if inputs else 0.0
        last = total(stream.last for stream, _ in written)
        fixed = self.work[rows] + pricing.issue * total(stream.issues for stream, _ in written) + last
        if pricing.overlap:
            waits = Waits(pricing.issue, self.costs.outer_blocks)
            own = self._idle(inputs, begun) + waits.own(inputs, written)
            core = fixed + np.maximum(own, begun + waits.queued(inputs, written))
            for place in range(len(inputs)):
                fetched = np.maximum(fetched, waits.chain(inputs, place))
            finish = last + pricing.issue * self.costs.outer_blocks * bool(written)
            fetched = pricing.overhead + begun + fetched + finish + nothing
            dma = np.maximum(pricing.overhead + begun + transfer, fetched + self._tail[rows])
        else:
            issues = pricing.issue * total(stream.issues for stream, _ in inputs)
            core = fixed + begun + issues + transfer - last
            dma = fetched = nothing
        moved = total(stream.moved for stream, _ in streams) + nothing
        return Figures(core, dma, fetched, moved)

    def _least(self, rows: Ints, streams: list[Stream]) -> Floats:
        """At most `Nests.cycles`: what is a sum of figures of each operand by itself."""
        pricing = self.costs.pricing
        if pricing.has_latency:
            return self.work[rows]
        outputs = [operand.role is Role.OUTPUT for operand in pricing.operands]
        begun = 0.0 if all(outputs) else pricing.issue * self.costs.outer_blocks
        transfer = total(stream.transfer for stream in streams)
        issues = pricing.issue * total(stream.issues for stream in streams)
        if not pricing.overlap:
            return self.work[rows] + begun + issues + transfer
        last = total(stream.last for stream in streams)  # 0 for inputs
        waits = total(
            stream.exposed + pricing.issue * stream.issues if out else stream.exposed
            for out, stream in zip(outputs, streams, strict=True)
        )
        core = self.work[rows] + begun + last + np.maximum(waits, issues)
        return np.maximum(core, pricing.overhead + begun + transfer)

    def _idle(self, inputs: Streams, begun: float) -> Floats | float:
        """Cycles before the first kernel in which the DMA is idle, or done with the first blocks."""
        if self.costs.outer is not None or not inputs:
            return begun
        held, issue = [held for _, held in inputs], self.costs.pricing.issue
        first = [stream.first for stream, _ in inputs]
        return idle_before_first_kernel(held, first, issue) if self._exact else least_idle(held, issue)
