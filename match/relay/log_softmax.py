"""The logarithm of a softmax over the last axis, from integers to float32, as Relay operators.

With x's distance d to the row's largest value it is ``-scale * d - log(sum of exp(-scale * d))``. Exponentials have 31
bits after the point and are added exactly; what follows has as many bits as the largest number leaves, `fraction`.
Rounded exponentials, the logarithm and the distances together move an output by less than
``n * 2**-32 + 2**-27 + 2**-fraction``, n being a row's elements; then it is rounded to float32. The reference computes
all of it in float32, whose own roundings are larger.
"""

from __future__ import annotations

import numpy as np

from match.graph.rows import LOG_OF_2, LOG_SERIES, LogTables
from match.relay import integer_form, relay
from match.relay.fixed_point import alone, product

_FRACTION = 31


def log_softmax(x: relay.Expr, width: int, tables: LogTables) -> relay.Expr:
    """The logarithm of the softmax of an 8-bit tensor (..., width) of at most `LONGEST_REAL_ROW`, float32."""
    largest = relay.max(x, axis=-1, keepdims=True)
    distance = alone(relay.subtract(relay.cast(largest, "int32"), relay.cast(x, "int32")))
    values = relay.take(relay.const(tables.exponentials.astype(np.int32)), distance)
    total = alone(relay.sum(relay.cast(values, "int64"), axis=-1, keepdims=True))
    taken = relay.take(relay.const(tables.distances.astype(np.int32)), distance)
    steps = relay.subtract(taken, alone(_logarithm(total, width, tables.fraction)))
    return relay.multiply(relay.cast(steps, "float32"), relay.const(np.float32(0.5**tables.fraction)))


def _logarithm(total: relay.Expr, width: int, fraction: int) -> relay.Expr:
    """The natural logarithm with `fraction` bits, int32, of sums from 1 on with 31 bits after the point, int64.

    A sum is brought to a number from 1/2 to 1, u being its place between them from -1 to 1.
    """
    halvings: relay.Expr = relay.zeros_like(total)
    for bit in range(width.bit_length()):
        reached_it = relay.greater_equal(total, integer_form.int64(1 << (_FRACTION + bit)))
        halvings = relay.add(halvings, relay.cast(reached_it, "int64"))
    halvings = alone(halvings)
    from_middle = relay.subtract(relay.right_shift(total, halvings), integer_form.int64(3 << (_FRACTION - 2)))
    place = alone(relay.cast(relay.multiply(from_middle, integer_form.int64(4)), "int32"))
    first, *others = reversed(LOG_SERIES)
    result: relay.Expr = relay.const(first, "int32")
    for term in others:
        result = alone(relay.add(product(result, place), relay.const(term, "int32")))
    doubled = relay.subtract(halvings, integer_form.int64(1))
    wide = relay.add(relay.multiply(doubled, integer_form.int64(LOG_OF_2)), relay.cast(result, "int64"))
    return relay.cast(_half_up(wide, _FRACTION - fraction), "int32")


def _half_up(x: relay.Expr, bits: int) -> relay.Expr:
    half = integer_form.int64(1 << (bits - 1))
    return relay.right_shift(relay.add(x, half), integer_form.int64(bits))
