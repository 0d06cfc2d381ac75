"""The arguments of cost models: the `Tile` of a kernel call and the `Block` of a transfer, from a mapping's spans.

A span is (start, extent) in iterations of a loop dimension. Everything here is in real integers: halos are counted,
borders are clipped, channels are rounded up where an operand's layout says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from match.ir.layer import Axis, Dim, Layer, Operand, Role, input_axes
from match.mapping.memory import Memory, align
from match.prediction.arrays import Ints
from match.target.cost import Block, Tile

Span = tuple[int, int]


def touched(axis: Axis, start: Ints, size: Ints) -> Ints:
    """The number of indices that tiles touch: the second value of `Axis.span`, for arrays."""
    begin = start * axis.stride - axis.before
    end = np.minimum(axis.limit, begin + (size - 1) * axis.stride + axis.window)
    return np.maximum(0, end - np.maximum(0, begin))


def round_up(sizes: Ints, multiple: int) -> Ints:
    """Each of `sizes` rounded up to a multiple."""
    return sizes if multiple == 1 else -(-sizes // multiple) * multiple


def axis_lengths(axis: Axis, sizes: Ints) -> Ints:
    """`Axis.length` of arrays."""
    return round_up(np.minimum(axis.limit, (sizes - 1) * axis.stride + axis.window), axis.multiple)


def touched_lengths(axes: Sequence[Axis], start: Ints, size: Ints) -> list[Ints]:
    """Elements along axes that tiles touch, in their layout."""
    return [round_up(touched(axis, start, size), axis.multiple) for axis in axes]


def reduction(layer: Layer, span: Span) -> tuple[int, bool, bool]:
    """Input channels of a kernel call and whether it begins and ends the reduction over them: `Tile`'s fields."""
    start, extent = span
    return extent, start == 0, start + extent == layer.c


def tile_of(layer: Layer, spans: Mapping[Dim, Span]) -> Tile:
    """The kernel call that computes `spans`; its input pixels are those inside the tensor."""
    rows, columns = input_axes(layer)
    oy, ox = spans[Dim.OY], spans[Dim.OX]
    iy, ix = rows.span(*oy)[1], columns.span(*ox)[1]
    c, begin, end = reduction(layer, spans[Dim.C])
    return Tile(spans[Dim.K][1], c, oy[1], ox[1], iy, ix, spans[Dim.FY][1], spans[Dim.FX][1], begin, end)


def largest_tile(layer: Layer, extents: Mapping[Dim, int]) -> Tile:
    """Upper bounds of what `tile_of` gives for any spans of `extents`."""
    rows, columns = input_axes(layer)
    oy, ox = extents[Dim.OY], extents[Dim.OX]
    iy, ix = rows.length(oy), columns.length(ox)
    return Tile(extents[Dim.K], extents[Dim.C], oy, ox, iy, ix, extents[Dim.FY], extents[Dim.FX])


def axes_of(operand: Operand) -> tuple[Axis, ...]:
    """The axes of all components, one component after the other."""
    return tuple(axis for component in operand.components for axis in component.axes)


def axis_length(operand: Operand, axis: Axis, span: Span, extent: int) -> int:
    """Elements along an axis of the block that covers `span`, one of the blocks of at most `extent` iterations.

    Constants are stored block by block, each as long as the largest.
    """
    if operand.role is Role.CONSTANT:
        return axis.length(extent)
    return align(axis.span(*span)[1], axis.multiple)


def array_limits(operand: Operand) -> tuple[int, ...]:
    """Elements along `axes_of(operand)` of the whole tensor, as it lies in memory."""
    return tuple(axis.room for axis in axes_of(operand))


def block_of_lengths(
    operand: Operand, lengths: Sequence[int], memory: Memory, limits: Sequence[int] | None = None
) -> Block:
    """The transfer, into `memory` or out of it, of a block with these elements along `axes_of(operand)`.

    The components of constants are aligned and stored as one contiguous piece; others lie in a dense array of `limits`,
    by default the tensor's.
    """
    shape = tuple(lengths[: len(operand.components[0].axes)])
    if operand.role is Role.CONSTANT:
        size = int(constant_bytes(operand, lengths, memory.alignment))
        return Block(operand.name, shape, size, 1, 1, memory.name)
    chunks, series = pieces(shape, (limits or array_limits(operand))[: len(shape)])
    return Block(
        operand.name, shape, operand.components[0].element_bytes * math.prod(shape), chunks, series, memory.name
    )


