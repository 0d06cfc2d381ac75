"""Leaky ReLU and PReLU: what is negative times slopes. One of two parts is nothing, so that their sum is rounded once.

Of a layer's outputs that nothing quantizes in front of it, both parts are the layer, one time with the slopes in its
weights, each clipped at 0. Of a tensor of 8 bits, a table has what is positive, and the rest is multiplied.
"""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.graph.constants import numbers_of
from match.graph.make import arithmetic, constant, lookup
from match.graph.pairs import Addition
from match.graph.real_functions import is_function
from match.graph.value import Value, computed
from match.rewrites.quantized_groups.element_functions import Reals
from match.rewrites.quantized_groups.pairs import multiplied
from match.rewrites.quantized_groups.quantities import Dequantized, dequantized
from match.rewrites.quantized_groups.scaled_layers import ScaledLayer

Limits = tuple[int, int]

_MOST_OFF = 0.75
"""Steps of the output by which slopes of 8 bits may move it, before it is rounded."""


def slopes_of_sums(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """A layer's outputs where they are positive, and the rest times slopes of the layer's channels, or one for all."""
    found = _sloped(real)
    layer = None if found is None else ScaledLayer.of(found[0])
    if found is None or layer is None or not np.all(found[1] >= 0) or found[1].size not in (1, real.shape[-1]):
        return None
    low, high, zero = *clip, output.zero_point
    if not low <= zero <= high:
        return None
    positive = layer.quantized(output, (zero, high))
    negative = layer.times(found[1].reshape(-1)).quantized(output, (low, zero))
    if positive is None or negative is None:
        return None
    total = Addition(multipliers=(1, 1), bias=-zero, shift=0, clip=clip, dtype=output.dtype)
    return computed(total, positive, negative)


def close_slopes(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """PReLU with slopes that differ along several axes, in 8 bits.

    What is positive comes from a table, the rest is multiplied; one of both is nothing.
    """
    found = _sloped(real)
    source = None if found is None else dequantized(found[0])
    if found is None or source is None or source.value.shape != real.shape:
        return None
    own, dtype, numbers = source.quantization, output.dtype, found[1]
    if sum(extent > 1 for extent in numbers.shape) < 2 or not clip[0] <= output.zero_point <= clip[1]:
        return None
    low, high = own.limits
    scale = np.float32(max(np.abs(numbers).max(), np.finfo(np.float32).tiny) / 127)
    most = (own.zero_point - low) * float(own.scale)
    if not np.isfinite(scale) or most * float(scale) / 2 > _MOST_OFF * float(output.scale):
        return None
    above = (own.levels - own.zero_point).clip(0).astype(np.float32) * own.scale
    positive = lookup(source.value, quantize(above, output, output.limits).astype(dtype))
    types = QuantizedType(scale, (low + high + 1) // 2, own.dtype)
    factors = quantize(numbers.astype(np.float32), types, (low, high)).astype(own.dtype)
    negative = arithmetic("minimum", source.value, constant(np.array(own.zero_point, own.dtype)))
    product = multiplied(
        Dequantized(negative, own), Dequantized(constant(factors), types), output, output.limits, exact=False
    )
    total = Addition(multipliers=(1, 1), bias=-output.zero_point, shift=0, clip=clip, dtype=dtype)
    return computed(total, positive, product, exact=False)


def _sloped(real: Value) -> tuple[Value, Reals] | None:
    """What a PReLU or a leaky ReLU is of, and the slopes of what is negative, in a shape that is broadcast to it."""
    if not is_function(real, "where"):
        return None
    condition, x, product = real.inputs
    if not is_function(condition, "greater") or not is_function(product, "multiply") or condition.inputs[0] is not x:
        return None
    border, others = numbers_of(condition.inputs[1]), [factor for factor in product.inputs if factor is not x]
    slopes = numbers_of(others[0]) if len(others) == 1 else None
    if slopes is None or border is None or border.size != 1 or border.item() != 0:
        return None
    return x, slopes.astype(np.float64)
