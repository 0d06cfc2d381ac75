"""Windows that slide over maps (N, H, W, C), in NumPy and as layers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.graph.layers import NO_PADDING
from match.graph.operator import Array, Known
from match.ir.graph import Tensor
from match.ir.layer import Layer, Op, Padding


def outputs(
    extents: tuple[int, int],
    window: tuple[int, int],
    strides: tuple[int, int],
    padding: Padding = NO_PADDING,
    dilation: tuple[int, int] = (1, 1),
) -> tuple[int, int]:
    """How many windows of a map of so many rows and columns lie inside it and its padding, along both axes."""
    added = padding.top + padding.bottom, padding.left + padding.right
    rows, columns = (
        (extent + more - (size - 1) * hole - 1) // step + 1
        for extent, more, size, step, hole in zip(extents, added, window, strides, dilation, strict=True)
    )
    return rows, columns


def padded(x: Array, padding: Padding, value: int | float) -> Array:
    """A map with its padding."""
    sides = (0, 0), (padding.top, padding.bottom), (padding.left, padding.right), (0, 0)
    return np.pad(x, sides, constant_values=value) if any(padding) else x


def taken(x: Array, place: tuple[int, int], counts: tuple[int, int], strides: tuple[int, int]) -> Array:
    """The elements of a map, with its padding, that all windows have at one place, shape (N, rows, columns, C)."""
    (row, column), (rows, columns), (down, across) = place, counts, strides
    return x[:, row : row + (rows - 1) * down + 1 : down, column : column + (columns - 1) * across + 1 : across]


def windowed(
    op: Op,
    x: Known,
    result: Tensor,
    window: tuple[int, int],
    strides: tuple[int, int],
    dilation: tuple[int, int] = (1, 1),
    padding: Padding = NO_PADDING,
) -> Layer:
    """A channelwise layer that slides a window over a map; padding that no window reaches is dropped."""
    _, iy, ix, _ = x.shape
    _, oy, ox, k = result.shape
    layer = Layer(
        name=op.value,
        op=op,
        k=k,
        c=1,
        oy=oy,
        ox=ox,
        iy=iy,
        ix=ix,
        fy=window[0],
        fx=window[1],
        stride=strides,
        dilation=dilation,
        input_dtype=x.dtype,
        weight_dtype="",
        output_dtype=result.dtype,
    )
    rows, columns = layer.window
    bottom = max(0, (oy - 1) * strides[0] + rows - padding.top - iy)
    right = max(0, (ox - 1) * strides[1] + columns - padding.left - ix)
    return replace(layer, padding=Padding(padding.top, padding.left, bottom, right))


def not_one_map(x: Known) -> str:
    """Why a layer of several maps is none."""
    return f"its input has shape {x.shape}, not (1, rows, columns, channels)"
