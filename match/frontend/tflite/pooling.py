"""AVERAGE_POOL_2D and MAX_POOL_2D."""

from __future__ import annotations

import numpy as np
import tflite

from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import TfliteReader
from match.frontend.tflite.windows import WindowAxis, axes_of
from match.relay import integer_form, relay


def _window(read: TfliteReader, operator: FileOperator) -> list[WindowAxis]:
    options = operator.options(tflite.Pool2DOptions)
    return axes_of(
        read.tensor(operator).shape,
        (options.FilterHeight(), options.FilterWidth()),
        (options.StrideH(), options.StrideW()),
        (1, 1),
        options.Padding(),
    )


def max_pool(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """MAX_POOL_2D."""
    rows, columns = _window(read, operator)
    pooled = relay.nn.max_pool2d(
        read.expr(operator),
        (rows.window, columns.window),
        (rows.stride, columns.stride),
        (1, 1),
        (rows.before, columns.before, rows.behind, columns.behind),
        "NHWC",
        "NHWC",
    )
    return _activated(read, operator, pooled)


def average_pool(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """AVERAGE_POOL_2D: of windows over the border the mean of what lies inside."""
    rows, columns = _window(read, operator)
    size, strides = (rows.window, columns.window), (rows.stride, columns.stride)
    x = relay.cast(read.expr(operator), "int32")
    if not any((rows.before, rows.behind, columns.before, columns.behind)):
        pooled = relay.nn.avg_pool2d(x, size, strides, layout="NHWC", out_layout="NHWC")
        return _activated(read, operator, relay.cast(pooled, read.output(operator).dtype))
    output = read.output_quantization(operator)
    padding = (rows.before, columns.before, rows.behind, columns.behind)
    # The mean of values multiplied by the window's size is their sum: no remainder is left.
    sums = relay.nn.avg_pool2d(
        relay.multiply(x, relay.const(size[0] * size[1], "int32")),
        size,
        strides,
        (1, 1),
        padding,
        "NHWC",
        "NHWC",
        False,
        True,
    )
    extents = read.tensor(operator).shape[1:3], read.output(operator).shape[1:3]
    inside = [_inside(axis, *pair) for axis, pair in zip((rows, columns), zip(*extents, strict=True), strict=True)]
    counts = np.multiply.outer(*inside)[None, :, :, None].astype(np.int32)
    magnitude = relay.floor_divide(relay.add(relay.abs(sums), relay.const(counts // 2)), relay.const(counts))
    mean = relay.where(relay.less(sums, relay.const(0, "int32")), relay.negative(magnitude), magnitude)
    clip = integers.clip_of(read, operator, operator.options(tflite.Pool2DOptions).FusedActivationFunction(), output)
    return integer_form.saturate(mean, clip, output.dtype)


def _inside(axis: WindowAxis, extent: int, outputs: int) -> np.ndarray:
    """How many elements of each window along an axis lie on the map."""
    starts = np.arange(outputs) * axis.stride - axis.before
    return np.minimum(starts + axis.window, extent) - np.maximum(starts, 0)


def _activated(read: TfliteReader, operator: FileOperator, pooled: relay.Expr) -> relay.Expr:
    activation = operator.options(tflite.Pool2DOptions).FusedActivationFunction()
    output = read.output_quantization(operator)
    if activation == tflite.ActivationFunctionType.NONE:
        return pooled
    return relay.clip(pooled, *integers.clip_of(read, operator, activation, output))
