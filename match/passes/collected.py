"""Elements of a map at constant places, some of them replaced by zero, as rows taken from the map's 8 bits.

PyTorch exports adaptive average pooling with windows of several sizes this way: a GatherND takes as many elements for
each window as the largest has, a Where puts zero where a window has fewer, and one element of each window after the
other is taken and added. Zero is the zero point of 8 bits, so that the chosen elements are the same before a
dequantize.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import QuantizedType
from match.relay import relay, tvm
from match.relay.qnn import dequantized, parameters, quantized, real_constant
from match.relay.rewrite import New, constant, is_call, permutation, rewrite, shape

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class CollectRows:
    """Replaces a GatherND of a dequantized map, and the quantize after it, by an integer operator."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    output = quantized(call)
    return None if output is None else collected(call.args[0], output, new)


def collected(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Elements that a GatherND takes from a dequantized map, turned, masked and chosen by constants."""
    moves: list[relay.Call] = []
    while is_call(expr, "transpose", "take", "reshape", "where"):
        moves.append(expr)
        expr = expr.args[2 if is_call(expr, "where") else 0]
    if not is_call(expr, "gather_nd") or int(expr.attrs.batch_dims):
        return None
    real, indices = dequantized(expr.args[0]), constant(expr.args[1])
    if real is None or indices is None:
        return None
    extents = shape(real.x)[: len(indices)]
    if any(part.min() < 0 or part.max() >= extent for part, extent in zip(indices, extents, strict=True)):
        return None
    rows, unit = math.prod(extents), math.prod(shape(real.x)[len(indices) :])
    first = np.ravel_multi_index(tuple(indices.astype(np.int64)), extents)
    places = (first.reshape(-1, 1) * unit + np.arange(unit)).reshape(shape(expr))
    for move in reversed(moves):
        moved = _moved(move, places)
        if moved is None:
            return None
        places = moved
    smaller = places.size < math.prod(shape(real.x))
    x, own = (
        (new(real.x), real.quantization) if smaller else (_rescaled(new(real.x), real.quantization, output), output)
    )
    taken = _rows_taken(x, places, (rows, unit), own)
    return None if taken is None else _rescaled(taken, own, output)


def _rescaled(x: relay.Expr, inputs: QuantizedType, output: QuantizedType) -> relay.Expr:
    """An 8-bit tensor in the scale, zero point and dtype of `output`."""
    if inputs == output:
        return x
    return relay.qnn.op.requantize(x, *parameters(inputs), *parameters(output), out_dtype=output.dtype)


def _moved(move: relay.Call, places: Places) -> Places | None:
    """The places of elements behind an operator, -1 where it puts zero; None where it puts other numbers."""
    if is_call(move, "transpose"):
        return places.transpose(permutation(move))
    if is_call(move, "reshape"):
        return places.reshape(shape(move))
    if is_call(move, "take"):
        index, axis = constant(move.args[1]), move.attrs.axis
        return None if index is None or axis is None or index.min() < 0 else places.take(index, int(axis))
    mask, number = constant(move.args[0]), real_constant(move.args[1])
    if mask is None or number is None or number.size != 1 or number.any() or shape(move) != places.shape:
        return None
    return np.where(mask, -1, places)


def _rows_taken(x: relay.Expr, places: Places, extents: tuple[int, int], own: QuantizedType) -> relay.Expr | None:
    """Elements of a tensor seen as rows (rows, unit) where one axis of the result has whole rows; None for others."""
    rows, unit = extents
    for axis in range(places.ndim):
        turned = np.moveaxis(places, axis, -1)
        row = turned[..., :1] // unit  # -1 of zeros, too
        if turned.shape[-1] == unit and np.array_equal(turned, np.where(row < 0, -1, row * unit + np.arange(unit))):
            break
    else:
        return None
    table = relay.reshape(x, (rows, unit))
    if (row < 0).any():
        table = relay.nn.pad(table, ((0, 1), (0, 0)), relay.const(own.zero_point, own.dtype))
    chosen = np.where(row < 0, rows, row).reshape(-1).astype(np.int32)
    taken = relay.reshape(relay.take(table, relay.const(chosen), axis=0), turned.shape)
    last = places.ndim - 1
    return relay.transpose(taken, (*range(axis), last, *range(axis, last)))
