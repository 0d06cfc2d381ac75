"""Matrix products between operators that move their values: dense layers on the last axis, and of two activations."""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.passes.quantized_groups.linear import dense_sums, weights_of
from match.passes.quantized_groups.quantities import parameters, requantized
from match.relay import relay
from match.relay.qnn import Dequantized, dequantized
from match.relay.rewrite import New, constant, is_call

_MOVES = ("reshape", "transpose", "squeeze", "expand_dims", "broadcast_to")


def dense_rows(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A dense layer on the last axis of a tensor with more than two axes, which stands between reshapes."""
    product = _unmoved(expr, "reshape")
    if not is_call(product, "nn.dense"):
        return None
    source, weights = _unmoved(product.args[0], *_MOVES), weights_of(product)
    real = dequantized(source)
    if real is None or weights is None:
        return None
    x = Dequantized(_replayed(product.args[0], source, new(real.x)), real.quantization)
    scale = real.quantization.scale * weights.scales
    result = requantized(dense_sums(x, weights), scale, output, axis=1)
    return _replayed(expr, product, result)


def activation_product(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A product of two activations, with the operators that move values before it and behind it."""
    product = _unmoved(expr, "reshape")
    if not is_call(product, "nn.batch_matmul"):
        return None
    sides = [(_unmoved(operand, *_MOVES), operand) for operand in product.args]
    reals = [dequantized(side) for side, _ in sides]
    if None in reals or product.attrs.transpose_a or not product.attrs.transpose_b:
        return None
    left, right = (real for real in reals if real is not None)
    if constant(left.x) is not None or constant(right.x) is not None:
        return None
    a, b = (_replayed(operand, side, new(real.x)) for (side, operand), real in zip(sides, (left, right), strict=True))
    (sa, za), (sb, zb) = parameters(left.quantization), parameters(right.quantization)
    sums = relay.qnn.op.batch_matmul(a, b, za, zb, sa, sb)
    scale = np.asarray(left.quantization.scale * right.quantization.scale)
    return _replayed(expr, product, requantized(sums, scale, output, axis=2))


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
        replacement = relay.Call(call.op, [replacement], call.attrs)
    return replacement
