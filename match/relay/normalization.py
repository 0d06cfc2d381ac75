"""Normalization of rows, along the last axis, in integers, as Relay operators.

Each of a row's n elements becomes its distance from the row's mean in standard deviations, times a gain. The result is
requantized like the sums of a convolution: each channel has its own parameters.

Distances may be from one value for all rows instead, in roots of the mean of their squares: then S is 0 for the
distances from that value (root mean square normalization).

In whole numbers, with S the sum of a row and Q the sum of its squares: ``n * x - S`` is n times the distance, and
``n * Q - S**2`` is n**2 times the variance. That, with `SPREAD_FRACTION` bits after the point, and the operator's
epsilon are the spread. A power of 4 brings the spread between 1/4 and 1; Newton and Raphson find half its inverse root.
A distance is below the root of n deviations. Shifted by as many bits as the spread was, it fits int32, and the upper
word of its product with the inverse root is enough. The result has `DEVIATION_FRACTION` bits after the point.
"""

from __future__ import annotations

import numpy as np

from match.graph.rows import (
    MOST_POWERS,
    ROOT_START,
    ROOT_STEPS,
    SPREAD_FRACTION,
    UPPER_FRACTION,
)
from match.ir.constants import Normalization
from match.ir.requantization import Requantization
from match.relay import integer_form, relay
from match.relay.fixed_point import alone, product


def normalization(x: relay.Expr, width: int, found: Normalization, scaled: Requantization, dtype: str) -> relay.Expr:
    """The rows of an 8-bit tensor (..., width), normalized, to `dtype`.

    Rows without a `centre` are centred on their mean: the zero point of x then cancels out.
    """
    values = relay.cast(x, "int32")
    if found.centre is not None:
        values = relay.subtract(values, relay.const(found.centre, "int32"))
    squares = relay.cast(relay.sum(relay.multiply(values, values), axis=-1, keepdims=True), "int64")
    variance = relay.multiply(squares, integer_form.int64(width))
    distance = relay.multiply(values, relay.const(width))
    if found.centre is None:
        total = relay.sum(values, axis=-1, keepdims=True)
        wide = relay.cast(total, "int64")
        variance = relay.subtract(variance, relay.multiply(wide, wide))
        distance = relay.subtract(distance, total)
    spread = alone(
        relay.add(relay.left_shift(variance, integer_form.int64(SPREAD_FRACTION)), integer_form.int64(found.spread))
    )
    powers = alone(_powers_of_4(spread))
    left = relay.cast(relay.subtract(relay.const(60), relay.add(powers, powers)), "int64")
    mantissa = relay.cast(relay.right_shift(relay.left_shift(spread, left), integer_form.int64(31)), "int32")
    inverse = relay.cast(_half_inverse_root(alone(mantissa)), "int64")
    root = ((width - 1).bit_length() + 1) // 2  # bits of the farthest distance in deviations
    # A power of two, as C has no left shift of negative numbers.
    places = relay.cast(relay.subtract(relay.const(33 - root), powers), "int64")
    factor = relay.left_shift(integer_form.int64(1), places)
    wide = relay.multiply(relay.multiply(relay.cast(distance, "int64"), factor), inverse)
    upper = relay.cast(relay.right_shift(wide, integer_form.int64(32)), "int32")
    bits = UPPER_FRACTION - root
    deviations = relay.right_shift(relay.add(upper, relay.const(1 << bits - 1)), relay.const(bits))
    sums = relay.multiply(deviations, relay.const(found.gains.astype(np.int32)))
    return integer_form.requantize(integer_form.real_sums(sums), scaled, dtype)


def _powers_of_4(spread: relay.Expr) -> relay.Expr:
    """By how many powers of 4 a spread, at least 1, is above 1."""
    counted: relay.Expr = relay.cast(relay.greater_equal(spread, integer_form.int64(4)), "int32")
    for power in range(2, MOST_POWERS + 1):
        above = relay.greater_equal(spread, integer_form.int64(1 << 2 * power))
        counted = relay.add(counted, relay.cast(above, "int32"))
    return counted


def _half_inverse_root(x: relay.Expr) -> relay.Expr:
    """``1 / (2 * sqrt(x))`` with 30 bits after the point of numbers from 1/4 to 1 with 31."""
    constant_term, slope = ROOT_START
    result = alone(relay.add(product(x, relay.const(slope)), relay.const(constant_term)))
    for _ in range(ROOT_STEPS):
        error = relay.subtract(relay.const(1 << 27), product(x, product(result, result)))
        result = alone(relay.add(result, relay.multiply(product(result, error), relay.const(8))))
    return result
