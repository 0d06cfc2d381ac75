"""Quantized tensors brought to another scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.arithmetic.interface import Float32Array, QuantizedType
from match.ir.dtypes import value_range
from match.relay import relay
from match.relay.qnn import Dequantized
from match.relay.rewrite import New, constant


def parameters(values: QuantizedType) -> tuple[relay.Expr, relay.Expr]:
    """A scale and a zero point, as QNN operators take them."""
    return relay.const(values.scale), relay.const(values.zero_point, "int32")


def rescaled(x: relay.Expr, inputs: QuantizedType, output: QuantizedType) -> relay.Expr:
    """An 8-bit tensor in the scale, zero point and dtype of `output`."""
    if inputs == output:
        return x
    return relay.qnn.op.requantize(x, *parameters(inputs), *parameters(output), out_dtype=output.dtype)


def in_type(real: Dequantized, dtype: str, new: New) -> Dequantized:
    """The replacement of an 8-bit tensor, with the same numbers, in another 8-bit type or in the one that it has."""
    return as_type(replace(real, x=new(real.x)), dtype)


def as_type(real: Dequantized, dtype: str) -> Dequantized:
    """An 8-bit tensor, with the same numbers, in another 8-bit type or in the one that it has."""
    own = real.quantization
    if own.dtype == dtype:
        return real
    more = value_range(dtype)[0] - value_range(own.dtype)[0]
    other, values = QuantizedType(own.scale, own.zero_point + more, dtype), constant(real.x)
    if values is None:
        return replace(real, x=rescaled(real.x, own, other), quantization=other)
    return replace(real, x=relay.const((values.astype(np.int16) + more).astype(dtype)), quantization=other)


def requantized(sums: relay.Expr, scale: Float32Array, output: QuantizedType, axis: int) -> relay.Expr:
    """int32 sums of a scale, or of one for each channel along an axis, as 8 bits."""
    zero = relay.const(0, "int32")
    return relay.qnn.op.requantize(
        sums, relay.const(scale), zero, *parameters(output), axis=axis, out_dtype=output.dtype
    )
