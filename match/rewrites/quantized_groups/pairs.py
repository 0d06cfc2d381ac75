"""Sums and products of two quantized tensors, as integer operators with the results of the reference."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic, quantize
from match.arithmetic.plane_fit import fit_tables
from match.graph.make import array_of, lookup
from match.graph.pairs import AbsoluteDifference, FunctionOfTwo, Multiplication
from match.graph.real_functions import is_function
from match.graph.value import Value, computed
from match.rewrites.quantized_groups.quantities import Dequantized, as_type, dequantized


def pair(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """An addition or a multiplication of two tensors of 8 bits; None for other functions."""
    if not is_function(real, "add", "multiply"):
        return None
    a, b = (dequantized(x) for x in real.inputs)
    if a is None or b is None:
        return None
    of_product = is_function(real, "multiply")
    if not real.exact and not _rounds_alike(a.quantization, b.quantization, output, of_product=of_product):
        return None
    a, b = as_type(a, output.dtype), as_type(b, output.dtype)
    if 1 in (a.value.tensor.elements, b.value.tensor.elements):
        with_number = _with_number(a, b, real, output, clip)
        if with_number is not None:
            return with_number
    if of_product:
        return multiplied(a, b, output, clip)
    types, arithmetic = (a.quantization, b.quantization), OnnxruntimeArithmetic()
    outputs = arithmetic.add(*types, output, clip, 1).astype(np.int16)
    slopes = float(types[0].scale / output.scale), float(types[1].scale / output.scale)
    form = FunctionOfTwo(outputs=outputs, slopes=slopes, clip=clip, dtype=output.dtype)
    return computed(form, a.value, b.value)


def _with_number(
    a: Dequantized, b: Dequantized, real: Value, output: QuantizedType, clip: tuple[int, int]
) -> Value | None:
    """A function of a tensor and one number for all its elements: a table; None where both are tensors."""
    numbers = [array_of(x.value) for x in (a, b)]
    if (numbers[0] is None) == (numbers[1] is None):
        return None
    x = a if numbers[0] is None else b
    if x.value.shape != real.shape:
        return None
    arithmetic, types = OnnxruntimeArithmetic(), (a.quantization, b.quantization)
    first, second = (
        own.levels if array is None else array.reshape(-1).astype(np.int64)
        for own, array in zip(types, numbers, strict=True)
    )
    if is_function(real, "multiply"):
        products = np.multiply.outer(first - types[0].zero_point, second - types[1].zero_point)
        outputs = arithmetic.multiply(*types, output, clip)(products.reshape(-1, 1))
    else:
        places = first - types[0].levels[0], second - types[1].levels[0]
        outputs = arithmetic.add(*types, output, clip, 1)[np.ix_(*places)]
    return lookup(x.value, outputs.reshape(-1).astype(output.dtype))


def multiplied(
    a: Dequantized, b: Dequantized, output: QuantizedType, clip: tuple[int, int], *, exact: bool = True
) -> Value:
    """The product of two tensors of 8 bits, of which one may be broadcast, with another quantization."""
    product = Multiplication(
        zero_points=(a.quantization.zero_point, b.quantization.zero_point),
        requantization=OnnxruntimeArithmetic().multiply(a.quantization, b.quantization, output, clip),
        dtype=output.dtype,
    )
    return computed(product, a.value, b.value, exact=exact)


def _rounds_alike(a: QuantizedType, b: QuantizedType, output: QuantizedType, *, of_product: bool) -> bool:
    """Whether onnxruntime's floating point and its integer operator give the same for all pairs of 8-bit values.

    They do of scales that are powers of two, for example.
    """
    clip, arithmetic = output.limits, OnnxruntimeArithmetic()
    if not of_product:
        real = quantize(np.add.outer(a.numbers, b.numbers), output, clip)
        return np.array_equal(real, arithmetic.add(a, b, output, clip, 1))
    products = np.multiply.outer(a.levels - a.zero_point, b.levels - b.zero_point)
    real = quantize(np.multiply.outer(a.numbers, b.numbers), output, clip)
    return np.array_equal(real, arithmetic.multiply(a, b, output, clip)(products.reshape(-1, 1)).reshape(real.shape))


def absolute_difference(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """The difference of two tensors without its sign, if tables have all of its 65536 outputs."""
    if not is_function(real, "abs") or not is_function(real.inputs[0], "subtract") or clip != output.limits:
        return None
    a, b = (dequantized(x) for x in real.inputs[0].inputs)
    if a is None or b is None or a.value.shape != b.value.shape:
        return None
    types, most = (a.quantization, b.quantization), output.limits[1] - output.zero_point
    numbers = np.subtract.outer(types[0].numbers, types[1].numbers)
    steps = quantize(numbers, replace(output, zero_point=0), (-most, most))
    slopes = float(types[0].scale / output.scale), -float(types[1].scale / output.scale)
    tables = fit_tables(steps, types[0].levels, types[1].levels, slopes, (-most, most))
    if tables is None:
        return None
    limits = output.zero_point, output.zero_point + most
    return computed(AbsoluteDifference(tables=tables, clip=limits, dtype=output.dtype), a.value, b.value)
