"""AVERAGE_POOL_2D and MAX_POOL_2D."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tflite

from match.arithmetic.tflite import TfliteArithmetic
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.frontend.tflite.windows import WindowAxis, axes_of
from match.graph.integers import Clip
from match.graph.maximum import Maximum
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.ir.layer import Padding
from match.quantized.averages import averaged
from match.quantized.windows_inside import AlikeWindows, Pool, alike_windows, pooled_inside

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


def largest_in_windows(read: TfliteReader, operator: FileOperator) -> Value:
    """MAX_POOL_2D without its fused activation."""
    rows, columns = _window(read, operator)
    pooling = Maximum(
        window=(rows.window, columns.window),
        strides=(rows.stride, columns.stride),
        padding=Padding(rows.before, columns.before, rows.behind, columns.behind),
        dilation=(1, 1),
    )
    return computed(pooling, read.value(operator))


def max_pool(read: TfliteReader, operator: FileOperator) -> Value:
    """MAX_POOL_2D."""
    return _activated(read, operator, largest_in_windows(read, operator))


def average_pool(read: TfliteReader, operator: FileOperator) -> Value:
    """AVERAGE_POOL_2D: of windows over the border the mean of what lies inside."""
    clip, dtype = _clip(read, operator), read.output(operator).dtype

    def pool(x: Value, size: tuple[int, int], strides: tuple[int, int]) -> Value:
        return averaged(x, TfliteArithmetic().average(dtype, math.prod(size), clip), dtype, size, strides)

    return inside(read, operator, pool)


def inside(read: TfliteReader, operator: FileOperator, pool: Pool) -> Value:
    """The operator's windows without what lies over the border, pooled by a function."""
    extents = read.tensor(operator).shape[1:3], read.output(operator).shape[1:3]
    axes: dict[int, Sequence[AlikeWindows]] = {}
    for number, (axis, extent, outputs) in enumerate(zip(_window(read, operator), *extents, strict=True), start=1):
        parts = alike_windows(extent, axis.window, axis.stride, axis.before, outputs)
        if parts is None:
            raise read.error(operator, "has windows that lie in the padding; make them or the padding smaller")
        axes[number] = parts
    return pooled_inside(read.value(operator), axes, pool)


def _activated(read: TfliteReader, operator: FileOperator, pooled: Value) -> Value:
    limits = _clip(read, operator)
    return pooled if limits == value_range(pooled.dtype) else computed(Clip(limits=limits, dtype=pooled.dtype), pooled)


def _clip(read: TfliteReader, operator: FileOperator) -> tuple[int, int]:
    activation = operator.options(tflite.Pool2DOptions).FusedActivationFunction()
    return integers.clip_of(read, operator, activation, read.output_quantization(operator))


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "AVERAGE_POOL_2D": average_pool,
        "MAX_POOL_2D": max_pool,
    }
