"""What all blocks of an operand cost together when they are moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from match.layer import Axis, Dim, Role
from match.schedule.blocks import axis_length, axis_lengths, touched_lengths
from match.schedule.combined import Combined
from match.schedule.kinds import Along, Kinds, Look, Tiles
from match.schedule.pricing import Pricing
from match.schedule.rooms import Floats, Ints


class Sums(NamedTuple):
    """What all blocks of an operand that is cut in one way cost, once each; arrays over tiles.

    transfer: DMA cycles of all. first, last: DMA cycles of the block, or that of each outer block, at the end that no
    kernel hides: the first of an input, the last of an output; the other is 0.
    """

    transfer: Floats
    first: Floats
    last: Floats


class BlockCosts:
    """DMA cycles of the blocks of operand number `number`; tiles are rows of extents along `along`, shape (n, 4).

    With `outer`, blocks are parts of those that lie in the memory outside. With `padded`, each is as long as the
    largest: constants are stored so.
    """

    def __init__(self, pricing: Pricing, number: int, along: Mapping[Dim, Along], *, outer: bool, padded: bool) -> None:
        operand, self._axes = pricing.operands[number], pricing.axes[number]
        self._pricing = pricing
        self._number = number
        self._outer = outer
        self._padded = padded
        self._written = operand.role is Role.OUTPUT
        self._all = np.array([one.outer for one in along.values()])
        cut = [(n, dim) for n, dim in enumerate(along) if dim in operand.dims]
        self._places = [n for n, _ in cut]
        self._positions = [[p for p, axis in enumerate(self._axes) if axis.dim is dim] for _, dim in cut]
        sizes = [pricing.layer.size(axis.dim) for axis in self._axes]
        self._whole = [
            axis_length(operand, axis, (0, size), size) for axis, size in zip(self._axes, sizes, strict=True)
        ]
        self._every = self._combined([along[dim].every for _, dim in cut])
        self._ends = self._combined([along[dim].last if self._written else along[dim].first for _, dim in cut])

    def sums(self, tiles: Ints) -> Sums:
        """Of tilings with these tiles."""
        sizes = tiles[:, self._places]
        return self._sums(self._every.of(sizes), self._ends.of(sizes))

    def asked(self) -> tuple[Ints, Sums]:
        """All tiles that `sums` was asked about, whole where nothing is cut, and what it said of them."""
        sizes, transfer = self._every.asked()
        _, ends = self._ends.asked()
        tiles = np.tile(self._all, (len(sizes), 1))
        tiles[:, self._places] = sizes
        return tiles, self._sums(transfer, ends)

    def _sums(self, transfer: Floats, ends: Floats) -> Sums:
        nothing = np.zeros_like(transfer)
        return Sums(transfer, nothing, ends) if self._written else Sums(transfer, ends, nothing)

    def _combined(self, tiles: Sequence[Tiles]) -> Combined:
        axes = [[self._axes[position] for position in mine] for mine in self._positions]
        kinds = [Kinds(some, partial(self._lengths, mine)) for some, mine in zip(tiles, axes, strict=True)]
        return Combined(kinds, self._transfer)

    def _lengths(self, axes: Sequence[Axis], tiles: Tiles) -> list[Ints]:
        """Elements along axes of one dimension of a tile's block, and of the outer block where it lies in one."""
        if self._padded:
            return [axis_lengths(axis, tiles.full) for axis in axes]
        within = touched_lengths(axes, tiles.begin, tiles.extent) if self._outer else []
        return touched_lengths(axes, tiles.start, tiles.size) + within

    def _transfer(self, looks: Sequence[Look]) -> float:
        """DMA cycles of the block whose lengths along each dimension are a look."""
        lengths, limits = self._whole.copy(), self._whole.copy()
        for positions, look in zip(self._positions, looks, strict=True):
            for position, length in zip(positions, look, strict=False):
                lengths[position] = length
            for position, limit in zip(positions, look[len(positions) :], strict=False):
                limits[position] = limit
        within = tuple(limits) if self._outer else None
        return self._pricing.block(self._number, tuple(lengths), within).transfer
