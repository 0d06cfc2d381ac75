"""Arithmetic in fixed point as Relay operators: numbers between -1 and 1 as int32 with 31 bits after the point."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from match.ir.requantization import Int64Array
from match.relay import integer_form, relay

ALONE = "annotation.stop_fusion"
"""The operator that marks its operand: TVM computes it once, in a loop of its own."""


def alone(x: relay.Expr) -> relay.Expr:
    """The value, marked so that TVM computes it once.

    Otherwise TVM joins the value's loop with the loops that read the value, and computes it again at each place: a
    row's reciprocal for each of the row's elements, say.
    """
    return relay.annotation.stop_fusion(x)


def product(a: relay.Expr, b: relay.Expr) -> relay.Expr:
    """`match.arithmetic.fixed_point.product` of int32 tensors."""
    wide = relay.multiply(relay.cast(a, "int64"), relay.cast(b, "int64"))
    rounded = relay.right_shift(relay.add(wide, integer_form.int64(1 << 30)), integer_form.int64(31))
    return relay.cast(rounded, "int32")


def scaled(x: relay.Expr, mantissa: Int64Array, exponent: Int64Array) -> relay.Expr:
    """``x * mantissa * 2**(exponent - 31)`` of int64 numbers, rounded half up to int32, then half away from zero.

    TFLite Micro's MultiplyByQuantizedMultiplier; both factors are one number or arrays that are broadcast.
    """
    left, right = np.maximum(exponent, 0), np.maximum(-exponent, 0)
    wide = relay.multiply(x, integer_form.int64(mantissa << left))
    high = relay.right_shift(relay.add(wide, integer_form.int64(1 << 30)), integer_form.int64(31))
    return rounded_shift(high, right) if np.any(right) else high


def rounded_shift(x: relay.Expr, bits: npt.ArrayLike) -> relay.Expr:
    """``x / 2**bits`` of int64 numbers, rounded half away from zero."""
    bits = np.asarray(bits, np.int64)
    half = (np.int64(1) << bits) >> 1
    negative = relay.right_shift(x, integer_form.int64(63))
    if np.any(bits == 0):  # nothing is taken off where nothing is shifted out
        negative = relay.multiply(negative, integer_form.int64(bits > 0))
    rounded = relay.add(relay.add(x, integer_form.int64(half)), negative)
    return relay.right_shift(rounded, integer_form.int64(bits))


def bits_of(x: relay.Expr, least: int, most: int) -> relay.Expr:
    """How many bits positive int64 numbers have, which is from `least` to `most`."""
    count: relay.Expr = integer_form.int64(least)
    for bits in range(least, most):
        count = relay.add(count, relay.cast(relay.greater_equal(x, integer_form.int64(1 << bits)), "int64"))
    return count
