"""Bilinear interpolation of maps in integers, as Relay operators: what TFLite Micro's kernel computes.

Each output is the sum of four inputs by their weights, which are in steps of 1/1024 along rows and columns, rounded
half away from zero once. Where the reference computes in floating point, each of the two weights is off
by at most 1/2048. Before an output is rounded, that moves it by at most ``2 * 255 / 2048`` steps.
"""

from __future__ import annotations

import numpy as np

from match.graph.resize import FRACTION, ONE, Between, Resize
from match.ir.requantization import Int64Array
from match.relay import integer_form, relay
from match.relay.read import Read
from match.relay.rewrite import constant, dtype, is_8bit, is_call, reached, same, scalar, shape


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


def read_resize(root: relay.Expr) -> Read[Resize] | None:
    """The interpolation that a typed expression is, every operator of it; None for other expressions."""
    if not is_call(root, "cast") or not is_8bit(root) or not is_call(root.args[0], "right_shift"):
        return None
    distance = reached(root, "cast", "right_shift", ("add", 1), "right_shift")
    total = reached(root, "cast", "right_shift", "add", "add")
    if distance is None or total is None:
        return None
    zero = scalar(distance.args[1]) if is_call(distance, "subtract") else 0
    exact = not integer_form.is_real_sums(total)
    total = integer_form.unmarked(total)
    inner = reached(total, "add", "multiply", "take")
    x = reached(inner, "add", "multiply", "take", "cast") if inner else None
    rows, columns = _between(total), _between(inner) if inner else None
    if rows is None or columns is None or x is None or zero is None or not is_8bit(x):
        return None
    found = Resize(rows=rows, columns=columns, zero=int(zero) >> FRACTION, dtype=dtype(root))
    one_map = len(shape(x)) == 4 and shape(x)[0] == 1
    return Read(found, (x,), exact) if one_map and same(root, resized(found, x, exact=exact)) else None


def _between(total: relay.Expr) -> Between | None:
    """What a sum of two weighted selections takes."""
    if not is_call(total, "add"):
        return None
    chosen: list[Int64Array] = []
    for product in total.args:
        take = product.args[0] if is_call(product, "multiply") else None
        indices = constant(take.args[1]) if take is not None and is_call(take, "take") else None
        if indices is None or indices.ndim != 1:
            return None
        chosen.append(indices.astype(np.int64))
    weight = constant(total.args[1].args[1])
    return None if weight is None else Between(chosen[0], chosen[1], weight.reshape(-1).astype(np.int64))
