"""Sums, products and extrema of two tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic, quantize
from match.arithmetic.plane_fit import fit_tables
from match.ir.dtypes import value_range
from match.passes.element_functions import function_of
from match.passes.quantized_groups.quantities import in_type, parameters, rescaled
from match.relay import integer_form, relay
from match.relay.qnn import Dequantized, dequantized, real_constant
from match.relay.rewrite import New, is_call, operator_name, shape


def sum_or_product(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """An addition or multiplication of two tensors that the reference computes in integers, or as if it did."""
    if not isinstance(expr, relay.Call) or not is_call(expr, "add", "multiply"):
        return None
    left, right = dequantized(expr.args[0]), dequantized(expr.args[1])
    if left is None or right is None:
        return None
    if (left.real or right.real) and not _rounds_alike(expr, left.quantization, right.quantization, output):
        return None
    return _in_integers(relay.qnn.op.add if is_call(expr, "add") else relay.qnn.op.mul, (left, right), output, new)


def _rounds_alike(expr: relay.Call, a: QuantizedType, b: QuantizedType, output: QuantizedType) -> bool:
    """Whether onnxruntime's floating point and its integer operator give the same for all pairs of 8-bit values.

    They do of scales that are powers of two, for example.
    """
    clip, arithmetic = value_range(output.dtype), OnnxruntimeArithmetic()
    if is_call(expr, "add"):
        return np.array_equal(
            quantize(np.add.outer(a.numbers, b.numbers), output, clip), arithmetic.add(a, b, output, clip, 1)
        )
    products = np.multiply.outer(a.levels - a.zero_point, b.levels - b.zero_point)
    real = quantize(np.multiply.outer(a.numbers, b.numbers), output, clip)
    return np.array_equal(real, arithmetic.multiply(a, b, output, clip)(products.reshape(-1, 1)).reshape(real.shape))


def real_product(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A multiplication of two tensors that the reference computes in floating point."""
    if not is_call(expr, "multiply"):
        return None
    left, right = dequantized(expr.args[0]), dequantized(expr.args[1])
    if left is None or right is None:
        return None
    return integer_form.real_sums(_in_integers(relay.qnn.op.mul, (left, right), output, new))


def _in_integers(
    build: Callable[..., relay.Expr], operands: tuple[Dequantized, Dequantized], output: QuantizedType, new: New
) -> relay.Expr:
    a, b = (in_type(real, output.dtype, new) for real in operands)
    return build(a.x, b.x, *parameters(a.quantization), *parameters(b.quantization), *parameters(output))


@dataclass(frozen=True, eq=False)
class _Factor:
    """An 8-bit tensor that stands for a function of another one.

    function, numbers: what the function has for the levels of the other, and what the tensor has, shape (256,).
    """

    x: Dequantized
    function: Float32Array
    numbers: Float32Array


def close_product(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A tensor times a smaller one (attention to channels), where functions of 8-bit tensors get 8 bits in between.

    No pair of levels has an output more than a step off.
    """
    if not is_call(expr, "multiply") or len({shape(operand) for operand in expr.args}) == 1:
        return None
    a, b = (_factor(operand, output.dtype, new) for operand in expr.args)
    if a is None or b is None or (a.numbers is a.function and b.numbers is b.function):  # no functions: exact
        return None
    right, close = (
        quantize(np.multiply.outer(*pair), output, value_range(output.dtype))
        for pair in ((a.function, b.function), (a.numbers, b.numbers))
    )
    if np.abs(right - close).max() > 1:
        return None
    scales = *parameters(a.x.quantization), *parameters(b.x.quantization), *parameters(output)
    return relay.qnn.op.mul(a.x.x, b.x.x, *scales)


def _factor(expr: relay.Expr, dtype: str, new: New) -> _Factor | None:
    """An 8-bit tensor, or one of 8 bits of the numbers that a function of it has."""
    if (real := dequantized(expr)) is not None:
        numbers = real.quantization.numbers
        return _Factor(in_type(real, dtype, new), numbers, numbers)
    function = function_of(expr)
    source = None if function is None or len(function.tensors) != 1 else dequantized(function.tensors[0])
    if function is None or source is None or function.axis is not None or shape(source.x) != shape(expr):
        return None
    values = function(source.quantization.numbers)
    smallest, largest = min(float(values.min()), 0), max(float(values.max()), 0)
    low, high = value_range(dtype)
    scale = np.float32((largest - smallest) / (high - low - 1))  # a step less, which the zero point may take
    if not np.isfinite(scale) or scale == 0:
        return None
    own = QuantizedType(scale, int(np.rint(low - smallest / scale)), dtype)
    table = quantize(values, own, (low, high))
    x = integer_form.lookup(new(source.x), table, source.quantization.dtype, dtype, real=True)
    return _Factor(Dequantized(x, own), values, own.numbers[table - low])


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
