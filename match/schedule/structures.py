"""Every mapping with given tiles: loop orders, placements and buffers, each with a lower bound of its latency.

For tiles that cut the same dimensions, the mappings of one loop order are arrays: an axis for each operand's choice
of depth and buffers, and a last one for the tiles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from match.cost import CostModel
from match.layer import Dim, Layer, Operand, Role
from match.schedule.blocks import largest_tile
from match.schedule.mapping import REDUCTIONS, Loop, Memory, Placement, Schedule
from match.schedule.rooms import Ints
from match.schedule.tiles import TILED, Floats, Sums, TileCosts, total


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
    cost model has its own: the larger of those from what the core and the DMA do, `core` and `dma`. moved: bytes.
    tile: rows of their tiles.
    """

    cycles: Floats
    expected: Floats
    core: Floats
    dma: Floats
    moved: Floats
    tile: Ints
    _structures: Structures
    _order: tuple[Dim, ...]
    _held: tuple[tuple[tuple[int, int], ...], ...]
    _choices: tuple[Ints, ...]

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
    """Costs of tilings: exact ones are `TileCosts`, lower bounds of them `Floors`."""

    def compute(self, tiles: Ints) -> Floats:
        """Cycles of all kernel calls, without `launch`."""
        ...

    def sums(self, operand: int, dims: frozenset[Dim], tiles: Ints) -> Sums:
        """Of the blocks of an operand that is cut along `dims`."""
        ...


class _Stream(NamedTuple):
    """An operand's blocks when it is held in some way; arrays over tiles, or over ways and tiles.

    need: bytes of memory. sums: bytes of partial sums beside them. moved: bytes. transfer: DMA cycles. exposed: those
    beside which no kernel runs, `last` left out. last: those of the write-back behind the last kernel. issues:
    transfers, without those that may be programmed before the first kernel.
    """

    need: Floats
    sums: Floats
    moved: Floats
    transfer: Floats
    exposed: Floats
    last: Floats
    issues: Floats


class Structures:
    """The mappings of some tiles, shape (n, 4), that cut the dimensions `cut` and no other.

    Their bounds follow from `figures`: those of `costs`, or cheaper and lower ones.
    """

    def __init__(self, costs: TileCosts, tiles: Ints, cut: tuple[Dim, ...], figures: TilingCosts | None = None) -> None:
        self.costs = costs
        self.tiles = tiles
        self._figures = figures or costs
        self._cut = cut
        pricing = costs.pricing
        self._counts = costs.counts(tiles)
        self.work = pricing.overhead + self._blocks(cut) * pricing.launch + self._figures.compute(tiles)
        self._room = pricing.memory.size - costs.scratch(tiles)
        self._streams: dict[tuple[int, frozenset[Dim], int], _Stream] = {}

    def nests(self) -> Iterator[Nests]:
        """All mappings that fit, one loop order at a time."""
        for order in itertools.permutations(self._cut):
            held = [self._held(operand, order) for operand in self.costs.pricing.operands]
            if all(held):
                yield self._combine(order, held)

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

    def _stream(self, number: int, outer: frozenset[Dim], buffers: int) -> _Stream:
        """Operand number `number`, its blocks fetched inside the loops `outer`."""
        known = self._streams.get((number, outer, buffers))
        if known is None:
            operand = self.costs.pricing.operands[number]
            dims = operand.dims & outer
            sizes = {dim: self.tiles[:, TILED.index(dim)] for dim in dims}
            need = buffers * self.costs.block(number, sizes)
            sums = self._figures.sums(number, dims, self.tiles)
            others = [dim for dim in TILED if dim not in operand.dims]
            again, once = self._blocks(outer, others), self._blocks((), others)
            moved = again * self.costs.moved(number, dims, self.tiles)
            transfer, fetches = again * sums.transfer, self._blocks(outer)
            first, last = once * sums.first, once * sums.last
            if operand.role is Role.OUTPUT:
                exposed = transfer - last if buffers == 1 else np.zeros(())
                partial = self.costs.partial_sums(sizes, self.tiles[:, TILED.index(Dim.C)])
                rows = (need, partial, moved, transfer, exposed, last, fetches)
            else:
                exposed = transfer if buffers == 1 else first
                issues = fetches - buffers * self.costs.outer_blocks
                rows = (need, np.zeros(()), moved, transfer, exposed, np.zeros(()), issues)
            known = self._streams[number, outer, buffers] = _Stream(*np.broadcast_arrays(*rows))
        return known

    def _combine(self, order: tuple[Dim, ...], held: list[tuple[tuple[int, int], ...]]) -> Nests:
        pricing = self.costs.pricing
        streams: list[_Stream] = []
        for number, ways in enumerate(held):
            stacked = np.array([self._stream(number, frozenset(order[:depth]), buffers) for depth, buffers in ways])
            shape = [len(ways) if n == number else 1 for n in range(len(held))]
            streams.append(_Stream(*(rows.reshape(*shape, -1) for rows in stacked.transpose(1, 0, 2))))
        outputs = [operand.role is Role.OUTPUT for operand in pricing.operands]
        inputs = [stream for stream, is_output in zip(streams, outputs, strict=True) if not is_output]
        written = [stream for stream, is_output in zip(streams, outputs, strict=True) if is_output]
        transfer = total(stream.transfer for stream in streams)
        issues = pricing.issue * total(stream.issues for stream in inputs)
        begun = pricing.issue * self.costs.outer_blocks if inputs else 0.0
        last = total(stream.last for stream in written)
        core = self.work + begun + pricing.issue * total(stream.issues for stream in written) + last
        if pricing.overlap:
            # While the core waits for a write-back, it can issue transfers.
            waits = total(stream.exposed for stream in written)
            core = core + total(stream.exposed for stream in inputs) + np.maximum(waits, issues)
            dma = pricing.overhead + begun + transfer
        else:
            core = core + issues + transfer - last
            dma = np.zeros(())
        room = self._room - total(stream.sums for stream in streams).astype(np.int64)
        fits = self.costs.rooms.fit([stream.need.astype(np.int64) for stream in streams], room)
        *choices, tile = np.nonzero(fits)
        moved = np.broadcast_to(total(stream.moved for stream in streams), fits.shape)
        core, dma = np.broadcast_to(core, fits.shape)[fits], np.broadcast_to(dma, fits.shape)[fits]
        expected = np.maximum(core, dma)
        least = self.work[tile] if pricing.has_latency else expected
        return Nests(least, expected, core, dma, moved[fits], tile, self, order, tuple(held), tuple(choices))
