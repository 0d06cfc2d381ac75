"""Concatenations of many tensors as trees of concatenations of two tensors, as modules take them."""

from __future__ import annotations

from collections.abc import Sequence

from match.ir.layer import Op
from match.relay import relay, tvm
from match.relay.objects import operands
from match.relay.places import parts_of
from match.relay.rewrite import New, is_call, is_narrow, rewrite, with_place
from match.target.hardware import MatchTarget


def in_pairs(module: tvm.IRModule, target: MatchTarget) -> tvm.IRModule:
    """A network whose concatenations of 8 or 16 bits join two tensors each, if a module of the target takes some.

    A concatenation of n tensors becomes a balanced tree, which copies each tensor at most ⌈log2 n⌉ times. Where it
    joins the parts of an operator, so do all of the tree.
    """
    taken = any(Op.CONCATENATE in pattern.ops for pattern in target.patterns)
    return rewrite(module, _rule) if taken else module


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "concatenate") or not is_narrow(call) or not isinstance(call.args[0], relay.Tuple):
        return None
    fields = operands(call.args[0])
    if len(fields) <= 2:
        return None
    joined = _joined([new(field) for field in fields], int(call.attrs.axis))
    return with_place(joined, call) if parts_of(call) > 1 else joined


def _joined(tensors: Sequence[relay.Expr], axis: int) -> relay.Expr:
    if len(tensors) == 1:
        return tensors[0]
    middle = (len(tensors) + 1) // 2
    return relay.concatenate([_joined(tensors[:middle], axis), _joined(tensors[middle:], axis)], axis)
