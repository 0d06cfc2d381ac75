"""Operators of two or more tensors, element by element, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tflite

from match.arithmetic.fixed_point import reciprocal_of_one_plus, shifted_right
from match.arithmetic.interface import QuantizedType
from match.arithmetic.tflite import (
    ADD_LEFT_SHIFT,
    TfliteArithmetic,
    addition_factors,
    multiply,
    multiply_by,
    quantize_multiplier,
)
from match.frontend.tflite import integers
from match.frontend.tflite.file import Array, FileOperator
from match.frontend.tflite.reader import Handler, Handlers, TfliteReader
from match.graph.fixed_point import RunningSum, Sum
from match.graph.integers import FUNCTIONS
from match.graph.make import arithmetic, array_of, cast, constant, lookup, reshaped
from match.graph.pairs import FunctionOfTwo, Multiplication, SquaredDifference, largest_square
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.quantized.differences import of_difference
from match.quantized.pairs import function_of_pairs

_SQUARE_LEFT_SHIFT = 7
_COMPARISON_LEFT_SHIFT = 8
_INTEGERS = ("int32", "int64")


def add(read: TfliteReader, operator: FileOperator) -> Value:
    """ADD."""
    return _addition(read, operator, operator.options(tflite.AddOptions).FusedActivationFunction(), sign=1)


def subtract(read: TfliteReader, operator: FileOperator) -> Value:
    """SUB."""
    return _addition(read, operator, operator.options(tflite.SubOptions).FusedActivationFunction(), sign=-1)


def _addition(read: TfliteReader, operator: FileOperator, activation: int, sign: int) -> Value:
    if read.output(operator).dtype in _INTEGERS:
        return arithmetic("add" if sign > 0 else "subtract", *_both(read, operator))
    a, b, output, clip = _operands(read, operator, activation)

    def of_levels(x: Int64Array, y: Int64Array) -> Int64Array:
        first, second, last = addition_factors(a.scale, b.scale, output.scale)
        left = multiply((x - a.zero_point) << ADD_LEFT_SHIFT, first)
        right = multiply((y - b.zero_point) << ADD_LEFT_SHIFT, second)
        return np.clip(multiply(left + sign * right, last) + output.zero_point, *clip)

    known = _of_constants(read, operator, of_levels, output)
    if known is not None:
        return known
    outputs = TfliteArithmetic().add(a, b, output, clip, sign)
    slopes = float(a.scale / output.scale), sign * float(b.scale / output.scale)
    function = FunctionOfTwo(outputs=outputs.astype(np.int16), slopes=slopes, clip=clip, dtype=output.dtype)
    return computed(function, *_both(read, operator))


def multiplication(read: TfliteReader, operator: FileOperator) -> Value:
    """MUL."""
    if read.output(operator).dtype in _INTEGERS:
        return arithmetic("multiply", *_both(read, operator))
    a, b, output, clip = _operands(read, operator, operator.options(tflite.MulOptions).FusedActivationFunction())
    factor = np.float64(a.scale) * np.float64(b.scale) / np.float64(output.scale)

    def of_levels(x: Int64Array, y: Int64Array) -> Int64Array:
        product = (x - a.zero_point) * (y - b.zero_point)
        return np.clip(multiply(product, factor) + output.zero_point, *clip)

    known = _of_constants(read, operator, of_levels, output)
    if known is not None:
        return known
    requantization = TfliteArithmetic().multiply(a, b, output, clip)
    zero_points = a.zero_point, b.zero_point
    product = Multiplication(zero_points=zero_points, requantization=requantization, dtype=output.dtype)
    return computed(product, *_both(read, operator))


def division(read: TfliteReader, operator: FileOperator) -> Value:
    """DIV: a line for each divisor, if they give all outputs, else a table of pairs. 0 divides nothing, and gives 0."""
    a, b, output, clip = _operands(read, operator, operator.options(tflite.DivOptions).FusedActivationFunction())
    factor = np.float64(a.scale) / (np.float64(b.scale) * np.float64(output.scale))
    mantissa, exponent = quantize_multiplier(factor)

    def of_levels(x: Int64Array, y: Int64Array) -> Int64Array:
        dividend, divisor = np.broadcast_arrays(x - a.zero_point, y - b.zero_point)
        dividend, divisor = dividend * np.where(divisor < 0, -1, 1), np.abs(divisor)
        bits = np.frexp(divisor.astype(np.float64))[1].astype(np.int64)
        # Normalized to 1.x in 31 bits below the point; the 1 is left out.
        normal = np.maximum(divisor, 1) << np.maximum(32 - bits, 0)
        inverse = reciprocal_of_one_plus((normal - (1 << 31)).astype(np.int64))
        size = np.where(dividend < 0, -1 - dividend, dividend)
        headroom = 31 - np.frexp(size.astype(np.float64))[1].astype(np.int64)
        quotient = multiply_by(dividend, inverse, headroom)
        scaled = _divided(multiply_by(quotient, mantissa, np.zeros_like(mantissa)), headroom + (bits - 1) - exponent)
        return np.where(divisor == 0, output.zero_point, np.clip(scaled + output.zero_point, *clip))

    known = _of_constants(read, operator, of_levels, output)
    if known is not None:
        return known
    outputs = of_levels(a.levels[:, None], b.levels[None, :])
    return function_of_pairs(*_both(read, operator), outputs, clip, output.dtype)


def _divided(x: Int64Array, bits: Int64Array) -> Int64Array:
    """``x / 2**bits``, half away from zero.

    Of more than 31 bits C says nothing; as TFLite Micro's build for PCs does, shifts then begin at 0 again and the rest
    is compared with -1.
    """
    beyond = (x >> (bits % 32)) + (x > np.where(x < 0, 0, -1))
    return np.where(bits > 31, beyond, shifted_right(x, np.minimum(bits, 31)))


def squared_difference(read: TfliteReader, operator: FileOperator) -> Value:
    """SQUARED_DIFFERENCE: both operands in steps of twice the larger scale, which a table has for each value."""
    a, b, output, clip = _operands(read, operator, tflite.ActivationFunctionType.NONE)
    twice = 2.0 * np.float64(max(a.scale, b.scale))
    last = np.float64(twice * twice / np.float64(np.float32(1 << 2 * _SQUARE_LEFT_SHIFT) * output.scale))
    steps = np.stack(
        [multiply((x.levels - x.zero_point) << _SQUARE_LEFT_SHIFT, np.float64(x.scale) / twice) for x in (a, b)]
    )
    reachable = np.zeros(1, np.int64), np.array([largest_square(steps)])
    requantization = TfliteArithmetic().scaled(last, output, clip, reachable)
    squares = SquaredDifference(steps=steps, requantization=requantization, dtype=output.dtype)
    return computed(squares, *_both(read, operator))


def add_n(read: TfliteReader, operator: FileOperator) -> Value:
    """ADD_N: addends with one quantization."""
    a, output = read.input_quantization(operator), read.output_quantization(operator)
    total = Sum(
        zero_point=a.zero_point,
        scales=_addition_scales(a, output),
        zero=output.zero_point,
        clip=value_range(output.dtype),
        dtype=output.dtype,
    )
    addends = [read.value(operator, at) for at in range(len(operator.inputs))]
    if len(addends) != 2:
        return computed(total, *addends)
    levels, slope = a.levels.astype(a.dtype), float(a.scale / output.scale)
    outputs = total.compute(levels[:, None], levels[None, :]).astype(np.int16)
    function = FunctionOfTwo(outputs=outputs, slopes=(slope, slope), clip=total.clip, dtype=output.dtype)
    return computed(function, *addends)


def cumulative_sum(read: TfliteReader, operator: FileOperator) -> Value:
    """CUMSUM."""
    options = operator.options(tflite.CumsumOptions)
    a, output = read.input_quantization(operator), read.output_quantization(operator)
    (axis,) = read.integers(operator, 1)
    sums = RunningSum(
        axis=axis % len(read.tensor(operator).shape),
        exclusive=bool(options.Exclusive()),
        backwards=bool(options.Reverse()),
        zero_point=a.zero_point,
        scales=_addition_scales(a, output),
        zero=output.zero_point,
        clip=value_range(output.dtype),
        dtype=output.dtype,
    )
    return computed(sums, read.value(operator))


def _addition_scales(a: QuantizedType, output: QuantizedType) -> Int64Array:
    """What addends with one quantization are multiplied by, and their sum."""
    last = 2 * np.float64(a.scale) / (np.float64(1 << ADD_LEFT_SHIFT) * np.float64(output.scale))
    return np.stack([integers.scale(np.float64(0.5)), integers.scale(last)])


def extremum(function: str) -> Handler:
    """A reader of MAXIMUM or MINIMUM, which compare the integers whatever the scales are."""
    return lambda read, operator: arithmetic(function, *_both(read, operator))


def comparison(name: str) -> Handler:
    """A reader of a comparison, by NumPy's name; quantized numbers are scaled to integers first.

    Two tensors with no more integers than one has levels are compared by their difference, in 8 bits.
    """

    def handler(read: TfliteReader, operator: FileOperator) -> Value:
        if read.tensor(operator).dtype in (*_INTEGERS, "bool"):
            return arithmetic(name, *_both(read, operator), dtype="bool")
        values = [read.input_quantization(operator, at) for at in (0, 1)]
        scaled = [
            multiply((own.levels - own.zero_point) << _COMPARISON_LEFT_SHIFT, np.float64(own.scale)).astype(np.int32)
            for own in values
        ]
        ranks = _ranks(read, operator, values, scaled)
        if ranks is not None:
            truths = FUNCTIONS[name](np.arange(-128, 128), 0).astype(np.int64)
            return cast(of_difference(*ranks, truths, "uint8"), "bool")
        sides: list[Value] = []
        for at, (table, own) in enumerate(zip(scaled, values, strict=True)):
            levels = read.constant(operator, at)
            if levels is None:
                sides.append(lookup(read.value(operator, at), table))
            else:
                sides.append(constant(table[levels.astype(np.int64) - own.levels[0]]))
        return arithmetic(name, *sides, dtype="bool")

    return handler


def _ranks(
    read: TfliteReader, operator: FileOperator, values: Sequence[QuantizedType], scaled: Sequence[Array]
) -> tuple[Value, Value] | None:
    """Both operands as 8 bits in the order of the integers that they are scaled to, equal where these are.

    None for constants, operands of two shapes, and more integers than 8 bits have levels.
    """
    numbers, sides = np.unique(np.concatenate(scaled)), list[Value]()
    for at, (table, own) in enumerate(zip(scaled, values, strict=True)):
        alike = read.tensor(operator, at).shape == read.output(operator).shape
        if read.constant(operator, at) is not None or not alike or len(numbers) > len(own.levels):
            return None
        x, outputs = read.value(operator, at), np.searchsorted(numbers, table) + own.levels[0]
        as_it_is = np.array_equal(outputs, own.levels)
        sides.append(x if as_it_is else lookup(x, outputs.astype(own.dtype)))
    return sides[0], sides[1]


def select(read: TfliteReader, operator: FileOperator) -> Value:
    """SELECT and SELECT_V2; of SELECT's condition one axis may be there, which is the first."""
    condition, x, y = (read.value(operator, at) for at in range(3))
    if operator.name == "SELECT" and len(condition.shape) == 1 < len(x.shape):
        condition = reshaped(condition, (-1, *[1] * (len(x.shape) - 1)))
    return arithmetic("where", condition, x, y)


