"""Sums and differences of two tensors of 16 bits as Relay operators (`match.graph.pairs.Int16Addition`)."""

from __future__ import annotations

import numpy as np

from match.graph.pairs import LEFT_SHIFT, Int16Addition
from match.relay import integer_form, relay
from match.relay.fixed_point import read_scaled, scaled
from match.relay.integer_form import int64
from match.relay.read import Read
from match.relay.rewrite import dtype, is_call, reached, same, shape


def int16_addition(addition: Int16Addition, a: relay.Expr, b: relay.Expr) -> relay.Expr:
    """The sum or difference of two tensors, int16."""
    left, right = (
        scaled(relay.multiply(relay.cast(x, "int64"), int64(1 << LEFT_SHIFT)), *scale)
        for x, scale in zip((a, b), addition.scales[:2], strict=True)
    )
    total = relay.add(left, right) if addition.sign > 0 else relay.subtract(left, right)
    return integer_form.saturate(relay.cast(scaled(total, *addition.scales[2]), "int32"), addition.clip, "int16")


def read_int16_addition(root: relay.Expr) -> Read[Int16Addition] | None:
    """Reads an addition back from a typed expression. None unless `int16_addition` gives just this expression."""
    if not is_call(root, "cast") or dtype(root) != "int16" or not is_call(root.args[0], "clip") or not shape(root):
        return None
    last = reached(root, "cast", "clip", "cast")
    sum_of = None if last is None else read_scaled(last)
    if sum_of is None or not is_call(sum_of[0], "add", "subtract"):
        return None
    total, *scale = sum_of
    both = [read_scaled(operand) for operand in total.args]
    if both[0] is None or both[1] is None:
        return None
    operands = [reached(one[0], "multiply", "cast") for one in both if one is not None]
    scales = np.array([one[1:] for one in both if one is not None] + [scale], np.int64)
    clip, (a, b) = root.args[0].attrs, operands
    if a is None or b is None or dtype(a) != "int16" or dtype(b) != "int16":
        return None
    sign = 1 if is_call(total, "add") else -1
    found = Int16Addition(scales=scales, sign=sign, clip=(int(clip.a_min), int(clip.a_max)))
    return Read(found, (a, b)) if same(root, int16_addition(found, a, b)) else None
