"""Operators that reduce axes: means, sums, extremes and where these are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tflite

from match.arithmetic.tflite import mean_multiplier, quantize_multiplier
from match.frontend.tflite import integers
from match.frontend.tflite.file import Operator
from match.frontend.tflite.integers import int64
from match.frontend.tflite.reader import Reader
from match.relay import relay

Handler = Callable[[Reader, Operator], relay.Expr]


def _axes(read: Reader, operator: Operator) -> list[int]:
    rank = len(read.tensor(operator).shape)
    return sorted({axis % rank for axis in read.integers(operator, 1)})


def mean(read: Reader, operator: Operator) -> relay.Expr:
    """MEAN: one over rows and columns as QNN, others in integers."""
    x, axes = read.tensor(operator), _axes(read, operator)
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    if len(x.shape) == 4 and axes == [1, 2]:
        keep = bool(operator.options(tflite.ReducerOptions).KeepDims())
        sums = relay.mean(relay.cast(read.expr(operator), "int32"), axes, keepdims=keep)
        scales = [relay.const(value.scale) for value in (inputs, output)]
        zeros = [relay.const(value.zero_point, "int32") for value in (inputs, output)]
        return relay.qnn.op.requantize(sums, scales[0], zeros[0], scales[1], zeros[1], out_dtype=output.dtype)
    count = int(np.prod([x.shape[axis] for axis in axes]))
    multiplier = mean_multiplier(np.float64(inputs.scale) / np.float64(output.scale), count)
    return _scaled_sum(read, operator, axes, count, *multiplier)


def total(read: Reader, operator: Operator) -> relay.Expr:
    """SUM."""
    x, axes = read.tensor(operator), _axes(read, operator)
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    count = int(np.prod([x.shape[axis] for axis in axes]))
    multiplier = quantize_multiplier(np.float64(inputs.scale) / np.float64(output.scale))
    return _scaled_sum(read, operator, axes, count, *multiplier)


def _scaled_sum(
    read: Reader, operator: Operator, axes: list[int], count: int, mantissa: np.ndarray, exponent: np.ndarray
) -> relay.Expr:
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    sums = relay.sum(relay.cast(read.expr(operator), "int32"), axes)
    wide = integers.wide(sums, inputs.zero_point * count)
    result = integers.narrowed(integers.scaled_by(wide, mantissa, exponent), output)
    return relay.reshape(result, read.output(operator).shape)


def extreme(build: Callable[..., relay.Expr]) -> Handler:
    """A reader of REDUCE_MAX, REDUCE_MIN, REDUCE_ANY or REDUCE_ALL."""

    def handler(read: Reader, operator: Operator) -> relay.Expr:
        axes = _axes(read, operator)
        if not axes:
            return read.expr(operator)
        return relay.reshape(build(read.expr(operator), axes), read.output(operator).shape)

    return handler


def where_extreme(build: Callable[..., relay.Expr]) -> Handler:
    """A reader of ARG_MAX or ARG_MIN: the first of equal ones."""

    def handler(read: Reader, operator: Operator) -> relay.Expr:
        (axis,) = read.integers(operator, 1)
        found = build(read.expr(operator), axis % len(read.tensor(operator).shape))
        return relay.cast(found, read.output(operator).dtype)

    return handler


def l2_normalization(read: Reader, operator: Operator) -> relay.Expr:
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
    high = _rounded(relay.multiply(relay.left_shift(x, left), multiplier), 31)
    half = relay.right_shift(relay.left_shift(int64(1), right), int64(1))
    negative = relay.multiply(relay.right_shift(high, int64(63)), relay.minimum(right, int64(1)))
    result = relay.right_shift(relay.add(relay.add(high, half), negative), right)
    return integers.narrowed(result, output)


def _inverse_square_root(x: relay.Expr) -> tuple[relay.Expr, relay.Expr]:
    """`match.arithmetic.fixed_point.inverse_square_root` of int64 tensors below 2**31, in Relay."""
    large = [relay.cast(relay.greater_equal(x, int64(1 << bits)), "int64") for bits in (29, 31)]
    quarters = relay.add(*large)
    wide = relay.right_shift(x, relay.multiply(quarters, int64(2)))
    pairs: relay.Expr = int64(14)  # of a number from 1 on, less one for every two bits that it has
    for bits in range(1, 29, 2):
        pairs = relay.subtract(pairs, relay.cast(relay.greater_equal(wide, int64(1 << bits)), "int64"))
    pairs = relay.annotation.stop_fusion(pairs)
    fraction = relay.right_shift(relay.left_shift(wide, relay.multiply(pairs, int64(2))), int64(1))
    half = relay.annotation.stop_fusion(integers.rounded_shift(fraction, 1))
    shift = relay.subtract(relay.add(quarters, int64(11)), pairs)
    result: relay.Expr = int64(1 << 28)
    for step in range(5):
        cube = _saturated(relay.left_shift(_product(_product(result, result), result), int64(6)))
        part = relay.subtract(_product(int64(3 << 27), result), _product(half, cube))
        result = _saturated(relay.left_shift(part, int64(3)))
        # The kernel's steps read their number three times: computed once, and not again in each of the next.
        result = relay.annotation.stop_fusion(result) if step < 4 else result
    multiplier = _product(result, int64(round(2**30.5)))
    multiplier = relay.left_shift(multiplier, relay.maximum(relay.negative(shift), int64(0)))
    small = relay.less_equal(x, int64(1))
    multiplier = relay.where(small, int64((1 << 31) - 1), multiplier)
    shift = relay.where(small, int64(0), relay.maximum(shift, int64(0)))
    return relay.annotation.stop_fusion(multiplier), relay.annotation.stop_fusion(shift)


def _product(a: relay.Expr, b: relay.Expr) -> relay.Expr:
    return _rounded(relay.multiply(a, b), 31)


def _rounded(x: relay.Expr, bits: int) -> relay.Expr:
    """``x / 2**bits``, rounded half up."""
    return relay.right_shift(relay.add(x, int64(1 << (bits - 1))), int64(bits))


def _saturated(x: relay.Expr) -> relay.Expr:
    return relay.minimum(relay.maximum(x, int64(-(1 << 31))), int64((1 << 31) - 1))
