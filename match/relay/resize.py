"""Bilinear interpolation of maps in integers, as Relay operators: what TFLite Micro's kernel computes.

Each output is the sum of four inputs by their weights, which are in steps of 1/1024 along rows and columns, rounded
half away from zero once. Where the reference computes in floating point, each of the two weights is off
by at most 1/2048. Before an output is rounded, that moves it by at most ``2 * 255 / 2048`` steps.
"""

from __future__ import annotations

import numpy as np

from match.graph.resize import FRACTION, ONE, Resize
from match.relay import integer_form, relay


def resized(resize: Resize, x: relay.Expr, *, exact: bool = True) -> relay.Expr:
    """The interpolation of a map; not `exact` if the reference computes in floating point."""
    total = relay.cast(x, "int32")
    for axis, between in ((2, resize.columns), (1, resize.rows)):
        weight = between.weight.astype(np.int32).reshape(-1, *[1] * (3 - axis))
        below, above = (
            relay.take(total, relay.const(chosen.astype(np.int32)), axis=axis)
            for chosen in (between.below, between.above)
        )
        rest = relay.const(np.int32(ONE) - weight)
        total = relay.add(relay.multiply(below, rest), relay.multiply(above, relay.const(weight)))
    if not exact:
        total = integer_form.real_sums(total)
    distance = relay.subtract(total, relay.const(resize.zero << FRACTION)) if resize.zero else total
    negative = relay.right_shift(distance, relay.const(31))
    rounded = relay.add(relay.add(total, relay.const(1 << FRACTION - 1)), negative)
    return relay.cast(relay.right_shift(rounded, relay.const(FRACTION)), resize.dtype)
