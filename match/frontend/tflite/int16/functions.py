"""Functions of one tensor of 16 bits, and SOFTMAX of rows."""

from __future__ import annotations

import numpy as np
import tflite

from match.arithmetic import tflite_functions
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.int16.quantization import of_input, of_output, ratio
from match.frontend.tflite.integers import int64
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.relay import gates, relay
from match.relay.fixed_point import alone

_MOST_DOUBLINGS = 31
"""How often TFLite Micro doubles the factor of a gate's input at most."""


def logistic(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """LOGISTIC."""
    return integers.narrowed(gates.logistic_in_table(_in_table(read, operator, 0)), of_output(read, operator))


def tanh(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """TANH."""
    return integers.narrowed(gates.tanh_in_table(_in_table(read, operator, 1)), of_output(read, operator))


def _in_table(read: TfliteReader, operator: FileOperator, most: int) -> relay.Expr:
    """The input in steps of the table, int64, rounded half up.

    The factor has 15 bits. TFLite Micro takes scales near 2**-12, and up to 2**(most - 12), for these powers.
    """
    scale = of_input(read, operator).scale
    _check_scale(read, operator)
    x, power = integers.wide(read.expr(operator)), _power_near(scale)
    if power is not None and 0 <= power - gates.GATE_POWER <= most:
        return relay.multiply(x, int64(3 << (power - gates.GATE_POWER)))
    factor, doublings = float(scale) * 4096.0 * 3.0, 0
    while factor <= 32767 / 2 and doublings < _MOST_DOUBLINGS:
        factor, doublings = 2 * factor, doublings + 1
    if factor >= 1 << 15:
        raise read.error(
            operator, f"has an input with the scale {scale}, too large for TFLite Micro's table; quantize it again"
        )
    moved = relay.multiply(x, int64(int(factor)))
    if not doublings:
        return moved
    return relay.right_shift(relay.add(moved, int64(1 << (doublings - 1))), int64(doublings))


def _power_near(scale: np.float32) -> int | None:
    """The exponent of the power of two that a scale is within 0.07 % of, if there is one."""
    power = np.log2(scale)
    return int(np.rint(power)) if abs(power - np.rint(power)) < 1e-3 else None


def _check_scale(read: TfliteReader, operator: FileOperator) -> None:
    if _power_near(of_output(read, operator).scale) != gates.FUNCTION_POWER:
        raise read.error(
            operator, "has an output with another quantization than the kernel's (scale 1/32768); quantize it again"
        )


def softmax(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SOFTMAX along the last axis: exponentials and the reciprocal of their sum are interpolated in tables."""
    beta = np.float32(operator.options(tflite.SoftmaxOptions).Beta())
    if not 0 < beta < np.inf:
        raise read.error(operator, f"has a Beta of {beta}; it must be positive")
    _check_scale(read, operator)
    x, width = read.expr(operator), read.tensor(operator).shape[-1]
    factor = np.float64(of_input(read, operator).scale) * np.float64(beta) / (10.0 / 65535.0)
    distance = relay.subtract(integers.wide(x), integers.wide(relay.max(x, axis=-1, keepdims=True)))
    least, largest = value_range("int16")
    place = relay.add(integers.scaled(distance, factor), int64(largest))
    exponentials = alone(_interpolated(_within(place, least, largest), tflite_functions.exponentials_of_16_bits()))
    total = alone(relay.sum(exponentials, axis=-1, keepdims=True))
    bits = alone(integers.bits_of(total, 15, 15 + width.bit_length()))
    headroom = relay.subtract(int64(31), bits)
    shifted = relay.add(relay.left_shift(total, headroom), int64(1 << 13))
    place = relay.subtract(relay.right_shift(shifted, int64(14)), int64((1 << 15) + (1 << 16)))
    reciprocal = alone(_interpolated(_within(place, least, largest), tflite_functions.reciprocals_of_16_bits()))
    half = relay.left_shift(int64(1), relay.subtract(bits, int64(2)))
    product = relay.add(relay.multiply(exponentials, reciprocal), half)
    result = relay.right_shift(product, relay.subtract(bits, int64(1)))
    return integers.narrowed(result, of_output(read, operator), (0, largest))


def _within(x: relay.Expr, least: int, largest: int) -> relay.Expr:
    return alone(relay.minimum(relay.maximum(x, int64(least)), int64(largest)))


def _interpolated(x: relay.Expr, table: Int64Array) -> relay.Expr:
    """Between two of the 513 entries of a table, for int64 numbers of 16 bits: 9 bits are the place, 7 the rest."""
    place = relay.cast(relay.add(relay.right_shift(x, int64(7)), int64(256)), "int32")
    rest = relay.bitwise_and(x, int64(127))
    base, slope = (relay.take(int64(values), place) for values in (table[:-1], np.diff(table)))
    return relay.add(base, relay.right_shift(relay.add(relay.multiply(slope, rest), int64(64)), int64(7)))


def relu(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """RELU: a change of scale."""
    output, x = of_output(read, operator), integers.wide(read.expr(operator))
    scaled = integers.scaled(x, ratio(read, operator))
    return integers.narrowed(scaled, output, (0, value_range("int16")[1]))


def relu6(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """RELU6, which does not change the scale: whatever the output's is, values are clipped in the input's."""
    inputs = of_input(read, operator)
    return relay.clip(
        read.expr(operator), *integers.clip_of(read, operator, tflite.ActivationFunctionType.RELU6, inputs)
    )


def leaky_relu(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """LEAKY_RELU."""
    alpha = np.float32(operator.options(tflite.LeakyReluOptions).Alpha())
    inputs, output, x = of_input(read, operator), of_output(read, operator), integers.wide(read.expr(operator))
    slope = np.float64(inputs.scale) * np.float64(alpha) / np.float64(output.scale)
    below = integers.scaled(x, np.abs(slope))
    below = relay.negative(below) if slope < 0 else below
    positive = relay.greater_equal(x, int64(0))
    return integers.narrowed(relay.where(positive, integers.scaled(x, ratio(read, operator)), below), output)


def prelu(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """PRELU, with slopes of int8."""
    slopes, output = read.tensor(operator, 1), of_output(read, operator)
    if slopes.dtype != "int8":
        raise read.error(operator, f"has slopes of type {slopes.dtype}; quantize them to int8")
    inputs, of_slopes = of_input(read, operator), read.quantization(operator, slopes)
    factor = np.float64(inputs.scale) * np.float64(of_slopes.scale) / np.float64(output.scale)
    x = integers.wide(read.expr(operator))
    by_slope = relay.multiply(x, integers.wide(read.expr(operator, 1), of_slopes.zero_point))
    above, below = integers.scaled(x, ratio(read, operator)), integers.scaled(by_slope, factor)
    return integers.narrowed(relay.where(relay.greater_equal(x, int64(0)), above, below), output)


def absolute(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """ABS."""
    output, x = of_output(read, operator), relay.abs(integers.wide(read.expr(operator)))
    alike = of_input(read, operator).scale == output.scale
    return integers.narrowed(x if alike else integers.scaled(x, ratio(read, operator)), output)


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "LOGISTIC": logistic,
        "TANH": tanh,
        "SOFTMAX": softmax,
        "RELU": relu,
        "RELU6": relu6,
        "LEAKY_RELU": leaky_relu,
        "PRELU": prelu,
        "ABS": absolute,
    }
