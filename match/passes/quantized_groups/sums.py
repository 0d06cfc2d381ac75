"""Sums and means of three tensors and more, as sums of two, within one step of floating point.

What two tensors sum up to is rounded to 8 bits again. Its steps are as large as those of both together, and half of one
is what it may be off by.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.ir.dtypes import value_range
from match.passes.functions_of_two import function_of_two
from match.passes.quantized_groups.elementwise import joined
from match.relay import relay
from match.relay.qnn import Dequantized, dequantized
from match.relay.rewrite import New, constant, is_call, scalar, shape

_MOST_OFF = 0.9
"""Steps of the output that sums in between may be off by together."""


def close_sum(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A sum of tensors of one shape, times one number or not."""
    factor = 1.0
    if is_call(expr, "multiply") and (number := scalar(expr.args[0])) is not None:
        expr, factor = expr.args[1], float(number)
    reals = [dequantized(term) for term in joined(expr, "add")]
    terms = [real for real in reals if real is not None and constant(real.x) is None]
    types = {real.quantization.dtype for real in terms}
    if len(terms) < max(3, len(reals)) or any(shape(real.x) != shape(expr) for real in terms) or len(types) > 1:
        return None
    *first, last = sorted(terms, key=lambda real: float(real.quantization.scale))
    between = _between([real.quantization for real in first])
    off = sum(float(own.scale) for own in between) * abs(factor) / (2 * float(output.scale))
    if off > _MOST_OFF:
        return None
    total = Dequantized(new(first[0].x), first[0].quantization)
    for real, own in zip(first[1:], between, strict=True):
        total = Dequantized(_sum(total, Dequantized(new(real.x), real.quantization), own, 1.0), own)
    return _sum(total, Dequantized(new(last.x), last.quantization), output, factor)


def _between(types: Sequence[QuantizedType]) -> list[QuantizedType]:
    """Quantizations that hold the sums of the first two, of the first three, and so on."""
    found: list[QuantizedType] = []
    low, high = (float(end) for end in _ends(types[0]))
    for own in types[1:]:
        smallest, largest = value_range(own.dtype)
        low, high = low + float(_ends(own)[0]), high + float(_ends(own)[1])
        scale = np.float32((high - low) / (largest - smallest - 1))  # a step less, which the zero point may take
        found.append(QuantizedType(scale, int(np.rint(smallest - low / float(scale))), own.dtype))
    return found


def _ends(own: QuantizedType) -> tuple[np.float64, np.float64]:
    """The smallest and the largest number of a quantization."""
    low, high = (np.float64(own.scale) * (level - own.zero_point) for level in value_range(own.dtype))
    return low, high


def _sum(a: Dequantized, b: Dequantized, output: QuantizedType, factor: float) -> relay.Expr:
    types = a.quantization, b.quantization
    left, right = (  # in float32, as the reference
        (own.levels - own.zero_point).astype(np.float32) * np.float32(own.scale * np.float32(factor)) for own in types
    )
    clip = value_range(output.dtype)
    total: Float32Array = np.add.outer(left, right)
    outputs = quantize(total, output, clip)
    slopes = float(types[0].scale) * factor / float(output.scale), float(types[1].scale) * factor / float(output.scale)
    dtypes = types[0].dtype, types[1].dtype
    return function_of_two(a.x, b.x, outputs, dtypes, slopes, clip, output.dtype, exact=False, real=True)
