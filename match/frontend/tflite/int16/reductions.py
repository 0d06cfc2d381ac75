"""Pooling, means and sums of 16-bit tensors."""

from __future__ import annotations

import math

import tflite

from match.arithmetic.tflite import mean_multiplier
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.int16.quantization import of_output, ratio
from match.frontend.tflite.integers import int64
from match.frontend.tflite.pooling import inside, largest_in_windows
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.frontend.tflite.reductions import reduced_axes
from match.ir.dtypes import value_range
from match.relay import fixed_point, integer_form, relay
from match.relay.fixed_point import alone


def max_pool(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """MAX_POOL_2D."""
    pooled = largest_in_windows(read, operator)
    clip = _clip(read, operator)
    return pooled if clip == value_range("int16") else relay.clip(pooled, *clip)


def average_pool(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """AVERAGE_POOL_2D: sums divided by the number of elements, half away from zero."""
    clip = _clip(read, operator)

    def pool(x: relay.Expr, size: tuple[int, int], strides: tuple[int, int]) -> relay.Expr:
        count = size[0] * size[1]
        total = alone(integers.wide(integer_form.window_sum(x, size, strides, whole_map=False)))
        magnitude = relay.floor_divide(relay.add(relay.abs(total), int64(count // 2)), int64(count))
        means = relay.where(relay.less(total, int64(0)), relay.negative(magnitude), magnitude)
        return integers.narrowed(means, of_output(read, operator), clip)

    return inside(read, operator, pool)


def _clip(read: TfliteReader, operator: FileOperator) -> tuple[int, int]:
    activation = operator.options(tflite.Pool2DOptions).FusedActivationFunction()
    return integers.clip_of(read, operator, activation, of_output(read, operator))


def mean(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """MEAN."""
    count = math.prod(read.tensor(operator).shape[axis] for axis in reduced_axes(read, operator))
    scaled = fixed_point.scaled(_summed(read, operator), *mean_multiplier(ratio(read, operator), count))
    return integers.narrowed(scaled, of_output(read, operator))


def total(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SUM."""
    return integers.narrowed(integers.scaled(_summed(read, operator), ratio(read, operator)), of_output(read, operator))


def _summed(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """Sums over the operator's axes, int64, in the output's shape."""
    sums = relay.sum(relay.cast(read.expr(operator), "int32"), reduced_axes(read, operator))
    return relay.reshape(integers.wide(alone(sums)), read.output(operator).shape)


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "MAX_POOL_2D": max_pool,
        "AVERAGE_POOL_2D": average_pool,
        "MEAN": mean,
        "SUM": total,
    }
