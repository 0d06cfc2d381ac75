"""Quantized tensors brought to another scale."""

from __future__ import annotations

from match.arithmetic.interface import Float32Array, QuantizedType
from match.relay import relay


def parameters(values: QuantizedType) -> tuple[relay.Expr, relay.Expr]:
    """A scale and a zero point, as QNN operators take them."""
    return relay.const(values.scale), relay.const(values.zero_point, "int32")


def rescaled(x: relay.Expr, inputs: QuantizedType, output: QuantizedType) -> relay.Expr:
    """An 8-bit tensor in the scale, zero point and dtype of `output`."""
    if inputs == output:
        return x
    return relay.qnn.op.requantize(x, *parameters(inputs), *parameters(output), out_dtype=output.dtype)


def requantized(sums: relay.Expr, scale: Float32Array, output: QuantizedType, axis: int) -> relay.Expr:
    """int32 sums of a scale, or of one for each channel along an axis, as 8 bits."""
    zero = relay.const(0, "int32")
    return relay.qnn.op.requantize(
        sums, relay.const(scale), zero, *parameters(output), axis=axis, out_dtype=output.dtype
    )
