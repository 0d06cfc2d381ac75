"""Concatenations of many tensors as trees of concatenations of two tensors, as modules take them."""

from __future__ import annotations

from collections.abc import Sequence

from match.ir.layer import Op
from match.relay import relay, tvm
from match.relay.objects import operands
from match.relay.rewrite import New, is_call, is_narrow, rewrite
from match.target.hardware import MatchTarget


def in_pairs(module: tvm.IRModule, target: MatchTarget) -> tvm.IRModule:
    """A network whose concatenations of 8 or 16 bits join two tensors each, if a module of the target takes some.

    A concatenation of n tensors becomes a balanced tree, which copies each tensor at most ⌈log2 n⌉ times.
    """
    taken = any(Op.CONCATENATE in pattern.ops for pattern in target.patterns)
    return rewrite(module, _rule) if taken else module


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "concatenate") or not is_narrow(call) or not isinstance(call.args[0], relay.Tuple):
        return None
    fields = operands(call.args[0])
    return _joined([new(field) for field in fields], int(call.attrs.axis)) if len(fields) > 2 else None


def _joined(tensors: Sequence[relay.Expr], axis: int) -> relay.Expr:
    if len(tensors) == 1:
        return tensors[0]
    middle = (len(tensors) + 1) // 2
    return relay.concatenate([_joined(tensors[:middle], axis), _joined(tensors[middle:], axis)], axis)
