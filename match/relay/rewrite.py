"""Rebuilding a Relay function bottom-up, operator by operator: what rewrites of Relay are made of.

TVM's own mutators recurse in Python and so fail on deep networks; these walk the nodes in post-order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeGuard

import numpy.typing as npt

from match.ir.model_names import tensor_of
from match.relay import relay, tvm
from match.relay.objects import expressions, kept, main_function, operands

New = Callable[[relay.Expr], relay.Expr]
"""From an expression of the original function to what it became."""

Rule = Callable[[relay.Call, New], relay.Expr | None]
"""What a call becomes, given the original call (types inferred) and its operands' replacements; None rebuilds it."""


def rewrite(module: tvm.IRModule, rule: Rule) -> tvm.IRModule:
    """The module with `rule` applied to every call of "main" in post-order, types inferred again.

    A rule may look through its operands and use the replacement of any of them; what then has no user left is gone.
    If nothing changes, the result is the module itself.
    """
    main = main_function(module)
    replaced: dict[int, relay.Expr] = {}  # by address, for which TVM need not be asked

    def new(expr: relay.Expr) -> relay.Expr:
        return replaced[expr.handle.value]

    for node in expressions(main):
        replaced[node.handle.value] = _rebuilt(node, rule, new)
    body = new(main.body)
    if body == main.body:
        return module
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(main.params, body)))


def _rebuilt(node: Any, rule: Rule, new: New) -> relay.Expr:
    if isinstance(node, relay.Call):
        result = rule(node, new)
        return rebuild(node, new) if result is None else named(result, node)
    return rebuild(node, new)


def named(result: relay.Expr, call: relay.Expr) -> relay.Expr:
    """What a call became, with the call's place in the model if it has none of its own."""
    if not (isinstance(result, relay.Call) and isinstance(call, relay.Call)) or result.span or not call.span:
        return result
    return relay.Call(result.op, result.args, result.attrs, result.type_args, call.span)


def source_name(expr: relay.Expr) -> str:
    """Name of the model's tensor or operator that a call computes; empty if it is not known."""
    if not isinstance(expr, relay.Call) or expr.span is None:
        return ""
    return tensor_of(str(expr.span.source_name.name))


def rebuild(expr: relay.Expr, new: New) -> relay.Expr:
    """The same operator, with the same attributes, on the replaced operands; itself if no operand is another one.

    A part of what became a tuple is that part.
    """
    before = operands(expr)
    after = [new(operand) for operand in before]
    if after == before:
        return expr
    if isinstance(expr, relay.Call):
        return relay.expr._ffi_api.CallWithFields(expr, None, after, None, None, None, None)
    if isinstance(expr, relay.Tuple):
        return relay.Tuple(after)
    (tensors,) = after
    return tensors.fields[expr.index] if isinstance(tensors, relay.Tuple) else relay.TupleGetItem(tensors, expr.index)


def operator_name(expr: relay.Expr) -> str:
    """The operator that `expr` calls, or "" if it is no call of an operator.

    The Python object keeps the name: rules and readers ask for it again and again, and TVM takes long to answer.
    """
    if not isinstance(expr, relay.Call):
        return ""
    return kept(expr, "match_name", lambda call: _names().get(call.op.handle.value, ""))


@cache
def _names() -> dict[int, str]:
    """The name of each operator by its address, which is its own for good; to ask TVM for a name takes three calls."""
    return {tvm.ir.Op.get(str(name)).handle.value: str(name) for name in tvm.ir.Op.list_op_names()}


def is_call(expr: relay.Expr, *names: str) -> TypeGuard[relay.Call]:
    """Whether `expr` calls one of the operators."""
    return operator_name(expr) in names


def constant(expr: relay.Expr) -> npt.NDArray[Any] | None:
    """The array of a constant; None for other expressions."""
    return kept(expr, "match_array", _array) if isinstance(expr, relay.Constant) else None


def _array(expr: relay.Expr) -> npt.NDArray[Any]:
    array = expr.data.numpy()
    array.setflags(write=False)
    return array


def scalar(expr: relay.Expr) -> Any:
    """The one number in a constant of one element, as a NumPy scalar; None for other expressions."""
    array = constant(expr)
    return array.reshape(-1)[0] if array is not None and array.size == 1 else None


def shape(expr: relay.Expr) -> tuple[int, ...]:
    """The static shape of a typed expression."""
    return kept(expr, "match_shape", lambda typed: tuple(int(extent) for extent in typed.checked_type.shape[:]))


def dtype(expr: relay.Expr) -> str:
    """The element type of a typed expression."""
    return kept(expr, "match_dtype", lambda typed: str(typed.checked_type.dtype))


def is_8bit(expr: relay.Expr) -> bool:
    """Whether a typed expression is a tensor of int8 or uint8."""
    return isinstance(expr.checked_type, tvm.ir.TensorType) and dtype(expr) in ("int8", "uint8")


def is_narrow(expr: relay.Expr) -> bool:
    """Whether a typed expression is a tensor of int8, uint8 or int16."""
    return is_8bit(expr) or (isinstance(expr.checked_type, tvm.ir.TensorType) and dtype(expr) == "int16")


def permutation(transpose: relay.Call) -> tuple[int, ...]:
    """For each axis of a transposition's result that of its operand, counted from the front."""
    axes, rank = transpose.attrs.axes, len(shape(transpose))
    return tuple(reversed(range(rank))) if axes is None else tuple(int(axis) % rank for axis in axes)
