"""Operators that reduce axes: means, sums, extremes and where these are."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import tflite

from match.arithmetic.interface import Accumulator, sum_range
from match.arithmetic.tflite import TfliteArithmetic
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.integers import doubled, int64, product, saturated
from match.frontend.tflite.reader import Handler, Handlers, TfliteReader
from match.ir.dtypes import value_range
from match.ir.requantization import Requantization
from match.relay import integer_form, relay
from match.relay.fixed_point import alone, bits_of, rounded_shift
from match.relay.largest import pooled_largest, pooled_smallest


def reduced_axes(read: TfliteReader, operator: FileOperator) -> list[int]:
    """The axes that are reduced, counted from the first."""
    rank = len(read.tensor(operator).shape)
    return sorted({axis % rank for axis in read.integers(operator, 1)})


def mean(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """MEAN: one over rows and columns as QNN, others as layers of the integer form."""
    x, axes = read.tensor(operator), reduced_axes(read, operator)
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    if len(x.shape) == 4 and axes == [1, 2]:
        keep = bool(operator.options(tflite.ReducerOptions).KeepDims())
        sums = relay.mean(relay.cast(read.expr(operator), "int32"), axes, keepdims=keep)
        scales = [relay.const(value.scale) for value in (inputs, output)]
        zeros = [relay.const(value.zero_point, "int32") for value in (inputs, output)]
        return relay.qnn.op.requantize(sums, scales[0], zeros[0], scales[1], zeros[1], out_dtype=output.dtype)
    count = math.prod(x.shape[axis] for axis in axes)
    line = TfliteArithmetic().mean(inputs, count, output, value_range(output.dtype))
    return summed(read, operator, axes, line)


def total(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SUM."""
    x, axes = read.tensor(operator), reduced_axes(read, operator)
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    count = math.prod(x.shape[axis] for axis in axes)
    offset, one = np.array([-inputs.zero_point * count]), np.ones(1, np.float32)
    sums = Accumulator(offset, *sum_range(inputs.dtype, count), inputs.scale, one)
    line = TfliteArithmetic().linear(sums, output, value_range(output.dtype))
    return summed(read, operator, axes, line)


def summed(read: TfliteReader, operator: FileOperator, axes: list[int], requantization: Requantization) -> relay.Expr:
    """Sums over axes as a layer: over the first axes a pooling, over others, put last, a dense layer of ones."""
    x, output, values = read.tensor(operator), read.output(operator), read.expr(operator)
    longer = [axis for axis, extent in enumerate(x.shape) if extent > 1]
    kept = [place for place, axis in enumerate(longer) if axis not in axes]
    summed = [place for place, axis in enumerate(longer) if axis in axes]
    extents = [x.shape[axis] for axis in longer]
    rows, count = (math.prod(extents[place] for place in places) for places in (kept, summed))
    if kept and [*summed, *kept] == list(range(len(longer))):
        column = relay.reshape(values, (1, count, 1, rows))
        alike = requantization.take(np.zeros(rows, np.intp))
        layer = integer_form.avg_pool2d(column, alike, output.dtype, window=(count, 1), whole_map=True)
    else:
        if [*kept, *summed] != list(range(len(longer))):
            values = relay.transpose(relay.reshape(values, extents), [*kept, *summed])
        ones = np.ones((1, count), np.int16 if output.dtype == "int16" else np.int8)
        layer = integer_form.dense(relay.reshape(values, (rows, count)), ones, requantization, output.dtype)
    return relay.reshape(layer, output.shape)


