"""What all blocks of an operand cost together when they are moved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from match.ir.layer import Axis, Dim, Role
from match.schedule.blocks import axis_length, axis_lengths, touched_lengths
from match.schedule.combined import Combined
from match.schedule.kinds import Along, Tiles
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
        operand, axes = pricing.operands[number], pricing.axes[number]
        self._outer = outer
        self._padded = padded
        self._written = operand.role is Role.OUTPUT
        cut = [(n, dim) for n, dim in enumerate(along) if dim in operand.dims]
        self._places = [n for n, _ in cut]
        positions = [[p for p, axis in enumerate(axes) if axis.dim is dim] for _, dim in cut]
        sizes = [pricing.layer.size(axis.dim) for axis in axes]
        whole = [axis_length(operand, axis, (0, size), size) for axis, size in zip(axes, sizes, strict=True)]
        length_at, limit_at = (list(range(len(axes))) for _ in range(2))
        end = len(axes)
        for own in positions:  # behind the lengths of the whole come looks, dimension by dimension
            for places in (length_at, limit_at) if outer else (length_at,):
                for position in own:
                    places[position] = end
                    end += 1
        kinds = [
            along[dim].kinds(
                (operand.name, outer, padded), partial(self._lengths, [axes[p] for p in own]), at_last=self._written
            )
            for (_, dim), own in zip(cut, positions, strict=True)
        ]
        self._moves = Combined(
            kinds, partial(_transfers, pricing, number, whole, length_at, limit_at if outer else None)
        )
        self._asked: list[tuple[Ints, Sums]] = []

    def sums(self, tiles: Ints) -> Sums:
        """Of tilings with these tiles, which are whole along the dimensions that the operand is not cut along."""
        sizes = tiles[:, self._places]
        (transfer, ends), nothing = self._moves.both(sizes), np.zeros(len(tiles))
        result = Sums(transfer, nothing, ends) if self._written else Sums(transfer, ends, nothing)
        self._asked.append((tiles, result))
        return result

    def asked(self, tiles: Ints) -> tuple[Ints, Sums]:
        """`tiles` and all that `sums` was asked for, with what it says of them."""
        self.sums(tiles)
        every, sums = zip(*self._asked, strict=True)
        return np.concatenate(every), Sums(*map(np.concatenate, zip(*sums, strict=True)))

    def _lengths(self, axes: Sequence[Axis], tiles: Tiles) -> list[Ints]:
        """Elements along axes of one dimension of a tile's block, and of the outer block where it lies in one."""
        if self._padded:
            return [axis_lengths(axis, tiles.full) for axis in axes]
        within = touched_lengths(axes, tiles.begin, tiles.extent) if self._outer else []
        return touched_lengths(axes, tiles.start, tiles.size) + within


def _transfers(
    pricing: Pricing,
    number: int,
    whole: Sequence[int],
    length_at: Sequence[int],
    limit_at: Sequence[int] | None,
    looks: Ints,
) -> Floats:
    """DMA cycles of blocks of an operand whose lengths along the dimensions are rows of looks, one behind the other.

    Behind those of the `whole`, the lengths along its axes are at `length_at`, and those of its array at `limit_at`.
    """
    parts = np.concatenate([np.broadcast_to(whole, (len(looks), len(whole))), looks], axis=1)
    return pricing.transfers(number, parts[:, length_at], None if limit_at is None else parts[:, limit_at])
