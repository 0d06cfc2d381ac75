"""Sums and differences of two tensors of 16 bits, as TFLite Micro computes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.ir.requantization import Int64Array
from match.relay import integer_form, relay
from match.relay.fixed_point import read_scaled, scaled
from match.relay.integer_form import int64
from match.relay.rewrite import dtype, is_call, reached, same, shape

LEFT_SHIFT = 15
"""Bits by which both operands are shifted left before they are scaled."""


@dataclass(frozen=True, eq=False)
class Int16Addition:
    """Both operands in steps of twice the larger scale, added or subtracted, and scaled to the output.

    scales: int64 of shape (3, 2), mantissa and exponent, which is 0 or less, of the first operand, of the second, and
        of their sum.
    sign: -1 of a difference, else 1.
    """

    operands: tuple[relay.Expr, relay.Expr]
    scales: Int64Array
    sign: int
    clip: tuple[int, int]

    def build(self, a: relay.Expr, b: relay.Expr) -> relay.Expr:
        """The expression, of other operands."""
        left, right = (
            scaled(relay.multiply(relay.cast(x, "int64"), int64(1 << LEFT_SHIFT)), *scale)
            for x, scale in zip((a, b), self.scales[:2], strict=True)
        )
        total = relay.add(left, right) if self.sign > 0 else relay.subtract(left, right)
        return integer_form.saturate(relay.cast(scaled(total, *self.scales[2]), "int32"), self.clip, "int16")


def read_int16_addition(root: relay.Expr) -> Int16Addition | None:
    """Reads an addition back from a typed expression. None unless `build` gives just this expression."""
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
    found = Int16Addition((a, b), scales, sign, (int(clip.a_min), int(clip.a_max)))
    return found if same(root, found.build(a, b)) else None
