"""Operators that move values: they lose the dequantize and quantize around them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeGuard

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.graph.value import Value
from match.ir.dtypes import value_range
from match.ir.graph import Tensor
from match.ir.moves import REARRANGEMENTS
from match.passes.quantized_groups.quantities import rescaled
from match.quantized.largest import pooled_largest, pooled_smallest
from match.relay import relay
from match.relay.fragments import relay_of
from match.relay.qnn import dequantized, real_constant
from match.relay.rewrite import New, constant, is_call, scalar, shape

_MOVES = (
    *(*REARRANGEMENTS, "strided_slice", "tile", "broadcast_to", "nn.depth_to_space", "nn.space_to_depth"),
    *("nn.max_pool2d", "max", "min"),
)
_PAD = "nn.pad"
_LARGEST = "nn.global_max_pool2d"


def moved(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Operators that move values, or nothing at all, between a dequantize and a quantize."""
    moves: list[relay.Call] = []
    while is_call(expr, _PAD, _LARGEST, *_MOVES) or _takes(expr):
        moves.append(expr)
        expr = expr.args[0]
    rows, real = _rows_of_table(expr, output, new), dequantized(expr)
    if rows is not None:
        result, own = rows, output
    elif real is not None:
        result, own = new(real.x), real.quantization
    else:
        return None
    for call in reversed(moves):
        enlarges = not is_call(call, "strided_slice") and math.prod(shape(call)) > math.prod(shape(call.args[0]))
        if enlarges:  # the smaller tensor takes the new scale
            result, own = rescaled(result, own, output), output
        result = on_integers(call, result, own)
        if result is None:
            return None
    return rescaled(result, own, output)


def moved_behind(
    expr: relay.Expr, output: QuantizedType, quantize: Callable[[relay.Expr], relay.Expr]
) -> relay.Expr | None:
    """One operator that moves values on what `quantize` makes of its operand; None for other operators."""
    if not is_call(expr, _PAD, _LARGEST, *_MOVES):
        return None
    return on_integers(expr, quantize(expr.args[0]), output)


def _rows_of_table(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Rows of a constant table, chosen by indices of the network (such as words), as 8-bit integers; else None."""
    if not is_call(expr, "take") or constant(expr.args[1]) is not None:
        return None
    values = real_constant(expr.args[0])
    if values is None or values.dtype != np.float32:
        return None
    integers = quantize(values, output, value_range(output.dtype)).astype(output.dtype)
    return relay.Call(expr.op, [relay.const(integers), new(expr.args[1])], expr.attrs)


def on_integers(move: relay.Call, x: relay.Expr, own: QuantizedType) -> relay.Expr | None:
    """An operator on an 8-bit tensor; None for a pad whose value is not a constant."""
    if is_call(move, _LARGEST):
        layout, extents = str(move.attrs.layout), shape(move.args[0])
        return relay.nn.max_pool2d(x, [extents[layout.index(axis)] for axis in "HW"], layout=layout)
    if is_call(move, "take") and not shape(move.args[1]):
        axis, place = int(move.attrs.axis) % len(shape(move.args[0])), int(scalar(move.args[1]))
        return relay.squeeze(relay.strided_slice(x, [place], [place + 1], axes=[axis]), [axis])
    if is_call(move, "broadcast_to"):
        after, before = shape(move), shape(move.args[0])
        before = (*[1] * (len(after) - len(before)), *before)
        repeats = [whole // own for whole, own in zip(after, before, strict=True)]
        return relay.tile(relay.reshape(x, before), repeats)
    if is_call(move, "max"):
        return _pooled(pooled_largest, move, x, own.dtype)
    if is_call(move, "min"):
        return _pooled(pooled_smallest, move, x, own.dtype)
    if not is_call(move, _PAD):
        return relay.Call(move.op, [x, *move.args[1:]], move.attrs)
    value = real_number(move.args[1])
    if value is None:
        return None
    integer = quantize(np.array([value], np.float32), own, value_range(own.dtype))
    return relay.Call(move.op, [x, relay.const(int(integer[0]), own.dtype)], move.attrs)


def _pooled(pooled: Callable[[Value, list[int]], Value], move: relay.Call, x: relay.Expr, dtype: str) -> relay.Expr:
    """The largest or the smallest of 8-bit numbers along the axes that a reduction of real numbers reduces."""
    levels = Value(Tensor(shape(move.args[0]), dtype))
    return relay.reshape(relay_of(pooled(levels, _reduced(move)), {levels: x}), shape(move))


def _reduced(reduction: relay.Call) -> list[int]:
    """The axes along which a reduction goes, in their order."""
    rank, attrs = len(shape(reduction.args[0])), reduction.attrs
    named = {int(axis) % rank for axis in attrs.axis or ()} or set(range(rank))
    return [axis for axis in range(rank) if (axis in named) != bool(attrs.exclude)]


def _takes(expr: relay.Expr) -> TypeGuard[relay.Call]:
    """Whether an expression is a tensor's elements at constant places of an axis, or at one, without that axis."""
    if not is_call(expr, "take") or expr.attrs.axis is None or constant(expr.args[0]) is not None:
        return False
    indices = constant(expr.args[1])
    return indices is not None and indices.ndim <= 1


def real_number(expr: relay.Expr) -> float | None:
    """A constant number, which may be an element of a quantized constant; None for other expressions."""
    if is_call(expr, "take") and scalar(expr.args[1]) == 0:
        expr = expr.args[0]
    values = real_constant(expr)
    return float(values.reshape(-1)[0]) if values is not None and values.size == 1 else None
