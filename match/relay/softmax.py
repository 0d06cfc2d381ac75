"""Softmax over the last axis in integers, as Relay operators: what TFLite Micro's kernel computes of a row.

With the exponential of each value's distance to the row's largest one (`tflite_functions.exponentials`, no integer
bits), the result is ``exponential / sum`` in steps of 1/256. Sums have 12 integer bits. A sum is brought between 1 and
2 and its half, which needs no integer bit, is inverted by Newton and Raphson (`match.arithmetic.fixed_point`).

A softmax that its reference computes in floating point may have another scale than 1/256 (`ProbabilityScale`). Its
outputs are within one step of the reference's. The sum of n exponentials is at least 1, and its error at most
``n / 2**20``. An output is at most 255 steps. So the error of the sum moves an output by at most ``255 * n / 2**20``
steps before it is rounded.
"""

from __future__ import annotations

import numpy as np

from match.arithmetic.fixed_point import ONE, RECIPROCAL_START, RECIPROCAL_STEPS
from match.arithmetic.interface import Float32Array
from match.graph.rows import FACTOR_ONE, SHIFT, SUM_FRACTION, ProbabilityScale
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.relay import integer_form, relay
from match.relay.fixed_point import alone, product


def softmax(
    x: relay.Expr, width: int, exponentials: Int64Array, dtype: str, zero: int, scale: ProbabilityScale | None = None
) -> relay.Expr:
    """Softmax of an 8-bit tensor (..., width) to `dtype` with `zero` for 0, in the scale 1/256 or another.

    `exponentials` has shape (256,), by distance; `width` is at most `LONGEST_ROW`, with another scale at most
    `LONGEST_REAL_ROW`. The value of x's zero does not matter.
    """
    largest = relay.max(x, axis=-1, keepdims=True)
    distance = relay.subtract(relay.cast(largest, "int32"), relay.cast(x, "int32"))
    values = relay.take(relay.const(exponentials.astype(np.int32)), distance)
    total = relay.sum(_rounded_shift(values, relay.const(31 - SUM_FRACTION - 1)), axis=-1, keepdims=True)
    inverse, exponent = _reciprocal(total, width), 0
    if scale is not None:
        inverse, exponent = alone(_scaled(inverse, scale.factor)), scale.exponent
    shift = relay.add(_doublings(total, width), relay.const(SHIFT - exponent))
    if SHIFT - exponent + width.bit_length() - 1 > 31:
        shift = relay.minimum(shift, relay.const(31))  # which leaves 0 of any number, as would more
    levels = relay.add(_rounded_shift(product(values, inverse), shift), relay.const(zero))
    return integer_form.saturate(levels, value_range(dtype), dtype)


def softmax_of_levels(x: relay.Expr, exponentials: Float32Array) -> relay.Expr:
    """Softmax of an 8-bit tensor (..., width) to float32 by a table (256,) of exponentials, by distance."""
    largest = relay.max(x, axis=-1, keepdims=True)
    distance = alone(relay.subtract(relay.cast(largest, "int32"), relay.cast(x, "int32")))
    values = alone(relay.take(relay.const(exponentials), distance))
    return relay.divide(values, alone(relay.sum(values, axis=-1, keepdims=True)))


def _doublings(total: relay.Expr, width: int) -> relay.Expr:
    """How often a sum, at least 1, has to be halved until it is below 2."""
    powers = [1 << (SUM_FRACTION + bit) for bit in range(1, width.bit_length())]
    reached = [relay.cast(relay.greater_equal(total, relay.const(power)), "int32") for power in powers]
    count: relay.Expr = relay.zeros_like(total) if not reached else reached[0]
    for one in reached[1:]:
        count = relay.add(count, one)
    return count


def _reciprocal(total: relay.Expr, width: int) -> relay.Expr:
    """The reciprocal, without integer bits, of a sum that has been halved until it is below 2."""
    half = alone(relay.left_shift(total, relay.subtract(relay.const(30 - SUM_FRACTION), _doublings(total, width))))
    constant, slope = RECIPROCAL_START
    result = alone(relay.add(relay.const(constant), product(half, relay.const(slope))))
    for _ in range(RECIPROCAL_STEPS):
        error = relay.subtract(relay.const(1 << 29), product(half, result))
        result = alone(relay.add(result, relay.multiply(product(result, error), relay.const(4))))
    # Doubled, saturating: of a sum of 1 the reciprocal is just below 1.
    doubled = relay.add(relay.minimum(result, relay.const(ONE >> 1)), relay.minimum(result, relay.const(1 << 30)))
    return alone(doubled)


def _scaled(x: relay.Expr, factor: int) -> relay.Expr:
    """``x * factor / 2**30`` of an int32 tensor, rounded half up."""
    wide = relay.multiply(relay.cast(x, "int64"), integer_form.int64(factor))
    half, bits = integer_form.int64(FACTOR_ONE >> 1), integer_form.int64(FACTOR_ONE.bit_length() - 1)
    return relay.cast(relay.right_shift(relay.add(wide, half), bits), "int32")


def _rounded_shift(x: relay.Expr, bits: relay.Expr) -> relay.Expr:
    """``x / 2**(bits + 1)`` of int32 numbers that are not negative, rounded half up."""
    return relay.right_shift(relay.add(relay.right_shift(x, bits), relay.const(1)), relay.const(1))
