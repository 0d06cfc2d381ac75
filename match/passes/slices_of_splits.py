"""Splits become slices: operators that passes and modules know.

onnxruntime moves slices past a dequantize, but not splits. An operator that reads a part of a split of dequantized
numbers is computed in floating point. So the parts are marked (`match.relay.integer_form.real_sums`).
"""

from __future__ import annotations

from dataclasses import dataclass

from match.passes.moves_in_bytes import MOVES
from match.relay import integer_form, relay, tvm
from match.relay.qnn import dequantized
from match.relay.rewrite import New, is_call, rewrite, shape, with_place


@dataclass(frozen=True)
class SliceSplits:
    """Takes each `split` apart, and marks the parts of a dequantized tensor."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "split"):
        return None
    marked = _is_dequantized(call.args[0])
    axis, begin, parts = int(call.attrs.axis) % len(shape(call.args[0])), 0, list[relay.Expr]()
    for field in call.checked_type.fields:
        end = begin + int(field.shape[axis])
        part = with_place(relay.strided_slice(new(call.args[0]), [begin], [end], axes=[axis]), call)
        parts.append(integer_form.real_sums(part) if marked else part)
        begin = end
    return relay.Tuple(parts)


def _is_dequantized(expr: relay.Expr) -> bool:
    """Whether an expression is a dequantized tensor, with operators behind it that move values."""
    while is_call(expr, *MOVES):
        expr = expr.args[0]
    return dequantized(expr) is not None
