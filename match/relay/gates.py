"""What the cells of recurrent layers have in common in integers: sums of gates, and their functions.

Sums become numbers in steps of 2**-12. The logistic function and the hyperbolic tangent give 16 bits in steps of
2**-15, interpolated in a table as TFLite Micro does.
"""

from __future__ import annotations

import numpy as np

from match.arithmetic.tflite import reduced
from match.arithmetic.tflite_functions import logistic_of_16_bits
from match.graph.recurrent import tanh_shift
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.relay import integer_form, relay
from match.relay.fixed_point import alone, scaled
from match.relay.integer_form import Int8Array, int64

TABLE_STEP = 1 / (3 << 12)
"""Steps of the numbers that the table of the logistic function is read by."""


def sums(x: relay.Expr, weights: Int8Array, offsets: Int64Array, scales: Int64Array, *, int16: bool) -> relay.Expr:
    """Rows of x times the weights of all gates, side by side, int64 in steps of 2**-12.

    weights: (gates, units, depth). offsets: (gates, units), added before scaling. scales: (gates, 2), mantissas and
    exponents. int16: whether x has 16 bits, whose sums are multiplied by 15 bits of a mantissa and rounded once.
    """
    gates, units, _ = weights.shape
    rows, addends = weights.reshape(gates * units, -1), offsets.reshape(-1)
    factors = np.repeat(scales, units, axis=0).T
    if not int16:
        products = relay.add(integer_form.product(x, rows), relay.const(addends.astype(np.int32)))
        return scaled(relay.cast(products, "int64"), *factors)
    products = relay.add(integer_form.product(x, rows.astype(np.int16), "int64"), int64(addends))
    multiplier, shift = reduced(*factors)
    wide = relay.add(relay.multiply(products, int64(multiplier)), int64(np.int64(1) << (shift - 1)))
    return relay.right_shift(wide, int64(shift))


def columns(x: relay.Expr, first: int, count: int) -> relay.Expr:
    """So many columns of a matrix from one on."""
    return relay.strided_slice(x, [first], [first + count], axes=[1])


def narrow(x: relay.Expr) -> relay.Expr:
    """Clipped to 16 bits."""
    return relay.clip(x, *value_range("int16"))


def logistic(x: relay.Expr) -> relay.Expr:
    """The logistic function of 16-bit numbers with 3 integer bits, without integer bits."""
    return logistic_in_table(relay.multiply(x, int64(3)))


def logistic_in_table(x: relay.Expr) -> relay.Expr:
    """The logistic function, without integer bits, of int64 numbers in steps of `TABLE_STEP`."""
    moved = alone(x)
    positive = _interpolated(moved, 9)
    rounding = 1 << 9
    below = relay.subtract(int64((1 << 25) + rounding - 1), positive)
    above = relay.add(positive, int64(rounding))
    return relay.right_shift(relay.where(relay.less(moved, int64(0)), below, above), int64(10))


def tanh(x: relay.Expr, power: int) -> relay.Expr:
    """The hyperbolic tangent of 16-bit numbers in steps of 2**power, without integer bits."""
    left = tanh_shift(power)
    moved = relay.multiply(x, int64(3 << max(left, 0)))
    if left < 0:
        moved = relay.right_shift(relay.add(moved, int64(1 << (-left - 1))), int64(-left))
    return tanh_in_table(moved)


def tanh_in_table(x: relay.Expr) -> relay.Expr:
    """The hyperbolic tangent, without integer bits, of int64 numbers in steps of `TABLE_STEP`."""
    moved = alone(x)
    positive = _interpolated(moved, 8)
    half, rounding = 1 << 23, 1 << 7
    below = relay.subtract(int64(half + rounding - 1), positive)
    above = relay.subtract(positive, int64(half - rounding))
    return relay.right_shift(relay.where(relay.less(moved, int64(0)), below, above), int64(8))


def _interpolated(x: relay.Expr, bits: int) -> relay.Expr:
    """Between two entries of the logistic function's table, `bits` below the index, for the magnitude of x."""
    table, size = logistic_of_16_bits(), alone(relay.abs(x))
    index = relay.right_shift(size, int64(bits))
    bounded = relay.minimum(index, int64(254))
    low, high = (relay.take(int64(values), relay.cast(bounded, "int32")) for values in (table[:-1], table[1:]))
    rest = relay.bitwise_and(size, int64((1 << bits) - 1))
    between = relay.add(relay.left_shift(low, int64(bits)), relay.multiply(rest, relay.subtract(high, low)))
    most = 0x7FFF << 10 if bits == 9 else 0xFFFF << 8
    return relay.where(relay.less(index, int64(255)), between, int64(most))
