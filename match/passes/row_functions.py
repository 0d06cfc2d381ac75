"""dequantize → function of a row → quantize groups, as ONNX writes them, in integers.

The reference computes them in floating point; outputs are within one step of its.
"""

from __future__ import annotations

from dataclasses import dataclass

from match.arithmetic import onnxruntime
from match.arithmetic.interface import QuantizedType
from match.relay import relay, tvm
from match.relay.qnn import quantization
from match.relay.rewrite import New, dtype, is_8bit, is_call, rewrite, shape
from match.relay.softmax import LONGEST_REAL_ROW, Steps, softmax


@dataclass(frozen=True)
class FuseRowFunctions:
    """Softmax along the last axis becomes operators on integers."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "qnn.quantize") or not is_8bit(call):
        return None
    output = quantization(call.args[1], call.args[2], dtype(call))
    return None if output is None else _softmax(call.args[0], output, new)


def _softmax(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    if not is_call(expr, "nn.softmax"):
        return None
    scores, last = expr.args[0], len(shape(expr)) - 1
    if int(expr.attrs.axis) % (last + 1) != last or not is_call(scores, "qnn.dequantize"):
        return None
    x, width = scores.args[0], shape(expr)[last]
    inputs = quantization(scores.args[1], scores.args[2], dtype(x)) if is_8bit(x) else None
    steps = Steps.of(onnxruntime.softmax_levels(output.scale))
    if inputs is None or steps is None or width > LONGEST_REAL_ROW:
        return None
    exponentials = onnxruntime.softmax_exponentials(inputs.scale)
    return softmax(new(x), width, exponentials, output.dtype, output.zero_point, steps)
