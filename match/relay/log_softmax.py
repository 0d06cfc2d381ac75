"""The logarithm of a softmax over the last axis, from integers to float32, as Relay operators.

With x's distance d to the row's largest value it is ``-scale * d - log(sum of exp(-scale * d))``. Exponentials have 31
bits after the point and are added exactly; what follows has as many bits as the largest number leaves, `fraction`.
Rounded exponentials, the logarithm and the distances together move an output by less than
``n * 2**-32 + 2**-27 + 2**-fraction``, n being a row's elements; then it is rounded to float32. The reference computes
all of it in float32, whose own roundings are larger.
"""

from __future__ import annotations

import math

import numpy as np

from match.graph.rows import LOG_OF_2, LOG_SERIES, LONGEST_REAL_ROW, MOST_LOG_FRACTION, LogSoftmax, LogTables
from match.relay import integer_form, relay
from match.relay.fixed_point import alone, product
from match.relay.read import Read
from match.relay.rewrite import constant, is_8bit, is_call, reached, same, scalar, shape

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


def read_log_softmax(root: relay.Expr) -> Read[LogSoftmax] | None:
    """The `log_softmax` that a typed expression is, every operator of it; None for other expressions."""
    steps = reached(root, "multiply", "cast")
    if steps is None or not is_call(steps, "subtract") or not is_call(steps.args[0], "take"):
        return None
    step, distances, distance = scalar(root.args[1]), constant(steps.args[0].args[0]), steps.args[0].args[1]
    largest = reached(distance, "annotation.stop_fusion", "subtract", "cast")
    total = steps.args[1]
    while isinstance(total, relay.Call) and total.args and not is_call(total, "sum"):
        total = total.args[0]
    values = reached(total, "sum", "cast")
    if step is None or distances is None or values is None or largest is None:
        return None
    if not is_call(values, "take") or not is_call(largest, "max"):
        return None
    x, exponentials = largest.args[0], constant(values.args[0])
    if exponentials is None or distances.shape != (256,) or exponentials.shape != (256,) or not is_8bit(x):
        return None
    fraction = -math.frexp(float(step))[1] + 1
    tables = LogTables(exponentials.astype(np.int64), distances.astype(np.int64), fraction)
    width = shape(x)[-1]
    found = (
        width <= LONGEST_REAL_ROW and 0 < fraction <= MOST_LOG_FRACTION and same(root, log_softmax(x, width, tables))
    )
    return Read(LogSoftmax(tables=tables), (x,), exact=False) if found else None


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
