"""The dataflow of a Relay function: order of computation and uses of values."""

from __future__ import annotations

import math

from match.relay import relay, tvm
from match.relay.objects import expressions, operands
from match.relay.rewrite import shape, source_name


def post_order(function: relay.Function) -> list[relay.Expr]:
    """Every expression of the function's body after those it is computed from."""
    return expressions(function)


def users(function: relay.Function) -> dict[relay.Expr, list[relay.Expr]]:
    """For each expression of the body, those that use its value; the function itself uses its result."""
    found: dict[relay.Expr, list[relay.Expr]] = {function.body: [function]}
    for expr in post_order(function):
        for child in operands(expr):
            found.setdefault(child, []).append(expr)
    return found


def elements_by_source(function: relay.Function) -> dict[str, int]:
    """Elements of the tensors that the model has names for; of several operators of a name those of the last."""
    found: dict[str, int] = {}
    for expr in post_order(function):
        name = source_name(expr)
        if name and isinstance(expr.checked_type, tvm.ir.TensorType):
            found[name] = math.prod(shape(expr))
    return found
