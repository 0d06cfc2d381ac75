"""Removes operators that do nothing: reshapes in a row or to the same shape, casts to the same type, idle clips.

Slices of the whole and extrema of a tensor and itself do nothing, either. A transposition in which only extents of 1
change their places is a reshape.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from match.ir.dtypes import value_range
from match.ir.moves import RESHAPES
from match.relay import relay, tvm
from match.relay.rewrite import New, dtype, is_8bit, is_call, keeps_order, permutation, rewrite, shape


@dataclass(frozen=True)
class RemoveIdle:
    """Leaves one reshape of several in a row, and drops what returns its operand unchanged."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if _idle(call):
        return new(call.args[0])
    if is_call(call, "maximum", "minimum"):
        return _of_itself(call, new)
    if not _reshapes(call):
        return None
    source = _in_order(call.args[0])
    if shape(source) == shape(call):
        return new(source)
    alone = is_call(call, "reshape") and source == call.args[0]
    return None if alone else relay.reshape(new(source), shape(call))


def _of_itself(call: relay.Call, new: New) -> relay.Expr | None:
    """An extremum of a tensor and itself, in whatever shapes: the tensor."""
    sources = [new(_in_order(operand)) for operand in call.args]
    if sources[0] != sources[1] or any(math.prod(shape(x)) != math.prod(shape(call)) for x in call.args):
        return None
    first = _in_order(call.args[0])
    return sources[0] if shape(first) == shape(call) else relay.reshape(sources[0], shape(call))


def _in_order(expr: relay.Expr) -> relay.Expr:
    """The tensor whose elements an expression has, in their order."""
    while _reshapes(expr) or (isinstance(expr, relay.Call) and _idle(expr)):
        expr = expr.args[0]
    return expr


def _reshapes(expr: relay.Expr) -> bool:
    """Whether an operator leaves all elements in their order."""
    if is_call(expr, "transpose"):
        return keeps_order(shape(expr.args[0]), permutation(expr))
    return is_call(expr, *RESHAPES)


def _idle(call: relay.Call) -> bool:
    """Whether an operator returns its operand unchanged."""
    if is_call(call, "cast"):
        return dtype(call.args[0]) == dtype(call)
    if is_call(call, "clip") and is_8bit(call):
        low, high = value_range(dtype(call))
        return bool(call.attrs.a_min <= low and call.attrs.a_max >= high)
    if is_call(call, "strided_slice"):
        forwards = all(int(stride) > 0 for stride in call.attrs.strides)
        return forwards and shape(call.args[0]) == shape(call)
    return False
