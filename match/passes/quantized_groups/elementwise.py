"""Sums, products and extrema of two tensors."""

from __future__ import annotations

from match.arithmetic.interface import QuantizedType
from match.passes.quantized_groups.quantities import parameters, rescaled
from match.relay import relay
from match.relay.qnn import dequantized
from match.relay.rewrite import New, constant, is_call, operator_name, shape


def sum_or_product(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """An addition or multiplication of two tensors."""
    if not is_call(expr, "add", "multiply"):
        return None
    left, right = dequantized(expr.args[0]), dequantized(expr.args[1])
    if left is None or right is None:
        return None
    build = relay.qnn.op.add if is_call(expr, "add") else relay.qnn.op.mul
    scales = *parameters(left.quantization), *parameters(right.quantization), *parameters(output)
    return build(new(left.x), new(right.x), *scales)


def extremum(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """The largest or the smallest of tensors: quantizing keeps their order, so each is rescaled first."""
    if not is_call(expr, "maximum", "minimum"):
        return None
    name = operator_name(expr)
    sources = _joined(expr, name)
    reals = [real for real in map(dequantized, sources) if real is not None and constant(real.x) is None]
    if len(reals) < len(sources) or any(shape(real.x) != shape(expr) for real in reals):
        return None
    result, *others = (rescaled(new(real.x), real.quantization, output) for real in reals)
    for other in others:
        result = relay.maximum(result, other) if name == "maximum" else relay.minimum(result, other)
    return result


def _joined(expr: relay.Expr, name: str) -> list[relay.Expr]:
    """What operators of a name, one within the other, take together, in order."""
    return [source for operand in expr.args for source in _joined(operand, name)] if is_call(expr, name) else [expr]
