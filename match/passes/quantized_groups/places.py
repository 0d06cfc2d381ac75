"""Places of largest and smallest numbers along an axis, and tensors that mark them (ONNX's ArgMax, ArgMin, Hardmax)."""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.ir.dtypes import value_range
from match.relay import relay
from match.relay.qnn import dequantized
from match.relay.rewrite import New, is_call, scalar


def place(call: relay.Call, new: New) -> relay.Expr | None:
    """A place among numbers, which are in the order of the integers that they stand for.

    These are of 32 bits: among numbers of 8 TVM finds none where all are the least (argmax) or the largest (argmin).
    """
    real = dequantized(call.args[0]) if is_call(call, "argmax", "argmin") else None
    return None if real is None else relay.Call(call.op, [relay.cast(new(real.x), "int32")], call.attrs)


def marked(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """One number where indices point to along an axis, another elsewhere."""
    if not is_call(expr, "one_hot"):
        return None
    numbers = [scalar(number) for number in expr.args[1:]]
    if None in numbers:
        return None
    levels = quantize(np.array(numbers, np.float32), output, value_range(output.dtype)).tolist()
    at, other = (relay.const(level, output.dtype) for level in levels)
    return relay.one_hot(new(expr.args[0]), at, other, int(expr.attrs.depth), int(expr.attrs.axis), output.dtype)