def largest(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """REDUCE_MAX: of 8-bit tensors the pooling of maps."""
    x = read.tensor(operator)
    if x.dtype not in ("int8", "uint8"):
        return extreme(relay.max)(read, operator)
    read.check_alike(operator, [0])
    pooled = pooled_largest(read.expr(operator), x.shape, reduced_axes(read, operator))
    return relay.reshape(pooled, read.output(operator).shape)


def smallest(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """REDUCE_MIN, in the same way."""
    x = read.tensor(operator)
    if x.dtype not in ("int8", "uint8"):
        return extreme(relay.min)(read, operator)
    read.check_alike(operator, [0])
    pooled = pooled_smallest(read.expr(operator), x.dtype, x.shape, reduced_axes(read, operator))
    return relay.reshape(pooled, read.output(operator).shape)


def extreme(build: Callable[..., relay.Expr]) -> Handler:
    """A reader of REDUCE_ANY or REDUCE_ALL; of REDUCE_MAX or REDUCE_MIN, if integers have more than 8 bits."""

    def handler(read: TfliteReader, operator: FileOperator) -> relay.Expr:
        axes = reduced_axes(read, operator)
        if not axes:
            return read.expr(operator)
        return relay.reshape(build(read.expr(operator), axes), read.output(operator).shape)

    return handler


def where_extreme(build: Callable[..., relay.Expr]) -> Handler:
    """A reader of ARG_MAX or ARG_MIN: the first of equal ones."""

    def handler(read: TfliteReader, operator: FileOperator) -> relay.Expr:
        (axis,) = read.integers(operator, 1)
        found = build(_in_order(read, operator), axis % len(read.tensor(operator).shape))
        return relay.cast(found, read.output(operator).dtype)

    return handler


def _in_order(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """Numbers as different as the operator's, in the same order."""
    values = read.reals.get(operator.inputs[0])
    if values is not None:
        return relay.cast(values.ranks, "int32")
    # In 32 bits, or TVM would find no element that beats the least of 8.
    x = read.expr(operator)
    return x if read.tensor(operator).dtype == "float32" else relay.cast(x, "int32")


def l2_normalization(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """L2_NORMALIZATION along the last axis, in steps of 1/128."""
    if operator.options(tflite.L2NormOptions).FusedActivationFunction():
        raise read.error(operator, "has a fused activation, which integer kernels lack; remove it")
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    if (output.scale, output.zero_point) != (np.float32(1 / 128), 0):
        raise read.error(operator, "has an output with another quantization than the kernel's (scale 1/128, zero 0)")
    x = integers.wide(read.expr(operator), inputs.zero_point)
    squares = relay.sum(relay.multiply(x, x), axis=-1, keepdims=True)
    multiplier, shift = _inverse_square_root(squares)
    # The kernel's shift may go either way: 7 bits for the output's scale, less the root's own.
    left = relay.maximum(relay.subtract(int64(7), shift), int64(0))
    right = relay.maximum(relay.subtract(shift, int64(7)), int64(0))
    high = product(relay.multiply(x, relay.left_shift(int64(1), left)), multiplier)
    half = relay.right_shift(relay.left_shift(int64(1), right), int64(1))
    negative = relay.multiply(relay.right_shift(high, int64(63)), relay.minimum(right, int64(1)))
    result = relay.right_shift(relay.add(relay.add(high, half), negative), right)
    return integers.narrowed(result, output)


def _inverse_square_root(x: relay.Expr) -> tuple[relay.Expr, relay.Expr]:
    """`match.arithmetic.fixed_point.inverse_square_root` of int64 tensors below 2**31, in Relay."""
    quarters = relay.cast(relay.greater_equal(x, int64(1 << 29)), "int64")  # x stays below 2**31
    wide = relay.right_shift(x, relay.multiply(quarters, int64(2)))
    pairs = relay.subtract(int64(15), relay.right_shift(bits_of(wide, 1, 29), int64(1)))
    pairs = alone(relay.subtract(pairs, int64(1)))
    fraction = relay.right_shift(relay.left_shift(wide, relay.multiply(pairs, int64(2))), int64(1))
    half = alone(rounded_shift(fraction, 1))
    shift = relay.subtract(relay.add(quarters, int64(11)), pairs)
    result: relay.Expr = relay.full_like(half, int64(1 << 28))
    for _ in range(5):
        cube = saturated(relay.left_shift(product(product(result, result), result), int64(6)))
        step = relay.subtract(product(int64(3 << 27), result), product(half, cube))
        result = alone(saturated(doubled(step, 3)))
    multiplier = product(result, int64(round(2**30.5)))
    multiplier = relay.left_shift(multiplier, relay.maximum(relay.negative(shift), int64(0)))
    small = relay.less_equal(x, int64(1))
    multiplier = relay.where(small, int64((1 << 31) - 1), multiplier)
    shift = relay.where(small, int64(0), relay.maximum(shift, int64(0)))
    return alone(multiplier), alone(shift)


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "MEAN": mean,
        "SUM": total,
        "REDUCE_MAX": largest,
        "REDUCE_MIN": smallest,
        "REDUCE_ANY": extreme(relay.any),
        "REDUCE_ALL": extreme(relay.all),
        "ARG_MAX": where_extreme(relay.argmax),
        "ARG_MIN": where_extreme(relay.argmin),
        "L2_NORMALIZATION": l2_normalization,
    }
