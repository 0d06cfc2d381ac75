"""AVERAGE_POOL_2D and MAX_POOL_2D."""

from __future__ import annotations

from collections.abc import Sequence

import tflite

from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.frontend.tflite.windows import WindowAxis, axes_of
from match.relay import relay
from match.relay.windows_inside import AlikeWindows, Pool, alike_windows, pooled_inside

_SCALES_WITHIN = 1e-6
"""By how much the scales of input and output may differ in TFLite Micro."""


def _window(read: TfliteReader, operator: FileOperator) -> list[WindowAxis]:
    """Rows and columns of an operator's windows."""
    read.check_alike(operator, [0], _SCALES_WITHIN)
    options = operator.options(tflite.Pool2DOptions)
    return axes_of(
        read.tensor(operator).shape,
        (options.FilterHeight(), options.FilterWidth()),
        (options.StrideH(), options.StrideW()),
        (1, 1),
        options.Padding(),
    )


def largest_in_windows(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """MAX_POOL_2D without its fused activation."""
    rows, columns = _window(read, operator)
    return relay.nn.max_pool2d(
        read.expr(operator),
        (rows.window, columns.window),
        (rows.stride, columns.stride),
        (1, 1),
        (rows.before, columns.before, rows.behind, columns.behind),
        "NHWC",
        "NHWC",
    )


def max_pool(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """MAX_POOL_2D."""
    return _activated(read, operator, largest_in_windows(read, operator))


def average_pool(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """AVERAGE_POOL_2D: of windows over the border the mean of what lies inside."""

    def pool(x: relay.Expr, size: tuple[int, int], strides: tuple[int, int]) -> relay.Expr:
        means = relay.nn.avg_pool2d(relay.cast(x, "int32"), size, strides, layout="NHWC", out_layout="NHWC")
        return _activated(read, operator, relay.cast(means, read.output(operator).dtype))

    return inside(read, operator, pool)


def inside(read: TfliteReader, operator: FileOperator, pool: Pool) -> relay.Expr:
    """The operator's windows without what lies over the border, pooled by a function."""
    extents = read.tensor(operator).shape[1:3], read.output(operator).shape[1:3]
    axes: dict[int, tuple[int, Sequence[AlikeWindows]]] = {}
    for number, (axis, extent, outputs) in enumerate(zip(_window(read, operator), *extents, strict=True), start=1):
        parts = alike_windows(extent, axis.window, axis.stride, axis.before, outputs)
        if parts is None:
            raise read.error(operator, "has windows that lie in the padding; make them or the padding smaller")
        axes[number] = extent, parts

    return pooled_inside(read.expr(operator), axes, pool)


def _activated(read: TfliteReader, operator: FileOperator, pooled: relay.Expr) -> relay.Expr:
    activation = operator.options(tflite.Pool2DOptions).FusedActivationFunction()
    output = read.output_quantization(operator)
    if activation == tflite.ActivationFunctionType.NONE:
        return pooled
    return relay.clip(pooled, *integers.clip_of(read, operator, activation, output))


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "AVERAGE_POOL_2D": average_pool,
        "MAX_POOL_2D": max_pool,
    }
