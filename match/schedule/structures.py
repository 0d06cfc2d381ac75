"""Every mapping with given tiles: loop orders, placements and buffers, each with a lower bound of its latency.

For tiles that cut the same dimensions, the mappings of one loop order are arrays: an axis for each operand's choice of depth and
buffers, and a last one for the tiles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from match.cost import CostModel
from match.layer import Dim, Layer, Operand, Role
from match.schedule.blocks import largest_tile
from match.schedule.mapping import Loop, Memory, Placement, Schedule
from match.schedule.tiles import TILED, Floats, Ints, TileCosts


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
    """The mappings of one loop order that fit: lower bounds of `cycles` and exact bytes `moved`, shape (n,)."""

    cycles: Floats
    moved: Floats
    _structures: Structures
    _order: tuple[Dim, ...]
    _held: tuple[tuple[tuple[int, int], ...], ...]
    _rows: tuple[Ints, ...]

    def nest(self, row: int) -> Nest:
        """One of them."""
        *choices, tile = (int(index[row]) for index in self._rows)
        costs = self._structures.costs
        sizes = dict(zip(TILED, self._structures.tiles[tile].tolist(), strict=True))
        loops = tuple(Loop(dim, sizes[dim], costs.extents[dim]) for dim in self._order)
        memory = costs.pricing.memory.name
        placements = tuple(
            Placement(operand.name, memory, *held[choice])
            for operand, held, choice in zip(costs.pricing.operands, self._held, choices, strict=True)
        )
        return Nest(loops, placements)


@dataclass(frozen=True)
class _Stream:
    """An operand's blocks when it is held in some ways: arrays of shape (ways, tiles).

    need: bytes of memory. moved: bytes. transfer: DMA cycles. exposed: those beside which no kernel runs, `last` left out; last: of
    the write-back behind the last kernel. issues: transfers that are programmed neither before the first kernel nor beside one.
    """

    held: tuple[tuple[int, int], ...]
    need: Floats
    moved: Floats
    transfer: Floats
    exposed: Floats
    last: Floats
    issues: Floats


class Structures:
    """The mappings of some tiles, shape (n, 3), that cut the dimensions `cut` and no other."""

    def __init__(self, costs: TileCosts, tiles: Ints, cut: tuple[Dim, ...]) -> None:
        self.costs = costs
        self.tiles = tiles
        self._cut = cut
        pricing = costs.pricing
        self._list: list[tuple[int, ...]] = [tuple(tile) for tile in tiles.tolist()]
        self._counts = {dim: -(-costs.extents[dim] // tiles[:, TILED.index(dim)]) for dim in cut}
        compute = np.array([costs.compute(tile) for tile in self._list])
        self._work = pricing.overhead + self._calls(cut) * pricing.launch + compute
        self._room = pricing.memory.size - np.array([costs.scratch(tile) for tile in self._list])
        self._blocks: dict[tuple[int, frozenset[Dim]], Floats] = {}
        self._sizes = dict(zip(TILED, tiles.T, strict=True))

    def nests(self) -> Iterator[Nests]:
        """All mappings that fit, one loop order at a time."""
        for order in itertools.permutations(self._cut):
            streams = [self._stream(number, order) for number in range(len(self.costs.pricing.operands))]
            if all(stream.held for stream in streams):
                yield self._combine(order, streams)

    def _calls(self, dims: Iterable[Dim]) -> Ints:
        return math.prod((self._counts[dim] for dim in dims), start=np.ones(len(self.tiles), np.int64))

    def _stream(self, number: int, order: tuple[Dim, ...]) -> _Stream:
        operand = self.costs.pricing.operands[number]
        depths = [0] + [n + 1 for n, dim in enumerate(order) if dim in operand.dims]
        held = tuple(
            (depth, buffers)
            for depth in depths
            if operand.indivisible_dims.isdisjoint(order[depth:])
            for buffers in ((1, 2) if depth else (1,))
        )
        ways = [self._way(number, order[:depth], buffers) for depth, buffers in held]
        return _Stream(held, *np.stack(ways, axis=1)) if ways else _Stream((), *np.zeros((6, 0, len(self.tiles))))

    def _way(self, number: int, outer: tuple[Dim, ...], buffers: int) -> Floats:
        """The rows of `_Stream` for an operand whose blocks are fetched inside the loops `outer`."""
        operand = self.costs.pricing.operands[number]
        dims = operand.dims.intersection(outer)
        size, moved, transfer, first, last = self._block(number, dims)
        again = self._calls(dim for dim in outer if dim not in dims)
        issues = (again * self._calls(dims)).astype(np.float64)
        transfer = again * transfer
        if operand.role is Role.OUTPUT:
            exposed = transfer - last if buffers == 1 else np.zeros_like(transfer)
        else:
            exposed = transfer if buffers == 1 else first
            issues -= buffers
            last = np.zeros_like(transfer)
        return np.stack([buffers * size, again * moved, transfer, exposed, last, issues])

    def _block(self, number: int, dims: frozenset[Dim]) -> Floats:
        """For an operand cut along `dims`: bytes of a block, of all, DMA cycles of all, of the first and the last."""
        known = self._blocks.get((number, dims))
        if known is None:
            tiles = [
                tuple(
                    [
                        size if dim in dims else whole
                        for dim, size, whole in zip(TILED, tile, self.costs.whole, strict=True)
                    ]
                )
                for tile in self._list
            ]
            totals = [self.costs.totals(number, tile) for tile in tiles]
            sums = np.array([(each.moved, each.transfer, each.first, each.last) for each in totals], np.float64)
            block = self.costs.blocks(number, {dim: self._sizes[dim] for dim in dims})
            known = np.vstack([np.broadcast_to(block, len(tiles)), sums.T])
            self._blocks[number, dims] = known
        return known

    def _combine(self, order: tuple[Dim, ...], streams: list[_Stream]) -> Nests:
        pricing = self.costs.pricing
        output = [operand.role is Role.OUTPUT for operand in pricing.operands]

        def spread(number: int, field: Floats) -> Floats:
            shape = [1] * len(streams) + [len(self.tiles)]
            shape[number] = len(field)
            return field.reshape(shape)

        def total(fields: Iterable[Floats], out: tuple[bool, ...] = (False, True)) -> Floats:
            numbered = zip(range(len(streams)), fields, output, strict=True)
            return sum((spread(n, field) for n, field, is_out in numbered if is_out in out), start=np.zeros(()))

        transfer = total(stream.transfer for stream in streams)
        issues = [stream.issues for stream in streams]
        if pricing.overlap:
            exposed = [stream.exposed for stream in streams]
            # While the core waits for a write-back, it can issue transfers.
            between = np.maximum(total(exposed, (True,)), pricing.issue * total(issues, (False,)))
            core = self._work + total(exposed, (False,)) + between + total(stream.last for stream in streams)
            core = core + pricing.issue * (1 + total(issues, (True,)))
            cycles = np.maximum(core, pricing.overhead + pricing.issue + transfer)
        else:
            cycles = self._work + pricing.issue * total(issues) + transfer
        rows = np.nonzero(total(stream.need for stream in streams) <= self._room)
        moved = total(stream.moved for stream in streams)
        shape = np.broadcast_shapes(cycles.shape, moved.shape)
        return Nests(
            np.broadcast_to(cycles, shape)[rows],
            np.broadcast_to(moved, shape)[rows],
            self,
            order,
            tuple(stream.held for stream in streams),
            rows,
        )
