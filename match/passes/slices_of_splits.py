"""Splits become slices: operators that passes and modules know.

onnxruntime moves slices past a dequantize, but no splits: layers behind a split of real numbers are marked, since it
computes them in floating point.
"""

from __future__ import annotations

from dataclasses import dataclass

from match.passes.moves_in_bytes import MOVES
from match.relay import integer_form, relay, tvm
from match.relay.qnn import dequantized
from match.relay.rewrite import New, is_call, rebuild, rewrite, shape, with_place

_LAYERS = "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv2d_transpose", "nn.dense", "nn.batch_matmul"


@dataclass(frozen=True)
class SliceSplits:
    """Takes each `split` apart, and marks layers that read a part of a dequantized tensor."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if is_call(call, *_LAYERS):
        behind = [operand for operand in call.args if _is_part_of_dequantized(operand)]
        return rebuild(
            call, lambda operand: integer_form.real_sums(new(operand)) if operand in behind else new(operand)
        )
    if not is_call(call, "split"):
        return None
    axis, begin, parts = int(call.attrs.axis) % len(shape(call.args[0])), 0, list[relay.Expr]()
    for field in call.checked_type.fields:
        end = begin + int(field.shape[axis])
        parts.append(with_place(relay.strided_slice(new(call.args[0]), [begin], [end], axes=[axis]), call))
        begin = end
    return relay.Tuple(parts)


def _is_part_of_dequantized(expr: relay.Expr) -> bool:
    """Whether an expression is a part of a dequantized tensor that a split makes, with operators that move values."""
    split = False
    while is_call(expr, *MOVES) or isinstance(expr, relay.TupleGetItem):
        if isinstance(expr, relay.TupleGetItem):
            if not is_call(expr.tuple_value, "split"):
                return False
            expr, split = expr.tuple_value, True
        expr = expr.args[0]
    return split and dequantized(expr) is not None
