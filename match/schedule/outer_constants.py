"""What constants take in an outer memory, where they are packed as a mapping onto the inner one wants them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from match.cost import Block
from match.layer import Dim, Role
from match.schedule.blocks import axis_length, block_of_lengths
from match.schedule.mapping import align, parts
from match.schedule.rooms import Flags, Floats, Ints
from match.schedule.structures import Nests
from match.schedule.tiles import TILED, Sizes, TileCosts
from match.schedule.two_memories import Held, TwoMemories


class Arrived(NamedTuple):
    """The constants of some mappings: DMA cycles to bring all, shape (n,), and in which ways they fit, (ways, n)."""

    cycles: Floats
    fits: Flags


class _Packed(NamedTuple):
    """The same of constants in inner blocks of some sizes."""

    cycles: float
    fits: tuple[bool, ...]


class Packing:
    """The constants of an outer tile, whose blocks are held in some `ways`.

    Each block in the outer memory has those of the inner one behind each other, each as long as the largest.
    """

    def __init__(self, parent: TwoMemories, tile: Sizes, ways: list[Held]) -> None:
        self._parent = parent
        self._tile = dict(zip(TILED, tile, strict=True))
        self._constants = [
            number
            for number, operand in enumerate(parent.operands)
            if operand.role is Role.CONSTANT and operand.name in parent.held
        ]
        self._dims = [[dim for dim in TILED if dim in parent.operands[n].dims] for n in self._constants]
        self._rooms = [self._room(way) for way in ways]
        self._known: dict[tuple[int, ...], _Packed] = {}

    def of_nests(self, nests: Nests, tiles: Ints) -> Arrived:
        """The constants of some mappings of inner `tiles`."""
        columns: list[Ints] = []
        for number, dims in zip(self._constants, self._dims, strict=True):
            for dim in dims:
                columns.append(np.full(len(nests.tile), self._tile[dim]))
                for inside, rows in nests.inside(number):
                    if dim in inside:
                        columns[-1][rows] = tiles[nests.tile[rows], TILED.index(dim)]
        return self._arrived(columns, len(nests.tile))

    def of_tiles(self, costs: TileCosts, tiles: Ints, room: Ints) -> list[Arrived]:
        """The constants of any mapping of inner `tiles`: in pieces or, where it has room for that, whole."""
        sizes = {dim: tiles[:, n] for n, dim in enumerate(TILED)}
        left = costs.rooms.left(costs.blocks(sizes), room)
        result: list[Arrived] = []
        for choice in itertools.product((True, False), repeat=sum(map(len, self._dims))):
            columns, fits, choices = list[Ints](), np.ones(len(tiles), np.bool_), iter(choice)
            for number, dims in zip(self._constants, self._dims, strict=True):
                cut = {dim for dim in dims if next(choices)}
                held = {dim: sizes[dim] if dim in cut else np.full(len(tiles), self._tile[dim]) for dim in dims}
                for dim in self._parent.operands[number].indivisible_dims & set(dims) - cut:
                    fits &= sizes[dim] == self._tile[dim]
                fits &= costs.block(number, held) <= left[number]
                columns += held.values()
            rows = np.nonzero(fits)[0]
            some = self._arrived([column[rows] for column in columns], len(rows))
            cycles, ways = np.full(len(tiles), math.inf), np.zeros((len(self._rooms), len(tiles)), np.bool_)
            cycles[rows], ways[:, rows] = some.cycles, some.fits
            result.append(Arrived(cycles, ways))
        return result

    def _arrived(self, columns: list[Ints], count: int) -> Arrived:
        """Of constants in inner blocks of sizes that have a column each."""
        kinds, which = np.unique(np.stack([np.zeros(count, np.int64), *columns], 1), axis=0, return_inverse=True)
        known = [self._packed(tuple(kind[1:])) for kind in kinds.tolist()]
        cycles = np.array([one.cycles for one in known], np.float64)
        fits = np.array([one.fits for one in known], np.bool_)
        which = which.reshape(-1)
        return Arrived(cycles[which], fits.reshape(len(known), len(self._rooms))[which].T)

    def _packed(self, sizes: tuple[int, ...]) -> _Packed:
        known = self._known.get(sizes)
        if known is None:
            left, inner = iter(sizes), list[dict[Dim, int]]()
            for dims in self._dims:
                inner.append({dim: next(left) for dim in dims})
            whole = self._parent.sizes
            blocks = [self._block(n, whole, one) for n, one in zip(self._constants, inner, strict=True)]
            cycles = sum(self._parent.pricing.transfer(block).transfer for block in blocks)
            sizes_of: dict[tuple[int, ...], int] = {}

            def bytes_of(n: int, extents: Mapping[Dim, int], one: Mapping[Dim, int]) -> int:
                key = n, *(extents[dim] for dim in one)
                if key not in sizes_of:
                    size = self._block(n, extents, one).bytes
                    sizes_of[key] = align(size, self._parent.memories[0].alignment)
                return sizes_of[key]

            fits = tuple(
                sum(
                    buffers * bytes_of(n, extents, one)
                    for n, one, (extents, buffers) in zip(self._constants, inner, held, strict=True)
                )
                <= room
                for room, held in self._rooms
            )
            known = self._known[sizes] = _Packed(cycles, fits)
        return known

    def _room(self, way: Held) -> tuple[float, list[tuple[dict[Dim, int], int]]]:
        """The bytes that a way leaves to constants, and the extents and number of the blocks that it has of each."""
        outer, costs = self._parent.memories[0], self._parent.costs
        room, constants = float(outer.size), dict[str, tuple[dict[Dim, int], int]]()
        nest = way.nest
        for number, (operand, placement) in enumerate(zip(costs.pricing.operands, nest.placements, strict=True)):
            extents = self._parent.sizes | {loop.dim: loop.tile for loop in nest.loops[: placement.depth]}
            if operand.role is Role.CONSTANT:
                constants[operand.name] = extents, placement.buffers
            else:
                sizes = {dim: np.array(extents[dim]) for dim in TILED}
                room -= placement.buffers * int(costs.block(number, sizes))
        if outer.private:  # not all is in the same room
            room = math.inf
        return room, [constants[self._parent.operands[n].name] for n in self._constants]

    def _block(self, number: int, extents: Mapping[Dim, int], inner: Mapping[Dim, int]) -> Block:
        """What is in the outer memory of a block of these extents, in inner blocks of the extents `inner`."""
        parent = self._parent
        operand = parent.operands[number]
        counts = {
            dim: parts(extents[dim], [self._tile[dim], size] if extents[dim] > self._tile[dim] else [size])
            for dim, size in inner.items()
        }
        held = {**extents, **inner}
        lengths = [axis_length(operand, axis, (0, 0), held[axis.dim]) for axis in parent.pricing.axes[number]]
        piece = block_of_lengths(operand, lengths, parent.memories[1])
        shape = tuple(
            length * counts.get(axis.dim, 1)
            for length, axis in zip(piece.shape, operand.components[0].axes, strict=True)
        )
        return Block(operand.name, shape, piece.bytes * math.prod(counts.values()), 1, memory=parent.memories[0].name)
