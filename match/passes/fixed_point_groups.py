"""dequantize → function → quantize groups, as TVM imports TFLite's functions, in TFLite Micro's fixed point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.arithmetic import tflite_functions
from match.arithmetic.interface import QuantizedType
from match.graph.rows import LONGEST_ROW
from match.ir.dtypes import value_range
from match.relay import integer_form, relay, tvm
from match.relay.qnn import dequantized, quantized
from match.relay.rewrite import New, is_call, operator_name, rewrite, scalar, shape
from match.relay.softmax import softmax

_TABLES = {"sigmoid": tflite_functions.logistic, "tanh": tflite_functions.tanh}


@dataclass(frozen=True)
class FuseFixedPointGroups:
    """Softmax becomes operators on integers; logistic, hyperbolic tangent and hard swish become tables.

    Only what TFLite Micro defines: its functions ask for scales of their own at the output. Other groups stay.
    """

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    output = quantized(call)
    if output is None:
        return None
    return _table(call.args[0], output, new) or _softmax(call.args[0], output, new)


def _table(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    gated = _gated(expr)
    function = tflite_functions.hard_swish if gated else _TABLES.get(operator_name(expr))
    source = dequantized(gated or expr.args[0]) if function else None
    if function is None or source is None:
        return None
    inputs = source.quantization
    outputs = function(inputs, output)
    return None if outputs is None else integer_form.lookup(new(source.x), outputs, inputs.dtype, output.dtype)


def _softmax(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    if not is_call(expr, "nn.softmax"):
        return None
    scores, beta = expr.args[0], np.float32(1)
    if is_call(scores, "multiply"):
        scores, factor = scores.args[0], scalar(scores.args[1])
        if factor is None:
            return None
        beta = factor
    source = dequantized(scores)
    last = len(shape(expr)) - 1
    steps = output.scale == np.float32(1 / 256) and output.zero_point == value_range(output.dtype)[0]
    if source is None or int(expr.attrs.axis) % (last + 1) != last or not steps or shape(expr)[last] > LONGEST_ROW:
        return None
    exponentials = tflite_functions.exponentials(source.quantization.scale, beta)
    return softmax(new(source.x), shape(expr)[last], exponentials, output.dtype, output.zero_point)


def _gated(expr: relay.Expr) -> relay.Expr | None:
    """x, if the expression is ``x * clip(x + 3, 0, 6) / 6``."""
    if not is_call(expr, "divide") or scalar(expr.args[1]) != 6 or not is_call(expr.args[0], "multiply"):
        return None
    x, gate = expr.args[0].args
    if not is_call(gate, "clip") or (gate.attrs.a_min, gate.attrs.a_max) != (0, 6):
        return None
    moved = gate.args[0]
    return x if is_call(moved, "add") and moved.args[0] == x and scalar(moved.args[1]) == 3 else None
