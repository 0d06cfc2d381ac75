"""Concatenations: each part takes the scale of the output."""

from __future__ import annotations

from collections.abc import Callable

from match.passes.quantized_groups.quantities import rescaled
from match.relay import relay
from match.relay.qnn import quantization
from match.relay.rewrite import New, dtype, is_call


def concatenation(expr: relay.Expr, quantize: Callable[[relay.Expr], relay.Expr]) -> relay.Expr | None:
    """A concatenation, with each part as `quantize` makes it."""
    if not is_call(expr, "concatenate") or not isinstance(expr.args[0], relay.Tuple):
        return None
    return relay.concatenate([quantize(field) for field in expr.args[0].fields], int(expr.attrs.axis))


def qnn_concatenation(call: relay.Call, new: New) -> relay.Expr | None:
    """`qnn.concatenate`, with each part in the output's scale."""
    tensors, scales, zero_points = (list(argument.fields) for argument in call.args[:3])
    output = quantization(call.args[3], call.args[4], dtype(call))
    parts: list[relay.Expr] = []
    for tensor, scale, zero_point in zip(tensors, scales, zero_points, strict=True):
        inputs = quantization(scale, zero_point, dtype(tensor))
        if inputs is None or output is None:
            return None
        parts.append(rescaled(new(tensor), inputs, output))
    return relay.concatenate(parts, int(call.attrs.axis))
