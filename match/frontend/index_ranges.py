"""Which values the inputs of a network may have that choose rows or elements of tensors, such as words of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from match.frontend.bounds import EVERY, Bounds, clipped, with_bounds
from match.frontend.model import ModelTensor
from match.ir.moves import REARRANGEMENTS
from match.relay import relay, tvm
from match.relay.objects import expressions, main_function, operands
from match.relay.rewrite import constant, is_call, operator_name, scalar, shape

_MOVING = frozenset(
    {*REARRANGEMENTS, "broadcast_to", "cast", "concatenate", "repeat", "split", "strided_slice", "take", "tile"}
)
"""Operators whose output has values of their first operand; of a cast those that the other type has."""

_GATHERING = "take", "gather", "gather_nd"
"""Operators that choose elements of their first operand by their second."""


def with_index_ranges(tensors: Sequence[ModelTensor], module: tvm.IRModule) -> tuple[ModelTensor, ...]:
    """The inputs of a network (`module`, types inferred), each with the range of its indices if it has some."""
    main = main_function(module)
    accepted: dict[relay.Expr, Bounds] = {}
    for expr in reversed(expressions(main)):
        for operand, bounds in _demands(expr, accepted.get(expr)):
            low, high = accepted.get(operand, EVERY)
            accepted[operand] = max(low, bounds[0]), min(high, bounds[1])
    return tuple(
        with_bounds(tensor, accepted.get(parameter)) for tensor, parameter in zip(tensors, main.params, strict=True)
    )


def _demands(expr: relay.Expr, own: Bounds | None) -> list[tuple[relay.Expr, Bounds]]:
    """What an expression asks of its operands, whose own users take values in `own` only; None: any."""
    if not isinstance(expr, relay.Call):
        return [] if own is None else [(operand, own) for operand in operands(expr)]
    name = operator_name(expr)
    asked: list[tuple[relay.Expr, Bounds]] = []
    if name in _GATHERING:
        asked.append((expr.args[1], (0, _extent(expr, name) - 1)))
    if own is None:
        return asked
    if name == "where":
        return asked + _from_the_end(expr, own)
    if name in ("add", "subtract"):
        return asked + _moved(expr, own, name)
    if name == "clip":
        return [(expr.args[0], clipped(own, expr.attrs.a_min, expr.attrs.a_max))]
    if name in ("maximum", "minimum"):
        bound = scalar(expr.args[1])
        ends = (bound, None) if name == "maximum" else (None, bound)
        return [] if bound is None else [(expr.args[0], clipped(own, *ends))]
    return [*asked, (expr.args[0], own)] if name in _MOVING else asked


def _extent(call: relay.Call, name: str) -> int:
    """How many elements the indices of a call choose from; the fewest, where they are of several axes."""
    extents = shape(call.args[0])
    if name == "take" and call.attrs.axis is None:
        return int(np.prod(extents))
    if name == "gather_nd":
        first = int(call.attrs.batch_dims)
        return min(extents[first : first + shape(call.args[1])[0]])
    return extents[int(call.attrs.axis)]


def _from_the_end(where: relay.Call, own: Bounds) -> list[tuple[relay.Expr, Bounds]]:
    """``where(x < 0, x + n, x)``: indices that may count from the end of an axis of n elements."""
    condition, moved, x = where.args
    if not is_call(condition, "less") or not is_call(moved, "add") or condition.args[0] != x or moved.args[0] != x:
        return []
    extent: Any = scalar(moved.args[1])
    if scalar(condition.args[1]) != 0 or extent is None:
        return []
    low, high = own
    # Where not all of the last elements may be chosen, negative indices are not one range with the others.
    return [(x, (low - int(extent) if low <= 0 and high >= int(extent) - 1 else max(low, 0), high))]


def _moved(call: relay.Call, own: Bounds, name: str) -> list[tuple[relay.Expr, Bounds]]:
    """Indices plus or minus a constant."""
    x, offset = call.args
    array = constant(offset)
    if array is None:
        return []
    offsets = array if name == "add" else -array
    return [(x, (own[0] - int(offsets.min()), own[1] - int(offsets.max())))]