def logical(function: str) -> Handler:
    """A reader of an operator on truth values."""
    return lambda read, operator: arithmetic(
        function, *(read.value(operator, at) for at in range(len(operator.inputs)))
    )


def to_type(read: TfliteReader, operator: FileOperator) -> Value:
    """CAST of the numbers as they are, whatever their scales."""
    return cast(read.value(operator), read.output(operator).dtype)


def _both(read: TfliteReader, operator: FileOperator) -> tuple[Value, Value]:
    """The two operands."""
    return read.value(operator), read.value(operator, 1)


def _operands(
    read: TfliteReader, operator: FileOperator, activation: int
) -> tuple[QuantizedType, QuantizedType, QuantizedType, tuple[int, int]]:
    output = read.output_quantization(operator)
    clip = integers.clip_of(read, operator, activation, output)
    return read.input_quantization(operator), read.input_quantization(operator, 1), output, clip


def _of_constants(
    read: TfliteReader, operator: FileOperator, of_levels: Callable[..., Int64Array], output: QuantizedType
) -> Value | None:
    """The function's table if one operand is a single constant and the other is no smaller than the output.

    If both operands are constants, or computed of constants, it is the outputs themselves.
    """
    first, second = (array_of(x) for x in _both(read, operator))
    if first is not None and second is not None:
        return constant(of_levels(first.astype(np.int64), second.astype(np.int64)), output.dtype)
    for at, other in ((0, 1), (1, 0)):
        single = read.constant(operator, other)
        whole = read.tensor(operator, at).shape == read.output(operator).shape
        if single is not None and single.size == 1 and whole and read.constant(operator, at) is None:
            values, number = read.input_quantization(operator, at), _number(single)
            outputs = of_levels(values.levels, number) if at == 0 else of_levels(number, values.levels)
            return lookup(read.value(operator, at), outputs.astype(output.dtype))
    return None


def _number(array: Array) -> Any:
    return np.int64(array.reshape(-1)[0])


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "ADD": add,
        "SUB": subtract,
        "MUL": multiplication,
        "DIV": division,
        "SQUARED_DIFFERENCE": squared_difference,
        "ADD_N": add_n,
        "CUMSUM": cumulative_sum,
        "MAXIMUM": extremum("maximum"),
        "MINIMUM": extremum("minimum"),
        "EQUAL": comparison("equal"),
        "NOT_EQUAL": comparison("not_equal"),
        "GREATER": comparison("greater"),
        "GREATER_EQUAL": comparison("greater_equal"),
        "LESS": comparison("less"),
        "LESS_EQUAL": comparison("less_equal"),
        "SELECT": select,
        "SELECT_V2": select,
        "LOGICAL_AND": logical("logical_and"),
        "LOGICAL_OR": logical("logical_or"),
        "LOGICAL_NOT": logical("logical_not"),
        "CAST": to_type,
    }
