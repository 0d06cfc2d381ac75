"""Sums and products of several tensors that are rounded to 8 bits in between, within one step of floating point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.graph.make import arithmetic, constant, lookup
from match.graph.pairs import Addition
from match.graph.real_functions import is_function
from match.graph.value import Value, computed
from match.quantized.functions_of_two import function_of_two
from match.rewrites.quantized_groups.element_functions import function_of, with_constant
from match.rewrites.quantized_groups.functions_of_layers import sloped
from match.rewrites.quantized_groups.pairs import multiplied
from match.rewrites.quantized_groups.quantities import Dequantized, as_type, dequantized

Limits = tuple[int, int]

_MOST_OFF = 0.9
"""Steps of the output that sums in between may be off by together."""

_MOST_OFF_BY_SLOPES = 0.75
"""Steps of the output by which slopes of 8 bits may move it, before it is rounded."""


def close_sum(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """A sum of three tensors of one shape or more, times one number or not, as sums of two.

    What two tensors sum up to is rounded to 8 bits again. Its steps are as large as those of both together, and half of
    one is what it may be off by.
    """
    factor = 1.0
    if (product := with_constant(real, "multiply")) is not None and product[1].size == 1:
        real, factor = product[0], float(product[1].item())
    tensors = [dequantized(term) for term in joined(real, "add")]
    terms = [tensor for tensor in tensors if tensor is not None and tensor.value.inputs]
    types = {term.quantization.dtype for term in terms}
    if len(terms) < max(3, len(tensors)) or any(x.value.shape != real.shape for x in terms) or len(types) > 1:
        return None
    *first, last = sorted(terms, key=lambda term: float(term.quantization.scale))
    between = _between([term.quantization for term in first])
    off = sum(float(own.scale) for own in between) * abs(factor) / (2 * float(output.scale))
    if off > _MOST_OFF:
        return None
    total = first[0]
    for term, own in zip(first[1:], between, strict=True):
        total = Dequantized(_sum(total, term, own, own.limits, 1.0), own)
    return _sum(total, last, output, clip, factor)


def joined(real: Value, function: str) -> list[Value]:
    """What functions of a name, one within the other, take together, in order."""
    if not is_function(real, function):
        return [real]
    return [source for x in real.inputs for source in joined(x, function)]


def _between(types: Sequence[QuantizedType]) -> list[QuantizedType]:
    """Quantizations that hold the sums of the first two, of the first three, and so on."""
    found: list[QuantizedType] = []
    low, high = (float(end) for end in _ends(types[0]))
    for own in types[1:]:
        smallest, largest = own.limits
        low, high = low + float(_ends(own)[0]), high + float(_ends(own)[1])
        scale = np.float32((high - low) / (largest - smallest - 1))  # a step less, which the zero point may take
        found.append(QuantizedType(scale, int(np.rint(smallest - low / float(scale))), own.dtype))
    return found


def _ends(own: QuantizedType) -> tuple[np.float64, np.float64]:
    """The smallest and the largest number of a quantization."""
    low, high = (np.float64(own.scale) * (level - own.zero_point) for level in own.limits)
    return low, high


def _sum(a: Dequantized, b: Dequantized, output: QuantizedType, clip: Limits, factor: float) -> Value:
    left, right = (  # in float32, as the reference
        (own.levels - own.zero_point).astype(np.float32) * np.float32(own.scale * np.float32(factor))
        for own in (a.quantization, b.quantization)
    )
    outputs = quantize(np.add.outer(left, right), output, clip)
    slope_a, slope_b = (float(x.quantization.scale) * factor / float(output.scale) for x in (a, b))
    return function_of_two(a.value, b.value, outputs, (slope_a, slope_b), clip, output.dtype, close=True, exact=False)


@dataclass(frozen=True, eq=False)
class _Factor:
    """A tensor of 8 bits that stands for a function of another one.

    function, numbers: what the function has for the levels of the other, and what the tensor has, shape (256,).
    """

    x: Dequantized
    function: Float32Array
    numbers: Float32Array


def close_product(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """A tensor times a smaller one (attention to channels), where functions of 8-bit tensors get 8 bits in between.

    No pair of levels has an output more than a step off.
    """
    if not is_function(real, "multiply") or len({x.shape for x in real.inputs}) == 1:
        return None
    a, b = (_factor(x, output.dtype) for x in real.inputs)
    if a is None or b is None or (a.numbers is a.function and b.numbers is b.function):  # no functions: exact
        return None
    right, close = (
        quantize(np.multiply.outer(*pair), output, clip) for pair in ((a.function, b.function), (a.numbers, b.numbers))
    )
    return None if np.abs(right - close).max() > 1 else multiplied(a.x, b.x, output, clip, exact=False)


def real_product(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """A product of two tensors of 8 bits, of which one may be broadcast, that the reference computes in float32."""
    if not is_function(real, "multiply"):
        return None
    a, b = (dequantized(x) for x in real.inputs)
    if a is None or b is None:
        return None
    return multiplied(as_type(a, output.dtype), as_type(b, output.dtype), output, clip, exact=False)


def _factor(real: Value, dtype: str) -> _Factor | None:
    """A tensor of 8 bits, or one of 8 bits of the numbers that a function of it has."""
    if (x := dequantized(real)) is not None:
        numbers = x.quantization.numbers
        return _Factor(as_type(x, dtype), numbers, numbers)
    found = function_of(real)
    if found is None or len(found.sources) != 1 or found.function.axis is not None:
        return None
    source = dequantized(found.sources[0])
    if source is None or source.value.shape != real.shape:
        return None
    values = found.function(source.quantization.numbers)
    smallest, largest = min(float(values.min()), 0), max(float(values.max()), 0)
    own = QuantizedType(np.float32(0), 0, dtype)
    low, high = own.limits
    scale = np.float32((largest - smallest) / (high - low - 1))  # a step less, which the zero point may take
    if not np.isfinite(scale) or scale == 0:
        return None
    own = QuantizedType(scale, int(np.rint(low - smallest / scale)), dtype)
    table = quantize(values, own, (low, high))
    levels = lookup(source.value, table.astype(dtype), exact=False)
    return _Factor(Dequantized(levels, own), values, own.numbers[table - low])


def close_slopes(real: Value, output: QuantizedType, clip: Limits) -> Value | None:
    """PReLU with slopes that differ along several axes, in 8 bits.

    What is positive comes from a table, the rest is multiplied; one of both is nothing.
    """
    found = sloped(real)
    source = None if found is None else dequantized(found[0])
    if found is None or source is None or source.value.shape != real.shape:
        return None
    own, dtype, numbers = source.quantization, output.dtype, found[1]
    if sum(extent > 1 for extent in numbers.shape) < 2 or not clip[0] <= output.zero_point <= clip[1]:
        return None
    low, high = own.limits
    scale = np.float32(max(np.abs(numbers).max(), np.finfo(np.float32).tiny) / 127)
    most = (own.zero_point - low) * float(own.scale)
    if not np.isfinite(scale) or most * float(scale) / 2 > _MOST_OFF_BY_SLOPES * float(output.scale):
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
