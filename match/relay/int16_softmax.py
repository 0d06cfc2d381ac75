"""Softmax of int16 tensors over the last axis as Relay operators (`match.graph.rows.Softmax16`)."""

from __future__ import annotations

import numpy as np

from match.arithmetic.tflite_functions import exponentials_of_16_bits, reciprocals_of_16_bits
from match.graph.rows import Softmax16
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.relay import integer_form, relay
from match.relay.fixed_point import alone, bits_of, scaled
from match.relay.integer_form import int64

_LEAST, _LARGEST = value_range("int16")


def int16_softmax(operator: Softmax16, x: relay.Expr, width: int) -> relay.Expr:
    """The softmax of a tensor with rows of `width` elements, int16."""
    whole = relay.cast(x, "int64")
    distance = relay.subtract(whole, relay.cast(relay.max(x, axis=-1, keepdims=True), "int64"))
    place = relay.add(scaled(distance, np.array(operator.mantissa), np.array(operator.exponent)), int64(_LARGEST))
    exponentials = alone(_interpolated(_within(place), exponentials_of_16_bits()))
    total = alone(relay.sum(exponentials, axis=-1, keepdims=True))
    bits = alone(bits_of(total, 15, 15 + width.bit_length()))
    shifted = relay.add(relay.left_shift(total, relay.subtract(int64(31), bits)), int64(1 << 13))
    place = relay.subtract(relay.right_shift(shifted, int64(14)), int64((1 << 15) + (1 << 16)))
    reciprocal = alone(_interpolated(_within(place), reciprocals_of_16_bits()))
    half = relay.left_shift(int64(1), relay.subtract(bits, int64(2)))
    product = relay.add(relay.multiply(exponentials, reciprocal), half)
    result = relay.right_shift(product, relay.subtract(bits, int64(1)))
    return integer_form.saturate(relay.cast(result, "int32"), (0, _LARGEST), "int16")


def _within(x: relay.Expr) -> relay.Expr:
    return alone(relay.minimum(relay.maximum(x, int64(_LEAST)), int64(_LARGEST)))


def _interpolated(x: relay.Expr, table: Int64Array) -> relay.Expr:
    """Between two of the 513 entries of a table, for int64 numbers of 16 bits: 9 bits are the place, 7 the rest."""
    place = relay.cast(relay.add(relay.right_shift(x, int64(7)), int64(256)), "int32")
    rest = relay.bitwise_and(x, int64(127))
    base, slope = (relay.take(int64(values), place) for values in (table[:-1], np.diff(table)))
    return relay.add(base, relay.right_shift(relay.add(relay.multiply(slope, rest), int64(64)), int64(7)))
