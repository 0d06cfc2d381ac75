"""Pooling, means and sums of 16-bit tensors."""

from __future__ import annotations

import math

import numpy as np
import tflite

from match.arithmetic.tflite import division, mean_multiplier, quantize_multiplier, scaling
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.int16.quantization import of_output, ratio
from match.frontend.tflite.pooling import inside, largest_in_windows
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.frontend.tflite.reductions import reduced_axes
from match.graph.value import Value
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.quantized.averages import averaged, summed


def max_pool(read: TfliteReader, operator: FileOperator) -> Value:
    """MAX_POOL_2D."""
    pooled = largest_in_windows(read, operator)
    clip = _clip(read, operator)
    return pooled if clip == value_range("int16") else integers.clipped(pooled, clip)


def average_pool(read: TfliteReader, operator: FileOperator) -> Value:
    """AVERAGE_POOL_2D: sums divided by the number of elements, half away from zero."""
    output, clip = read.output(operator), _clip(read, operator)

    def pool(x: Value, size: tuple[int, int], strides: tuple[int, int]) -> Value:
        return averaged(x, division(math.prod(size), clip), output.dtype, size, strides)

    return inside(read, operator, pool)


def _clip(read: TfliteReader, operator: FileOperator) -> tuple[int, int]:
    activation = operator.options(tflite.Pool2DOptions).FusedActivationFunction()
    return integers.clip_of(read, operator, activation, of_output(read, operator))


def mean(read: TfliteReader, operator: FileOperator) -> Value:
    """MEAN."""
    count = math.prod(read.tensor(operator).shape[axis] for axis in reduced_axes(read, operator))
    return _scaled_sums(read, operator, *mean_multiplier(np.array([ratio(read, operator)]), count))


def total(read: TfliteReader, operator: FileOperator) -> Value:
    """SUM."""
    return _scaled_sums(read, operator, *quantize_multiplier(np.array([ratio(read, operator)])))


def _scaled_sums(read: TfliteReader, operator: FileOperator, mantissa: Int64Array, exponent: Int64Array) -> Value:
    """Sums over the operator's axes, scaled."""
    line = scaling(mantissa, exponent, np.zeros(1, np.int64), value_range("int16"))
    output = read.output(operator)
    return summed(read.value(operator), reduced_axes(read, operator), line, output.dtype, output.shape)


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "MAX_POOL_2D": max_pool,
        "AVERAGE_POOL_2D": average_pool,
        "MEAN": mean,
        "SUM": total,
    }
