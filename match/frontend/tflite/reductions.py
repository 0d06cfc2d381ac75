"""Operators that reduce axes: means, sums, extremes and where these are."""

from __future__ import annotations

import math

import numpy as np
import tflite

from match.arithmetic.interface import Accumulator, sum_range
from match.arithmetic.tflite import TfliteArithmetic
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import Handler, Handlers, TfliteReader
from match.graph.fixed_point import UnitLength
from match.graph.integers import Extreme, Place, Truth
from match.graph.make import reshaped
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.quantized.averages import averaged, summed
from match.quantized.largest import pooled_largest, pooled_smallest


def reduced_axes(read: TfliteReader, operator: FileOperator) -> list[int]:
    """The axes that are reduced, counted from the first."""
    rank = len(read.tensor(operator).shape)
    return sorted({axis % rank for axis in read.integers(operator, 1)})


def mean(read: TfliteReader, operator: FileOperator) -> Value:
    """MEAN: one over rows and columns is an average pooling."""
    x, axes, output = read.value(operator), reduced_axes(read, operator), read.output_quantization(operator)
    count, clip = math.prod(x.shape[axis] for axis in axes), value_range(output.dtype)
    line = TfliteArithmetic().mean(read.input_quantization(operator), count, output, clip)
    if len(x.shape) == 4 and axes == [1, 2]:
        return reshaped(averaged(x, line, output.dtype, (x.shape[1], x.shape[2])), read.output(operator).shape)
    return summed(x, axes, line, output.dtype, read.output(operator).shape)


def total(read: TfliteReader, operator: FileOperator) -> Value:
    """SUM."""
    x, axes = read.tensor(operator), reduced_axes(read, operator)
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    count = math.prod(x.shape[axis] for axis in axes)
    offset, one = np.array([-inputs.zero_point * count]), np.ones(1, np.float32)
    sums = Accumulator(offset, *sum_range(inputs.dtype, count), inputs.scale, one)
    line = TfliteArithmetic().linear(sums, output, value_range(output.dtype))
    return summed(read.value(operator), axes, line, output.dtype, read.output(operator).shape)


def extreme(*, largest: bool) -> Handler:
    """A reader of REDUCE_MAX or REDUCE_MIN: of 8-bit tensors the pooling of maps."""

    def handler(read: TfliteReader, operator: FileOperator) -> Value:
        x, axes = read.value(operator), reduced_axes(read, operator)
        if x.dtype in ("int8", "uint8"):
            read.check_alike(operator, [0])
            reduced = (pooled_largest if largest else pooled_smallest)(x, axes)
        elif axes:
            reduced = computed(Extreme(axes=tuple(axes), keepdims=False, largest=largest), x)
        else:
            return x
        return reshaped(reduced, read.output(operator).shape)

    return handler


def truth(*, every: bool) -> Handler:
    """A reader of REDUCE_ALL or REDUCE_ANY."""

    def handler(read: TfliteReader, operator: FileOperator) -> Value:
        x, axes = read.value(operator), reduced_axes(read, operator)
        return reshaped(computed(Truth(axes=tuple(axes), every=every), x), read.output(operator).shape) if axes else x

    return handler


def where_extreme(*, largest: bool) -> Handler:
    """A reader of ARG_MAX or ARG_MIN: the first of equal ones."""

    def handler(read: TfliteReader, operator: FileOperator) -> Value:
        (axis,) = read.integers(operator, 1)
        x, dtype = _in_order(read, operator), read.output(operator).dtype
        return computed(Place(axis=axis % len(x.shape), keepdims=False, largest=largest, last=False, dtype=dtype), x)

    return handler


def _in_order(read: TfliteReader, operator: FileOperator) -> Value:
    """Numbers in the order of the operator's, equal where these are."""
    values = read.reals.get(operator.inputs[0])
    return read.value(operator) if values is None else values.ranks


def l2_normalization(read: TfliteReader, operator: FileOperator) -> Value:
    """L2_NORMALIZATION along the last axis, in steps of 1/128."""
    if operator.options(tflite.L2NormOptions).FusedActivationFunction():
        raise read.error(operator, "has a fused activation, which integer kernels lack; remove it")
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    if (output.scale, output.zero_point) != (np.float32(1 / 128), 0):
        raise read.error(operator, "has an output with another quantization than the kernel's (scale 1/128, zero 0)")
    clip = value_range(output.dtype)
    unit = UnitLength(zero_point=inputs.zero_point, zero=output.zero_point, clip=clip, dtype=output.dtype)
    return computed(unit, read.value(operator))


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "MEAN": mean,
        "SUM": total,
        "REDUCE_MAX": extreme(largest=True),
        "REDUCE_MIN": extreme(largest=False),
        "REDUCE_ANY": truth(every=False),
        "REDUCE_ALL": truth(every=True),
        "ARG_MAX": where_extreme(largest=True),
        "ARG_MIN": where_extreme(largest=False),
        "L2_NORMALIZATION": l2_normalization,
    }
