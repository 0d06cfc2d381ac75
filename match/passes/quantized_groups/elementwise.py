"""Sums, products and extrema of two tensors."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.arithmetic.plane_fit import fit_tables
from match.ir.dtypes import value_range
from match.passes.element_functions import function_of
from match.passes.quantized_groups.quantities import in_type, parameters, rescaled
from match.relay import integer_form, relay
from match.relay.qnn import Dequantized, dequantized, real_constant
from match.relay.rewrite import New, is_call, operator_name, shape

_MOST_OFF = 0.9
"""Steps of the output that a product may be off by before it is rounded."""


def sum_or_product(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """An addition or multiplication of two tensors."""
    if not is_call(expr, "add", "multiply"):
        return None
    left, right = dequantized(expr.args[0]), dequantized(expr.args[1])
    if left is None or right is None:
        return None
    build = relay.qnn.op.add if is_call(expr, "add") else relay.qnn.op.mul
    a, b = (in_type(real, output.dtype, new) for real in (left, right))
    scales = *parameters(a.quantization), *parameters(b.quantization), *parameters(output)
    return build(a.x, b.x, *scales)


def close_product(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A tensor times a function of a smaller one (attention to channels), which gets 8 bits of its own in between."""
    if not is_call(expr, "multiply"):
        return None
    for tensor, factor in (expr.args, reversed(expr.args)):
        real, function = dequantized(tensor), function_of(factor)
        if real is None or function is None or len(function.sources) != 1 or function.axis is not None:
            continue
        source = dequantized(function.sources[0])
        if source is not None and shape(real.x) == shape(expr) and math.prod(shape(factor)) < math.prod(shape(expr)):
            values = function(source.quantization.numbers)
            return _product(in_type(real, output.dtype, new), replace(source, x=new(source.x)), values, output)
    return None


def _product(a: Dequantized, source: Dequantized, values: Float32Array, output: QuantizedType) -> relay.Expr | None:
    """A tensor times the `values` (256,) that the levels of another one have, each rounded to one of 8 bits."""
    low, high = value_range(output.dtype)
    zero = low if values.min() >= 0 else (low + high + 1) // 2
    scale = np.float32(np.abs(values).max() / (high - zero))
    largest = np.abs(a.quantization.numbers).max()
    if not np.isfinite(scale) or scale == 0 or scale / 2 * largest > _MOST_OFF * output.scale:
        return None
    b = QuantizedType(scale, zero, output.dtype)
    table = quantize(values, b, (low, high))
    factors = integer_form.lookup(source.x, table, source.quantization.dtype, output.dtype)
    scales = *parameters(a.quantization), *parameters(b), *parameters(output)
    return integer_form.real_sums(relay.qnn.op.mul(a.x, factors, *scales))


def absolute_difference(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """The difference of two tensors without its sign, if tables have all of its 65536 outputs."""
    if not is_call(expr, "abs") or not is_call(expr.args[0], "subtract"):
        return None
    left, right = (dequantized(operand) for operand in expr.args[0].args)
    if left is None or right is None or any(shape(real.x) != shape(expr) for real in (left, right)):
        return None
    a, b = left.quantization, right.quantization
    centred, most = replace(output, zero_point=0), value_range(output.dtype)[1] - output.zero_point
    steps = quantize(np.subtract.outer(a.numbers, b.numbers), centred, (-most, most))
    slopes = float(a.scale / output.scale), -float(b.scale / output.scale)
    tables = fit_tables(steps, a.levels, b.levels, slopes, (-most, most))
    if tables is None:
        return None
    clip = output.zero_point, output.zero_point + most
    dtypes = a.dtype, b.dtype
    return integer_form.absolute_difference(new(left.x), new(right.x), dtypes, tables, clip, output.dtype)


def extremum(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """The largest or the smallest of tensors: quantizing keeps their order, so each is rescaled first.

    One of them may be constant, with numbers along several axes.
    """
    if not is_call(expr, "maximum", "minimum"):
        return None
    name, extents = operator_name(expr), shape(expr)
    tensors: list[relay.Expr] = []
    fixed: list[relay.Expr] = []
    for source in joined(expr, name):
        numbers, real = real_constant(source), dequantized(source)
        if numbers is not None and sum(extent > 1 for extent in numbers.shape) > 1:
            levels = quantize(np.broadcast_to(numbers, extents), output, value_range(output.dtype))
            fixed.append(relay.const(levels.astype(output.dtype)))
        elif numbers is None and real is not None and shape(source) == extents:
            tensors.append(rescaled(new(real.x), real.quantization, output))
        else:
            return None
    if not tensors or len(fixed) > 1:
        return None
    result, *others = (*tensors, *fixed)
    for other in others:
        result = relay.maximum(result, other) if name == "maximum" else relay.minimum(result, other)
    return result


def joined(expr: relay.Expr, name: str) -> list[relay.Expr]:
    """What operators of a name, one within the other, take together, in order."""
    return [source for operand in expr.args for source in joined(operand, name)] if is_call(expr, name) else [expr]
