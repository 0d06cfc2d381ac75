"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR."""

from __future__ import annotations

import numpy as np
import tflite

from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import TfliteReader
from match.ir.requantization import Int64Array
from match.relay import relay

_ONE = 1 << 10
"""Positions and weights of bilinear interpolation are in steps of 1/1024 of a pixel."""


def nearest(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """RESIZE_NEAREST_NEIGHBOR: positions are computed in float32."""
    options = operator.options(tflite.ResizeNearestNeighborOptions)
    align, half = bool(options.AlignCorners()), bool(options.HalfPixelCenters())
    x = read.expr(operator)
    extents = zip(read.tensor(operator).shape[1:3], read.output(operator).shape[1:3], strict=True)
    for axis, (size, outputs) in enumerate(extents, start=1):
        scale = np.float32(size) / np.float32(outputs)
        if align and outputs > 1:
            scale = np.float32(size - 1) / np.float32(outputs - 1)
        positions = (np.arange(outputs).astype(np.float32) + np.float32(0.5 if half else 0)) * scale
        whole = np.floor(positions.astype(np.float64) + (0.5 if align else 0)).astype(np.int32)
        chosen = np.clip(whole, 0, size - 1)
        if not np.array_equal(chosen, np.arange(size)):
            x = relay.take(x, relay.const(chosen), axis=axis)
    return x


def bilinear(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """RESIZE_BILINEAR in integers: both axes are weighted, then the sum is rounded half away from zero, once."""
    options, output = operator.options(tflite.ResizeBilinearOptions), read.output(operator)
    read.input_quantization(operator)
    x = relay.cast(read.expr(operator), "int32")
    extents = list(zip(read.tensor(operator).shape[1:3], output.shape[1:3], strict=True))
    for axis in (2, 1):
        positions, first, second = _positions(
            *extents[axis - 1], align=bool(options.AlignCorners()), half=bool(options.HalfPixelCenters())
        )
        weight = (positions - _ONE * first).astype(np.int32).reshape(-1, *[1] * (3 - axis))
        lower, upper = (relay.take(x, relay.const(chosen.astype(np.int32)), axis=axis) for chosen in (first, second))
        x = relay.add(
            relay.multiply(lower, relay.const(np.int32(_ONE) - weight)), relay.multiply(upper, relay.const(weight))
        )
    negative = relay.right_shift(x, relay.const(31, "int32"))
    rounded = relay.add(relay.add(x, relay.const(1 << 19, "int32")), negative)
    return relay.cast(relay.right_shift(rounded, relay.const(20, "int32")), output.dtype)


def _positions(size: int, outputs: int, *, align: bool, half: bool) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Of each output its position on the input, and the pixels that lie below and above it; divisions truncate."""
    scale = (_ONE * size + outputs // 2) // outputs
    if align and outputs > 1:
        scale = (_ONE * (size - 1) + (outputs - 1) // 2) // (outputs - 1)
    positions = np.arange(outputs, dtype=np.int64) * scale
    if half:
        positions = positions + scale // 2 - _ONE // 2
    below = np.maximum(np.trunc(positions / _ONE).astype(np.int64), 0)
    above = np.minimum(np.trunc((positions + _ONE - 1) / _ONE).astype(np.int64), size - 1)
    return positions, below, above
