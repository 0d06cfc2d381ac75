"""Matrix products between operators that move their values: dense layers on the last axis, and of two activations."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import QuantizedType
from match.ir.moves import REARRANGEMENTS
from match.passes.quantized_groups.linear import dense_sums, weights_of
from match.passes.quantized_groups.quantities import parameters, requantized
from match.relay import integer_form, relay
from match.relay.qnn import Dequantized, dequantized
from match.relay.rewrite import New, constant, is_call, permutation, reached, shape

_MOVES = (*REARRANGEMENTS, "broadcast_to")
_LONGEST = 256
"""Numbers along an axis whose running sums are a product: its weights take as many bytes squared."""


def dense_rows(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A dense layer on the last axis of a tensor with more than two axes, which stands between reshapes."""
    marked = _unmoved(expr, "reshape", "transpose")
    product = integer_form.unmarked(marked)
    if not is_call(product, "nn.dense"):
        return None
    source, weights = _unmoved(product.args[0], *_MOVES), weights_of(product)
    real = dequantized(source)
    if real is None or weights is None:
        return None
    x = Dequantized(_replayed(product.args[0], source, new(real.x)), real.quantization)
    scale = real.quantization.scale * weights.scales
    sums = dense_sums(x, weights)
    sums = integer_form.real_sums(sums) if real.real or product != marked else sums
    result = requantized(sums, scale, output, axis=1)
    return _replayed(expr, marked, result)


