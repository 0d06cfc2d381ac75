"""The dataflow of a Relay function: order of computation and uses of values."""

from __future__ import annotations

from collections.abc import Sequence

from match.relay import relay


def post_order(function: relay.Function) -> list[relay.Expr]:
    """Every expression of the function's body after those it is computed from."""
    order: list[relay.Expr] = []
    relay.analysis.post_order_visit(function.body, order.append)
    return order


def users(function: relay.Function) -> dict[relay.Expr, list[relay.Expr]]:
    """For each expression of the body, those that use its value; the function itself uses its result."""
    found: dict[relay.Expr, list[relay.Expr]] = {function.body: [function]}
    for expr in post_order(function):
        for child in _children(expr):
            found.setdefault(child, []).append(expr)
    return found


def _children(expr: relay.Expr) -> Sequence[relay.Expr]:
    if isinstance(expr, relay.Call):
        return list(expr.args)
    if isinstance(expr, relay.Tuple):
        return list(expr.fields)
    if isinstance(expr, relay.TupleGetItem):
        return [expr.tuple_value]
    return []
