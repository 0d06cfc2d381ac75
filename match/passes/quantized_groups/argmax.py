"""ArgMax and ArgMin of integers, and the one-hot tensors that ONNX's Hardmax makes of them."""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.ir.dtypes import value_range
from match.relay import relay
from match.relay.qnn import dequantized
from match.relay.rewrite import New, is_call, scalar


def argmax(call: relay.Call, new: New) -> relay.Expr | None:
    """The index of the largest or smallest dequantized number, found among the integers, which have the same order.

    The integers are cast to int32: among numbers of 8 bits TVM finds no index where all are the type's least (argmax)
    or largest (argmin).
    """
    real = dequantized(call.args[0]) if is_call(call, "argmax", "argmin") else None
    return None if real is None else relay.Call(call.op, [relay.cast(new(real.x), "int32")], call.attrs)


def one_hot(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A tensor with one number at the indices along an axis and another number elsewhere, in 8 bits."""
    if not is_call(expr, "one_hot"):
        return None
    numbers = [scalar(number) for number in expr.args[1:]]
    if None in numbers:
        return None
    levels = quantize(np.array(numbers, np.float32), output, value_range(output.dtype)).tolist()
    at, other = (relay.const(level, output.dtype) for level in levels)
    return relay.one_hot(new(expr.args[0]), at, other, int(expr.attrs.depth), int(expr.attrs.axis), output.dtype)