def activation_product(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A product of two activations, which stands between reshapes and transposes; one of them may be constant."""
    marked = _unmoved(expr, "reshape", "transpose")
    product = integer_form.unmarked(marked)
    if not is_call(product, "nn.batch_matmul", "nn.dense"):
        return None
    sides = [(_unmoved(operand, *_MOVES), operand) for operand in product.args]
    reals = [dequantized(side) for side, _ in sides]
    single = is_call(product, "nn.dense")  # the second matrix is transposed
    if None in reals or not (single or (product.attrs.transpose_b and not product.attrs.transpose_a)):
        return None
    left, right = (real for real in reals if real is not None)
    if constant(left.x) is not None and constant(right.x) is not None:
        return None
    a, b = (_replayed(operand, side, new(real.x)) for (side, operand), real in zip(sides, (left, right), strict=True))
    if single:
        a, b = relay.expand_dims(a, 0), relay.expand_dims(b, 0)
    (sa, za), (sb, zb) = parameters(left.quantization), parameters(right.quantization)
    sums = relay.qnn.op.batch_matmul(a, b, za, zb, sa, sb)
    scale = np.asarray(left.quantization.scale * right.quantization.scale)
    sums = integer_form.real_sums(sums) if left.real or right.real or product != marked else sums
    result = requantized(sums, scale, output, axis=2)
    return _replayed(expr, marked, relay.squeeze(result, [0]) if single else result)


def totals(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """The sum or the mean along the channels of a map, or along axes that are put last, as a product with ones.

    Of magnitudes and of what a Relu leaves, too, which are a table.
    """
    if not is_call(expr, "sum", "mean") or expr.attrs.exclude:
        return None
    numbers = expr.args[0]
    real = dequantized(numbers.args[0] if is_call(numbers, "abs", "nn.relu") else numbers)
    if real is None:
        return None
    own, extents = real.quantization, shape(numbers)
    axes = sorted(int(axis) % len(extents) for axis in expr.attrs.axis or range(len(extents)))
    channels = len(extents) == 4 and extents[0] == 1 and axes == [1]
    count = math.prod(extents[axis] for axis in axes)
    scale = np.asarray(np.float32(1) / np.float32(count if is_call(expr, "mean") else 1))
    x = new(real.x)
    if is_call(numbers, "abs", "nn.relu"):
        steps = own.levels - own.zero_point
        x = integer_form.lookup(x, np.abs(steps) if is_call(numbers, "abs") else steps.clip(0), own.dtype, "uint8")
        own = replace(own, zero_point=0, dtype="uint8")
    if not channels:
        order = [*(axis for axis in range(len(extents)) if axis not in axes), *axes]
        x = relay.reshape(x if order == sorted(order) else relay.transpose(x, order), (-1, count))
    ones = relay.const(np.ones((1, count, 1, 1) if channels else (1, count), np.int8))
    own_scale, zero = parameters(own)
    arithmetic = zero, relay.const(0, "int32"), own_scale, relay.const(scale.astype(np.float32))
    if channels:
        sums = relay.qnn.op.conv2d(x, ones, *arithmetic, kernel_size=(1, 1), channels=1, padding=(0, 0, 0, 0))
    else:
        sums = relay.qnn.op.dense(x, ones, *arithmetic, 1)
    result = requantized(integer_form.real_sums(sums), own.scale * scale, output, axis=1)
    return relay.reshape(result, shape(expr))


def running_totals(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Running sums along an axis (ONNX's CumSum), as a product with a triangle of ones.

    Each output is the sum of all inputs before it, its own input included or not; sums begin at either end.
    """
    numbers = reached(expr, "reverse", "cumsum", "reverse")
    backwards = numbers is not None
    sums = expr.args[0] if backwards and isinstance(expr, relay.Call) else expr
    if not isinstance(sums, relay.Call) or not is_call(sums, "cumsum") or sums.attrs.axis is None:
        return None
    real, extents = dequantized(numbers if backwards else sums.args[0]), shape(sums)
    axis = int(sums.attrs.axis) % len(extents)
    flips = (expr, sums.args[0]) if backwards else ()
    if real is None or any(int(flip.attrs.axis) % len(extents) != axis for flip in flips):
        return None
    count = extents[axis]
    if count > _LONGEST:
        return None
    ones = np.tri(count, k=-1 if sums.attrs.exclusive else 0, dtype=np.int8)
    order = [*(other for other in range(len(extents)) if other != axis), axis]
    rows = relay.reshape(relay.transpose(new(real.x), order), (-1, count))
    scale, zero = parameters(real.quantization)
    arithmetic = zero, relay.const(0, "int32"), scale, relay.const(np.float32(1))
    product = relay.qnn.op.dense(rows, relay.const(ones[::-1, ::-1].copy() if backwards else ones), *arithmetic, count)
    result = requantized(integer_form.real_sums(product), np.asarray(real.quantization.scale), output, axis=1)
    return relay.transpose(relay.reshape(result, [extents[other] for other in order]), np.argsort(order).tolist())


def squares(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """The sum or the mean of the squares of each row, along the last axis, as the row's product with itself."""
    square = expr.args[0] if is_call(expr, "sum", "mean") else None
    if square is None or not is_call(square, "multiply") or not isinstance(expr, relay.Call):
        return None
    real, extents, attrs = dequantized(square.args[0]), shape(square), expr.attrs
    last = [int(axis) % len(extents) for axis in attrs.axis or ()] == [len(extents) - 1] and not attrs.exclude
    if real is None or square.args[1] != square.args[0] or not last:
        return None
    scale, zero = parameters(real.quantization)
    rows = relay.reshape(new(real.x), (-1, 1, extents[-1]))
    share = np.float32(real.quantization.scale / np.float32(extents[-1] if is_call(expr, "mean") else 1))
    sums = integer_form.real_sums(relay.qnn.op.batch_matmul(rows, rows, zero, zero, scale, relay.const(share)))
    scales = np.asarray(real.quantization.scale * share)
    return relay.reshape(requantized(sums, scales, output, axis=2), shape(expr))


def _unmoved(expr: relay.Expr, *names: str) -> relay.Expr:
    """The expression before operators of these names."""
    while is_call(expr, *names):
        expr = expr.args[0]
    return expr


def _replayed(expr: relay.Expr, source: relay.Expr, replacement: relay.Expr) -> relay.Expr:
    """`expr` with another expression in place of its `source`; the operators between have one operand each."""
    moves: list[relay.Call] = []
    while expr != source and isinstance(expr, relay.Call):
        moves.append(expr)
        expr = expr.args[0]
    for call in reversed(moves):
        values = constant(replacement)
        replacement = relay.Call(call.op, [replacement], call.attrs) if values is None else _moved(call, values)
    return replacement


def _moved(move: relay.Call, values: npt.NDArray[Any]) -> relay.Constant:
    """A constant behind one of `_MOVES`."""
    if is_call(move, "transpose"):
        moved = values.transpose(permutation(move))
    else:
        moved = np.broadcast_to(values, shape(move)) if is_call(move, "broadcast_to") else values.reshape(shape(move))
    return relay.const(np.ascontiguousarray(moved))
