"""Every mapping with given tiles: loop orders, placements and buffers, each with a lower bound of its latency.

What an operand costs follows from the loops that its blocks are fetched inside of, in whatever order these are: that is
computed once, for all tiles. For tiles that cut the same dimensions, the mappings of one loop order are arrays: an axis
for each operand's choice of depth and buffers, and a last one for the tiles. Where bounds will do, orders in which all
operands are fetched inside of the same loops are one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from match.cost import CostModel
from match.layer import Dim, Layer, Operand, Role
from match.schedule.blocks import largest_tile
from match.schedule.cut_operands import TransferCosts, cut_operand
from match.schedule.mapping import Loop, Memory, Placement, Schedule
from match.schedule.residencies import AllResidencies, Residencies, Way, held_in, ways_in
from match.schedule.rooms import Flags, Floats, Ints
from match.schedule.tiles import TILED, TileCosts, total
from match.schedule.waits import Held, Stream, Streams, Waits, idle_before_first_kernel, least_idle

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
    """The mappings of one loop order that fit; arrays of shape (n,).

    cycles: lower bounds of their latencies. expected: cycles near their latencies, a lower bound of them unless the
    cost model has its own: the larger of `core` and `dma`. tile: rows of their tiles. order: the dimensions of their
    loops, outermost first.
    """

    cycles: Floats
    expected: Floats
    tile: Ints
    order: tuple[Dim, ...]
    _structures: Structures
    _held: tuple[tuple[tuple[int, int], ...], ...]
    _choices: tuple[Ints, ...]

    def nest(self, row: int) -> Nest:
        """One of them."""
        costs = self._structures.costs
        sizes = dict(zip(TILED, self._structures.tiles[self.tile[row]].tolist(), strict=True))
        loops = tuple(Loop(dim, sizes[dim], costs.extents[dim]) for dim in self.order)
        held = [ways[int(choice[row])] for ways, choice in zip(self._held, self._choices, strict=True)]
        placements = tuple(
            Placement(operand.name, costs.pricing.memory.name, depth, buffers)
            for operand, (depth, buffers) in zip(costs.pricing.operands, held, strict=True)
        )
        return Nest(loops, placements)


class TilingCosts(TransferCosts, Protocol):
    """Lower bounds of what tilings cost: `Floors`."""

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


class Structures:
    """The mappings of some tiles, shape (n, 4).

    Their bounds follow from `costs` or, with `floors`, from what is less: of transfers, and of kernels unless C is cut.
    """

    def __init__(self, costs: TileCosts, tiles: Ints, floors: TilingCosts | None = None) -> None:
        self.costs = costs
        self.tiles = tiles
        self._transfers = floors or costs
        self._exact = floors is None
        self._cut = tiles < np.array(costs.whole)
        pricing = costs.pricing
        self._counts = costs.counts(tiles)
        kernels, self._tail = self._kernels(floors)
        self.work = pricing.overhead + self._counts.prod(axis=0) * pricing.launch + kernels
        self._room = pricing.memory.size - costs.scratch(tiles)
        cut = [dim for n, dim in enumerate(TILED) if self._cut[:, n].any()]
        self._ways = [{way: place for place, way in enumerate(ways_in(operand, cut))} for operand in pricing.operands]
        self._figures = [self._streams(number, list(ways)) for number, ways in enumerate(self._ways)]

    def nests(self, may_win: MayWin | None = None) -> Iterator[Nests]:
        """All mappings that fit, or those of them that `may_win`, by the dimensions they cut and by loop order."""
        for dims, rows in self._patterns():
            for order in itertools.permutations(dims):
                held = [held_in(operand, order, self.costs.packing > 0) for operand in self.costs.pricing.operands]
                if all(held):
                    nests = self._combine(rows, order, held, may_win)
                    if nests is not None:
                        yield nests

    def bounds(self, residencies: AllResidencies) -> Iterator[Bounds]:
        """All residencies of the tiles, some tiles that cut the same dimensions at a time."""
        for dims, rows in self._patterns():
            some = residencies.over(dims)
            places = [
                np.array([known[way] for way in ways], np.int64)[:, None]
                for known, ways in zip(self._ways, some.ways, strict=True)
            ]
            size = max(1, PART // max(1, some.count))
            for begin in range(0, len(rows), size):
                yield self._bounds(rows[begin : begin + size], some, places)

    def _bounds(self, rows: Ints, residencies: Residencies, places: list[Ints]) -> Bounds:
        """In the residencies whose ways to hold each operand have these `places` in `_figures`."""
        needs: list[Ints] = []
        sums: list[Ints] = []
        for figures, place in zip(self._figures, places, strict=True):
            stream = Stream(*figures)
            needs.append(stream.need[place, rows].astype(np.int64))
            sums.append(stream.sums[place, rows].astype(np.int64))
        shape = residencies.count, len(rows)
        fits = np.broadcast_to(self.costs.rooms.fit(needs, self._room[rows] - total(sums)), shape)
        fitting = np.flatnonzero(fits.any(axis=1))
        streams = [
            (Stream(*figures[:, place[fitting], rows]), Held(held.depth[fitting], held.double[fitting]))
            for figures, place, held in zip(self._figures, places, residencies.held, strict=True)
        ]
        of = self._of(rows, streams)
        figures = (np.where(fits[fitting], figure, np.inf) for figure in (of.core, of.dma, of.fetched, of.moved))
        return Bounds(rows, residencies, fitting, Figures(*figures))

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
        cuts = list(dict.fromkeys(dims & operand.dims for dims in loops))
        which = [cuts.index(dims & operand.dims) for dims in loops]
        cut = cut_operand(costs, self._transfers, number, self.tiles, cuts)
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

    def _combine(
        self, rows: Ints, order: tuple[Dim, ...], held: list[tuple[tuple[int, int], ...]], may_win: MayWin | None
    ) -> Nests | None:
        """The mappings of one loop order, of the tiles in `rows`; None if none of them `may_win`."""
        pricing = self.costs.pricing
        ways: list[Floats] = []
        for places, figures, choices in zip(self._ways, self._figures, held, strict=True):
            chosen = [places[frozenset(order[:depth]), buffers] for depth, buffers in choices]
            ways.append(figures[:, np.array(chosen)[:, None], rows])
        apart: list[Stream] = []  # each operand's along an axis of its own
        for number, figures in enumerate(ways):
            shape = [figures.shape[1] if n == number else 1 for n in range(len(held))]
            apart.append(Stream(*figures.reshape(len(figures), *shape, -1)))
        needs = [stream.need.astype(np.int64) for stream in apart]
        fits = self.costs.rooms.fit(needs, self._room[rows] - total(stream.sums.astype(np.int64) for stream in apart))
        if may_win is not None:
            fits = fits & may_win(self._least(rows, apart), total(stream.moved for stream in apart))
            if not fits.any():
                return None
        *choices, place = np.nonzero(fits)
        tile = rows[place]
        held_ways = [np.array(ways)[choice] for ways, choice in zip(held, choices, strict=True)]
        streams = [
            (Stream(*figures[:, choice, place]), Held(way[:, 0], way[:, 1] == 2))
            for figures, choice, way in zip(ways, choices, held_ways, strict=True)
        ]
        of = self._of(tile, streams)
        expected = np.maximum(of.core, of.dma)
        least = self.work[tile] if pricing.has_latency else expected
        return Nests(
            of.core, of.dma, of.fetched, of.moved, least, expected, tile, order, self, tuple(held), tuple(choices)
        )

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
