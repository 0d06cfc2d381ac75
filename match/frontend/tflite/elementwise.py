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
from match.frontend.tflite import integers, tables
from match.frontend.tflite.file import Array, FileOperator
from match.frontend.tflite.integers import int64
from match.frontend.tflite.reader import Handler, Handlers, TfliteReader
from match.graph.pairs import largest_square
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.relay import integer_form, relay
from match.relay.differences import of_difference
from match.relay.pairs import function_of_pairs
from match.relay.rewrite import constant

_SQUARE_LEFT_SHIFT = 7
_COMPARISON_LEFT_SHIFT = 8
_INTEGERS = ("int32", "int64")


def add(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """ADD."""
    return _addition(read, operator, operator.options(tflite.AddOptions).FusedActivationFunction(), sign=1)


def subtract(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SUB."""
    return _addition(read, operator, operator.options(tflite.SubOptions).FusedActivationFunction(), sign=-1)


def _addition(read: TfliteReader, operator: FileOperator, activation: int, sign: int) -> relay.Expr:
    if read.output(operator).dtype in _INTEGERS:
        return (relay.add if sign > 0 else relay.subtract)(read.expr(operator), read.expr(operator, 1))
    a, b, output, clip = _operands(read, operator, activation)

    def of_levels(x: Int64Array, y: Int64Array) -> Int64Array:
        first, second, last = addition_factors(a.scale, b.scale, output.scale)
        left = multiply((x - a.zero_point) << ADD_LEFT_SHIFT, first)
        right = multiply((y - b.zero_point) << ADD_LEFT_SHIFT, second)
        return np.clip(multiply(left + sign * right, last) + output.zero_point, *clip)

    known = _of_constants(read, operator, of_levels, output)
    if known is not None:
        return known
    build = relay.qnn.op.add if sign > 0 else relay.qnn.op.subtract
    return _clipped(build(*_qnn_operands(read, operator, a, b, output)), clip, output)


def multiplication(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """MUL."""
    if read.output(operator).dtype in _INTEGERS:
        return relay.multiply(read.expr(operator), read.expr(operator, 1))
    a, b, output, clip = _operands(read, operator, operator.options(tflite.MulOptions).FusedActivationFunction())
    factor = np.float64(a.scale) * np.float64(b.scale) / np.float64(output.scale)

    def of_levels(x: Int64Array, y: Int64Array) -> Int64Array:
        product = (x - a.zero_point) * (y - b.zero_point)
        return np.clip(multiply(product, factor) + output.zero_point, *clip)

    known = _of_constants(read, operator, of_levels, output)
    if known is not None:
        return known
    return _clipped(relay.qnn.op.mul(*_qnn_operands(read, operator, a, b, output)), clip, output)


def division(read: TfliteReader, operator: FileOperator) -> relay.Expr:
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
    dtypes = a.dtype, b.dtype
    return function_of_pairs(read.expr(operator), read.expr(operator, 1), outputs, dtypes, clip, output.dtype)


def _divided(x: Int64Array, bits: Int64Array) -> Int64Array:
    """``x / 2**bits``, half away from zero.

    Of more than 31 bits C says nothing; as TFLite Micro's build for PCs does, shifts then begin at 0 again and the rest
    is compared with -1.
    """
    beyond = (x >> (bits % 32)) + (x > np.where(x < 0, 0, -1))
    return np.where(bits > 31, beyond, shifted_right(x, np.minimum(bits, 31)))


def squared_difference(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SQUARED_DIFFERENCE: both operands in steps of twice the larger scale, which a table has for each value."""
    a, b, output, clip = _operands(read, operator, tflite.ActivationFunctionType.NONE)
    twice = 2.0 * np.float64(max(a.scale, b.scale))
    last = np.float64(twice * twice / np.float64(np.float32(1 << 2 * _SQUARE_LEFT_SHIFT) * output.scale))
    steps = np.stack(
        [multiply((x.levels - x.zero_point) << _SQUARE_LEFT_SHIFT, np.float64(x.scale) / twice) for x in (a, b)]
    )
    reachable = np.zeros(1, np.int64), np.array([largest_square(steps)])
    requantization = TfliteArithmetic().scaled(last, output, clip, reachable)
    operands = read.expr(operator), read.expr(operator, 1)
    squares = integer_form.squared_difference(*operands, (a.dtype, b.dtype), steps, requantization, output.dtype)
    return squares if read.output(operator).shape else relay.reshape(squares, ())


def add_n(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """ADD_N: addends with one quantization."""
    a, output = read.input_quantization(operator), read.output_quantization(operator)
    half, last = np.float64(0.5), _addition_last(a, output)
    count = len(operator.inputs)
    # TFLite Micro's sum begins with a scaled 0 less the zero point.
    total: relay.Expr = int64(int(multiply(np.array([-a.zero_point << ADD_LEFT_SHIFT]), half)[0]))
    for at in range(count):
        total = relay.add(total, integers.scaled(_shifted(read, operator, at, a, ADD_LEFT_SHIFT), half))
    return integers.narrowed(integers.scaled(total, last), output)


def cumulative_sum(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """CUMSUM."""
    options = operator.options(tflite.CumsumOptions)
    a, output = read.input_quantization(operator), read.output_quantization(operator)
    (axis,) = read.integers(operator, 1)
    axis %= len(read.tensor(operator).shape)
    half = np.float64(0.5)
    x = integers.scaled(_shifted(read, operator, 0, a, ADD_LEFT_SHIFT), half)
    # TFLite Micro turns all axes around, which is the same as one.
    x = relay.reverse(x, axis) if options.Reverse() else x
    sums = relay.cumsum(x, axis, exclusive=bool(options.Exclusive()))
    sums = relay.reverse(sums, axis) if options.Reverse() else sums
    first = int(multiply(np.array([-a.zero_point << ADD_LEFT_SHIFT]), half)[0])
    sums = relay.cast(relay.add(sums, int64(first)), "int32")  # TFLite Micro sums in 32 bits
    sums = integers.wide(sums)
    return integers.narrowed(integers.scaled(sums, _addition_last(a, output)), output)


def _addition_last(a: QuantizedType, output: QuantizedType) -> np.float64:
    return 2 * np.float64(a.scale) / (np.float64(1 << ADD_LEFT_SHIFT) * np.float64(output.scale))


def extremum(build: Callable[..., relay.Expr]) -> Handler:
    """A reader of MAXIMUM or MINIMUM, which compare the integers whatever the scales are."""
    return lambda read, operator: build(read.expr(operator), read.expr(operator, 1))


def comparison(build: Callable[..., relay.Expr], function: Callable[..., Any]) -> Handler:
    """A reader of a comparison, which is Relay's and NumPy's; quantized numbers are scaled to integers first.

    Two tensors with no more integers than one has levels are compared by their difference, in 8 bits.
    """

    def handler(read: TfliteReader, operator: FileOperator) -> relay.Expr:
        if read.tensor(operator).dtype in (*_INTEGERS, "bool"):
            return build(read.expr(operator), read.expr(operator, 1))
        values = [read.input_quantization(operator, at) for at in (0, 1)]
        scaled = [
            multiply((own.levels - own.zero_point) << _COMPARISON_LEFT_SHIFT, np.float64(own.scale)).astype(np.int32)
            for own in values
        ]
        ranks = _ranks(read, operator, values, scaled)
        if ranks is not None:
            truths, dtypes = function(np.arange(-128, 128), 0).astype(np.int64), (values[0].dtype, values[1].dtype)
            return relay.cast(of_difference(*ranks, truths, dtypes, "uint8"), "bool")
        sides: list[relay.Expr] = []
        for at, (table, own) in enumerate(zip(scaled, values, strict=True)):
            levels = read.constant(operator, at)
            if levels is None:
                sides.append(tables.lookup(read.expr(operator, at), table, own))
            else:
                sides.append(relay.const(table[levels.astype(np.int64) - own.levels[0]]))
        return build(*sides)

    return handler


def _ranks(
    read: TfliteReader, operator: FileOperator, values: Sequence[QuantizedType], scaled: Sequence[Array]
) -> tuple[relay.Expr, relay.Expr] | None:
    """Both operands as 8 bits in the order of the integers that they are scaled to, equal where these are.

    None for constants, operands of two shapes, and more integers than 8 bits have levels.
    """
    numbers, sides = np.unique(np.concatenate(scaled)), list[relay.Expr]()
    for at, (table, own) in enumerate(zip(scaled, values, strict=True)):
        alike = read.tensor(operator, at).shape == read.output(operator).shape
        if read.constant(operator, at) is not None or not alike or len(numbers) > len(own.levels):
            return None
        x, outputs = read.expr(operator, at), np.searchsorted(numbers, table) + own.levels[0]
        as_it_is = np.array_equal(outputs, own.levels)
        sides.append(x if as_it_is else integer_form.lookup(x, outputs, own.dtype, own.dtype))
    return sides[0], sides[1]


def select(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SELECT and SELECT_V2; of SELECT's condition one axis may be there, which is the first."""
    condition, x, y = (read.expr(operator, at) for at in range(3))
    ranks = [len(read.tensor(operator, at).shape) for at in range(3)]
    if operator.name == "SELECT" and ranks[0] == 1 < ranks[1]:
        condition = relay.reshape(condition, (-1, *[1] * (ranks[1] - 1)))
    return relay.where(condition, x, y)


def logical(build: Callable[..., relay.Expr]) -> Handler:
    """A reader of an operator on truth values."""
    return lambda read, operator: build(*(read.expr(operator, at) for at in range(len(operator.inputs))))


def cast(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """CAST of the numbers as they are, whatever their scales."""
    return relay.cast(read.expr(operator), read.output(operator).dtype)


def _operands(
    read: TfliteReader, operator: FileOperator, activation: int
) -> tuple[QuantizedType, QuantizedType, QuantizedType, tuple[int, int]]:
    output = read.output_quantization(operator)
    clip = integers.clip_of(read, operator, activation, output)
    return read.input_quantization(operator), read.input_quantization(operator, 1), output, clip


def _qnn_operands(read: TfliteReader, operator: FileOperator, *values: QuantizedType) -> list[relay.Expr]:
    """Both operands, and scale and zero point of each and of the output."""
    parameters = [part for one in values for part in (relay.const(one.scale), relay.const(one.zero_point, "int32"))]
    return [read.expr(operator), read.expr(operator, 1), *parameters]


def _clipped(x: relay.Expr, clip: tuple[int, int], output: QuantizedType) -> relay.Expr:
    return x if clip == value_range(output.dtype) else relay.clip(x, *clip)


def _shifted(read: TfliteReader, operator: FileOperator, position: int, values: QuantizedType, bits: int) -> relay.Expr:
    """An operand less its zero point, shifted left."""
    x = integers.wide(read.expr(operator, position), values.zero_point)
    return integers.doubled(x, bits)


def _of_constants(
    read: TfliteReader, operator: FileOperator, of_levels: Callable[..., Int64Array], output: QuantizedType
) -> relay.Expr | None:
    """The function's table if one operand is a single constant and the other is no smaller than the output.

    If both operands are constants, or computed of constants, it is the outputs themselves.
    """
    first, second = (constant(read.expr(operator, at)) for at in (0, 1))
    if first is not None and second is not None:
        return relay.const(of_levels(first.astype(np.int64), second.astype(np.int64)).astype(output.dtype))
    for at, other in ((0, 1), (1, 0)):
        single = read.constant(operator, other)
        whole = read.tensor(operator, at).shape == read.output(operator).shape
        if single is not None and single.size == 1 and whole and read.constant(operator, at) is None:
            values, number = read.input_quantization(operator, at), _number(single)
            outputs = of_levels(values.levels, number) if at == 0 else of_levels(number, values.levels)
            return tables.lookup(read.expr(operator, at), outputs.astype(output.dtype), values)
    return None


def _number(constant: Array) -> Any:
    return np.int64(constant.reshape(-1)[0])


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
        "MAXIMUM": extremum(relay.maximum),
        "MINIMUM": extremum(relay.minimum),
        "EQUAL": comparison(relay.equal, np.equal),
        "NOT_EQUAL": comparison(relay.not_equal, np.not_equal),
        "GREATER": comparison(relay.greater, np.greater),
        "GREATER_EQUAL": comparison(relay.greater_equal, np.greater_equal),
        "LESS": comparison(relay.less, np.less),
        "LESS_EQUAL": comparison(relay.less_equal, np.less_equal),
        "SELECT": select,
        "SELECT_V2": select,
        "LOGICAL_AND": logical(relay.logical_and),
        "LOGICAL_OR": logical(relay.logical_or),
        "LOGICAL_NOT": logical(relay.logical_not),
        "CAST": cast,
    }
