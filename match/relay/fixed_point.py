"""Arithmetic in fixed point as Relay operators: numbers between -1 and 1 as int32 with 31 bits after the point."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from match.ir.requantization import Int64Array
from match.relay import integer_form, relay
from match.relay.rewrite import is_8bit, is_call, reached, scalar

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


def read_scaled(expr: relay.Expr) -> tuple[relay.Expr, int, int] | None:
    """The arguments of `scaled`, read back from its result: the numbers, one mantissa and one exponent.

    None if the result has another form. The operators are not all compared: build the expression again to be sure.
    """
    bits, total = scalar(expr.args[1]) if is_call(expr, "right_shift") else None, reached(expr, "right_shift", "add")
    if bits is None or total is None:
        return None
    if not is_call(total, "multiply"):
        high = read_scaled(total.args[0]) if is_call(total, "add") else None
        return None if high is None or high[2] else (*high[:2], -int(bits))
    mantissa = scalar(total.args[1])
    if mantissa is None or bits != 31:
        return None
    left = max(int(mantissa).bit_length() - 31, 0)
    return total.args[0], int(mantissa) >> left, left


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


def inside(root: relay.Expr) -> frozenset[relay.Call]:
    """The operators of a function in fixed point that ends in a typed expression, between 8 bits and 8 bits.

    Every such function has values that are marked with `alone`; an expression without one is no such function. The
    largest element of a row has 8 bits and is inside nevertheless: softmax begins with it.
    """
    found: set[relay.Call] = set()
    if not is_call(root, "cast") or not is_8bit(root) or not is_call(root.args[0], "clip"):
        return frozenset()
    waiting: list[relay.Expr] = [root]
    while waiting:
        call = waiting.pop()
        if (
            isinstance(call, relay.Call)
            and call not in found
            and (call == root or is_call(call, "max") or not is_8bit(call))
        ):
            found.add(call)
            waiting += call.args
    return frozenset(found) if any(is_call(call, ALONE) for call in found) else frozenset()