def blocks_of_lengths(
    operand: Operand, lengths: Sequence[Ints], memory: Memory, limits: Sequence[Ints] | None = None
) -> Block:
    """`block_of_lengths` of arrays that broadcast: a `Block` whose numbers are arrays."""
    shape: tuple[Any, ...] = tuple(lengths[: len(operand.components[0].axes)])
    one: Any = np.ones((), np.int64)
    if operand.role is Role.CONSTANT:
        size: Any = constant_bytes(operand, lengths, memory.alignment)
        return Block(operand.name, shape, size, one, one, memory.name)
    within = [np.array(limit) for limit in array_limits(operand)] if limits is None else limits
    chunks: tuple[Any, Any] = pieces_of_arrays(shape, within[: len(shape)])
    size = operand.components[0].element_bytes * math.prod(shape, start=one)
    return Block(operand.name, shape, size, *chunks, memory.name)


def constant_bytes(operand: Operand, lengths: Sequence[Any], alignment: int) -> Any:
    """Bytes of a block of constants with these elements along `axes_of(operand)`, numbers or arrays of them."""
    size, position = 0, 0
    for component in operand.components:
        end = position + len(component.axes)
        size = size + align(component.element_bytes * math.prod(lengths[position:end]), alignment)
        position = end
    return size


def block_of(operand: Operand, spans: Mapping[Dim, Span], extents: Mapping[Dim, int], memory: Memory) -> Block:
    """The transfer of an operand's block that covers `spans`, one of the blocks of at most `extents`."""
    lengths = [axis_length(operand, axis, spans[axis.dim], extents[axis.dim]) for axis in axes_of(operand)]
    return block_of_lengths(operand, lengths, memory)


def pieces(shape: Sequence[int], limits: Sequence[int]) -> tuple[int, int]:
    """The contiguous pieces of a block of `shape` in a dense array of `limits`, both slowest axis first.

    Returns the number of pieces, and the number of groups of pieces at equal distances; zeros for an empty block.
    """
    if 0 in shape:
        return 0, 0
    piece, stride = 1, 1  # elements of a contiguous piece; distance of neighbours along the current axis
    chunks, distance = 1, 0  # pieces in a group; their distance
    series = 1
    for extent, limit in zip(reversed(shape), reversed(limits), strict=True):
        if extent > 1:
            if chunks == 1 and stride == piece:
                piece *= extent
            elif series == 1 and (chunks == 1 or stride == chunks * distance):
                distance = distance if chunks > 1 else stride
                chunks *= extent
            else:
                series *= extent
        stride *= limit
    return chunks * series, series


def pieces_of_arrays(shape: Sequence[Ints], limits: Sequence[Ints]) -> tuple[Ints, Ints]:
    """`pieces` of arrays that broadcast."""
    one, zero = np.ones((), np.int64), np.zeros((), np.int64)
    piece, stride, chunks, distance, series = one, one, one, zero, one
    for extent, limit in zip(reversed(shape), reversed(limits), strict=True):
        several, first = extent > 1, chunks == 1
        joined = several & first & (stride == piece)
        spaced = several & ~joined & (series == 1) & (first | (stride == chunks * distance))
        piece = np.where(joined, piece * extent, piece)
        distance = np.where(spaced & first, stride, distance)
        series = np.where(several & ~joined & ~spaced, series * extent, series)
        chunks = np.where(spaced, chunks * extent, chunks)
        stride = stride * limit
    filled = np.logical_and.reduce([np.all(extent != 0) for extent in shape])
    if not filled:
        empty = sum(((extent == 0) for extent in shape), start=zero) > 0
        chunks, series = np.where(empty, 0, chunks), np.where(empty, 0, series)
    return chunks * series, series
