"""Reads back what `match.relay.integer_form` built, as operators of the graph.

Every reader takes a typed expression and returns None if it is not of its form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from match.graph.elements import (
    ChannelLookup,
    Dequantize,
    DequantizeSums,
    Lookup,
    Quantize,
    Requantize,
)
from match.graph.pairs import (
    AbsoluteDifference,
    Addition,
    Int16Multiplication,
    LookupLine,
    LookupSum,
    Matrices,
    Multiplication,
    SquaredDifference,
)
from match.graph.sums import SUMS, Accumulation, Average, Convolution, Dense, unchanged
from match.ir.constants import LOOKUP_LINE_FRACTION, LOOKUP_SUM_FRACTION
from match.ir.dtypes import value_range
from match.ir.float_border import FloatQuantization, can_be_packed
from match.ir.layer import Axis, Dim, Padding
from match.ir.moves import REARRANGEMENTS
from match.ir.requantization import BoolArray, Int64Array, Requantization
from match.relay import relay
from match.relay.float_arithmetic import read_half_to_even
from match.relay.integer_form import Int8Array, is_real_sums, unmarked
from match.relay.maps import LAST, filters_of, read_padding
from match.relay.objects import kept
from match.relay.read import Read
from match.relay.rewrite import constant, dtype, is_8bit, is_call, scalar, shape


def read_layer(expr: relay.Expr) -> Read[Accumulation] | None:
    """A convolution, dense layer or average pooling."""
    return kept(expr, "match_layer", _layer)


def _layer(expr: relay.Expr) -> Read[Accumulation] | None:
    requantized = read_requantized(expr)
    if requantized is None:
        return None
    accumulator, requantization, out_dtype = requantized
    if is_real_sums(accumulator):
        read = _sums(accumulator.args[0], requantization, out_dtype)
        return None if read is None else replace(read, exact=False)
    return _sums(accumulator, requantization, out_dtype)


def _sums(accumulator: relay.Expr, requantization: Requantization, out_dtype: str) -> Read[Accumulation] | None:
    if is_call(accumulator, "nn.conv2d"):
        return _convolution(accumulator, requantization, out_dtype)
    if is_call(accumulator, "nn.dense"):
        x, weights = accumulator.args[0], constant(accumulator.args[1])
        if weights is None or weights.dtype != np.int8 or not is_8bit(x):
            return None
        return Read(Dense(weights=weights, requantization=requantization, dtype=out_dtype), (x,))
    if is_call(accumulator, "sum", "nn.avg_pool2d"):
        return _average(accumulator, requantization, out_dtype)
    return None


def read_requantize(expr: relay.Expr) -> Read[Requantize] | None:
    """A change of scale of a tensor of 16 bits."""
    requantized = _requantized(expr, _is_int16)
    if requantized is None or not is_call(requantized[0], "cast") or not _is_int16(requantized[0].args[0]):
        return None
    return Read(Requantize(requantization=requantized[1], dtype=requantized[2]), (requantized[0].args[0],))


def read_int16_multiplication(expr: relay.Expr) -> Read[Int16Multiplication] | None:
    """A multiplication of two tensors of 16 bits, element by element."""
    requantized = _requantized(expr, _is_int16)
    if requantized is None or not is_call(requantized[0], "multiply"):
        return None
    factors = requantized[0].args
    if not all(is_call(factor, "cast") and _is_int16(factor.args[0]) for factor in factors):
        return None
    operands = factors[0].args[0], factors[1].args[0]
    return Read(Int16Multiplication(requantization=requantized[1], dtype=requantized[2]), operands)


def read_int16_layer(expr: relay.Expr) -> Read[Accumulation] | None:
    """A convolution, dense layer or average of 16 bits to 16 bits, of int32 sums; its weights are numbers of 8 bits."""
    requantized = _requantized(expr, _is_int16)
    if requantized is None:
        return None
    accumulator, requantization, out_dtype = requantized
    if is_call(accumulator, "nn.conv2d"):
        return _convolution(accumulator, requantization, out_dtype, _int16_operands)
    if is_call(accumulator, "sum", "nn.avg_pool2d"):
        return _average(accumulator, requantization, out_dtype, _is_int16)
    if not is_call(accumulator, "nn.dense"):
        return None
    weights = _int16_operands(*accumulator.args)
    if weights is None:
        return None
    dense = Dense(weights=weights, requantization=requantization, dtype=out_dtype)
    return Read(dense, (accumulator.args[0],))


def _is_int16(expr: relay.Expr) -> bool:
    return dtype(expr) == "int16"


_Operands = Callable[[relay.Expr, relay.Expr], Int8Array | None]
"""The weights of a map and weights, if both are of the types that are looked for."""


def _int16_operands(x: relay.Expr, weights: relay.Expr) -> Int8Array | None:
    """Weights that are numbers of 8 bits, for a map of 16 bits."""
    values = constant(weights) if _is_int16(x) and _is_int16(weights) else None
    if values is None or not np.array_equal(values, values.astype(np.int8)):
        return None
    return values.astype(np.int8)


def byte_operands(x: relay.Expr, weights: relay.Expr) -> Int8Array | None:
    """Weights of 8 bits, for a map of 8 bits."""
    return constant(weights) if is_8bit(x) and dtype(weights) == "int8" else None


def read_sums(expr: relay.Expr) -> Read[Accumulation] | None:
    """A convolution, dense layer or sum over windows that hands out its int32 sums, which nothing changes."""
    if not is_call(expr, "nn.conv2d", "nn.dense", "sum", "nn.avg_pool2d") or dtype(expr) != SUMS or not shape(expr):
        return None
    return _sums(expr, unchanged(shape(expr)[-1]), SUMS)


def read_requantized(expr: relay.Expr) -> tuple[relay.Expr, Requantization, str] | None:
    """REQ: the accumulator, the parameters (shape (K,); element by element (1,)), the type of the result."""
    return kept(expr, "match_requantized", _requantized)


def _requantized(
    expr: relay.Expr, of_type: Callable[[relay.Expr], bool] = is_8bit
) -> tuple[relay.Expr, Requantization, str] | None:
    """See `read_requantized`; `of_type` tells which types the result may have."""
    saturated = _saturated_shift(expr, of_type)
    if saturated is None:
        return None
    total, shift_expr, clip, out_dtype = saturated
    total, tie = _without_tie(total)
    if not is_call(total, "add"):
        return None
    product, bias_expr = total.args
    if not (is_call(product, "multiply") and is_call(product.args[0], "cast")):
        return None
    accumulator = product.args[0].args[0]
    if dtype(accumulator) != "int32" or not shape(accumulator):
        return None
    of_elements = ("multiply", "cast") if out_dtype == "int16" else ("multiply",)
    element_wise = is_call(unmarked(accumulator), *of_elements) and shape(product.args[1]) == (1,)
    channels = 1 if element_wise else shape(accumulator)[-1]
    exceptional = is_call(bias_expr, "where") and is_call(bias_expr.args[0], "equal", "logical_or")
    line = bias_expr.args[2] if exceptional else bias_expr
    negative = line.args[:2] if is_call(line, "where") else None
    bias = _per_channel(line.args[2] if negative else line, channels)
    multiplier, shift = _per_channel(product.args[1], channels), _per_channel(shift_expr, channels)
    if multiplier is None or bias is None or shift is None:
        return None
    parameters: Requantization | None = Requantization(multiplier, bias, shift, clip)
    if negative:
        parameters = _with_correction(parameters, accumulator, *negative)
    if exceptional and parameters is not None:
        parameters = _with_exceptions(parameters, accumulator, *bias_expr.args[:2])
    if tie is not None and parameters is not None:
        marked = _marked(tie, shift)
        parameters = None if marked is None else replace(parameters, ties_to_even=marked)
    return None if parameters is None else (accumulator, parameters, out_dtype)


def _with_correction(
    parameters: Requantization, accumulator: relay.Expr, condition: relay.Expr, below_bias: relay.Expr
) -> Requantization | None:
    """The parameters with the correction of ``where(less(accumulator, Z), B_negative, B)``."""
    if not is_call(condition, "less") or condition.args[0] != accumulator:
        return None
    below = _per_channel(condition.args[1], parameters.channels, "int32")
    negative = _per_channel(below_bias, parameters.channels)
    if below is None or negative is None:
        return None
    return replace(parameters, negative_below=below, negative_step=parameters.bias - negative)


def _with_exceptions(
    parameters: Requantization, accumulator: relay.Expr, found: relay.Expr, one_less: relay.Expr
) -> Requantization | None:
    """The parameters with the exceptions of ``where(found, B - 2**S, B)``."""
    lesser = _per_channel(one_less, parameters.channels)
    if lesser is None or np.any(lesser != parameters.bias - (np.int64(1) << parameters.shift)):
        return None
    comparisons: list[relay.Expr] = []
    while is_call(found, "logical_or"):
        comparisons.append(found.args[1])
        found = found.args[0]
    columns: list[Int64Array] = []
    for comparison in (found, *reversed(comparisons)):
        if not is_call(comparison, "equal") or comparison.args[0] != accumulator:
            return None
        column = _per_channel(comparison.args[1], parameters.channels, "int32")
        if column is None:
            return None
        columns.append(column)
    return replace(parameters, exceptions=np.stack(columns, axis=1))


def read_addition(expr: relay.Expr) -> Read[Addition] | None:
    """An addition."""
    saturated = _saturated_shift(expr)
    if saturated is None:
        return None
    total, shift_expr, clip, out_dtype = saturated
    total, tie = _without_tie(total)
    if not is_call(total, "add"):
        return None
    real, both = is_real_sums(total.args[0]), unmarked(total.args[0])
    if not is_call(both, "add"):
        return None
    operands: list[relay.Expr] = []
    numbers = [scalar(total.args[1]), scalar(shift_expr)]
    for product in both.args:
        if not (is_call(product, "multiply") and is_call(product.args[0], "cast") and is_8bit(product.args[0].args[0])):
            return None
        operands.append(product.args[0].args[0])
        numbers.append(scalar(product.args[1]))
    if None in numbers:
        return None
    bias, shift, *multipliers = (int(number) for number in numbers)
    marked = None if tie is None else _marked(tie, np.array(shift))
    if tie is not None and (marked is None or not marked):
        return None
    factors = multipliers[0], multipliers[1]
    addition = Addition(
        multipliers=factors, bias=bias, shift=shift, clip=clip, dtype=out_dtype, ties_to_even=marked is not None
    )
    return Read(addition, (operands[0], operands[1]), exact=not real)


def read_multiplication(expr: relay.Expr) -> Read[Multiplication] | None:
    """A multiplication."""
    requantized = read_requantized(expr)
    if requantized is None:
        return None
    accumulator, requantization, out_dtype = requantized
    product = unmarked(accumulator)
    if not is_call(product, "multiply") or requantization.channels != 1:
        return None
    operands: list[relay.Expr] = []
    zero_points: list[int] = []
    for factor in product.args:
        if not is_call(factor, "subtract") or not is_call(factor.args[0], "cast"):
            return None
        zero_point, x = scalar(factor.args[1]), factor.args[0].args[0]
        if zero_point is None or not is_8bit(x):
            return None
        operands.append(x)
        zero_points.append(int(zero_point))
    zeros = zero_points[0], zero_points[1]
    multiplication = Multiplication(zero_points=zeros, requantization=requantization, dtype=out_dtype)
    return Read(multiplication, (operands[0], operands[1]), exact=product == accumulator)


def read_matrices(expr: relay.Expr) -> Read[Matrices] | None:
    """Products of two activations."""
    requantized = read_requantized(expr)
    if requantized is None:
        return None
    accumulator, requantization, out_dtype = requantized
    real = is_real_sums(accumulator)
    accumulator = unmarked(accumulator)
    if not is_call(accumulator, "nn.batch_matmul"):
        return None
    attrs = accumulator.attrs
    operands: list[relay.Expr] = []
    zero_points: list[int] = []
    for operand in accumulator.args:
        zero = scalar(operand.args[1]) if is_call(operand, "subtract") else None
        if zero is None or not is_call(operand.args[0], "cast") or not is_8bit(operand.args[0].args[0]):
            return None
        operands.append(operand.args[0].args[0])
        zero_points.append(int(zero))
    alike = all(np.all(values == values[0]) for values in (requantization.multiplier, requantization.bias))
    one = requantization.take(np.zeros(1, np.intp))
    if attrs.transpose_a or not attrs.transpose_b or not alike or np.any(requantization.shift != one.shift):
        return None
    parts = requantization.negative_below, requantization.exceptions, requantization.ties_to_even
    if any(np.any(part != part[0]) for part in parts if part is not None):
        return None
    matrices = Matrices(zero_points=(zero_points[0], zero_points[1]), requantization=one, dtype=out_dtype)
    return Read(matrices, (operands[0], operands[1]), exact=not real)


def read_squared_difference(expr: relay.Expr) -> Read[SquaredDifference] | None:
    """A squared difference."""
    requantized = read_requantized(expr)
    if requantized is None or not is_call(requantized[0], "multiply"):
        return None
    difference, again = requantized[0].args
    if difference != again or not is_call(difference, "subtract"):
        return None
    taken = _through_tables(difference.args)
    if taken is None or np.abs(taken[1]).max() > np.iinfo(np.int16).max:
        return None
    operands, steps = taken
    return Read(SquaredDifference(steps=steps, requantization=requantized[1], dtype=requantized[2]), operands)


def read_lookup_sum(expr: relay.Expr) -> Read[LookupSum] | None:
    """A sum of lookups."""
    saturated = _saturated(expr)
    shifted = None if saturated is None else _without_fraction(saturated[0], LOOKUP_SUM_FRACTION)
    if saturated is None or shifted is None:
        return None
    total, real = _without_mark(shifted)
    taken = _through_tables(total.args) if is_call(total, "add") else None
    if taken is None:
        return None
    operands, tables = taken
    return Read(LookupSum(tables=tables, clip=saturated[1], dtype=saturated[2]), operands, exact=not real)


def read_lookup_line(expr: relay.Expr) -> Read[LookupLine] | None:
    """A looked-up line."""
    saturated = _saturated(expr)
    shifted = None if saturated is None else _without_fraction(saturated[0], LOOKUP_LINE_FRACTION)
    if saturated is None or shifted is None:
        return None
    total, real = _without_mark(shifted)
    if (
        not is_call(total, "add")
        or not is_call(total.args[0], "multiply")
        or not is_call(total.args[0].args[0], "cast")
    ):
        return None
    product, bias = total.args
    a, taken = product.args[0].args[0], _through_tables((product.args[1], bias))
    if taken is None or not is_8bit(a):
        return None
    (b, again), lines = taken
    if b != again:
        return None
    return Read(LookupLine(lines=lines, clip=saturated[1], dtype=saturated[2]), (a, b), exact=not real)


def read_absolute_difference(expr: relay.Expr) -> Read[AbsoluteDifference] | None:
    """An absolute difference."""
    saturated = _saturated(expr)
    if saturated is None or not is_call(saturated[0], "add") or not is_call(saturated[0].args[0], "abs"):
        return None
    distance, least = saturated[0].args
    difference = _without_fraction(distance.args[0], LOOKUP_SUM_FRACTION)
    if difference is None or not is_call(difference, "add") or scalar(least) != saturated[1][0]:
        return None
    taken = _through_tables(difference.args)
    if taken is None:
        return None
    operands, tables = taken
    return Read(AbsoluteDifference(tables=tables, clip=saturated[1], dtype=saturated[2]), operands)


def _without_fraction(shifted: relay.Expr, bits: int) -> relay.Expr | None:
    """The int32 numbers whose `bits` after the point are cut off."""
    if not is_call(shifted, "right_shift") or dtype(shifted) != "int32":
        return None
    return shifted.args[0] if scalar(shifted.args[1]) == bits else None


def _through_tables(operands: Sequence[relay.Expr]) -> tuple[tuple[relay.Expr, relay.Expr], Int64Array] | None:
    """Two 8-bit tensors, and the tables, (2, 256), that operands take their elements from."""
    tensors: list[relay.Expr] = []
    tables: list[Int64Array] = []
    for taken in operands:
        table = constant(taken.args[0]) if is_call(taken, "take") else None
        x = _indexed(taken.args[1]) if table is not None else None
        if x is None or table is None or table.shape != (256,):
            return None
        tensors.append(x)
        tables.append(table.astype(np.int64))
    a, b = tensors
    return (a, b), np.stack(tables)


def read_lookup(expr: relay.Expr) -> Read[Lookup] | None:
    """A table of one 8-bit value."""
    if not is_call(expr, "take"):
        return None
    index, real = _without_mark(expr.args[1])
    table, x = constant(expr.args[0]), _indexed(index)
    if x is None or table is None or table.shape != (256,) or str(table.dtype) not in ("int8", "uint8"):
        return None
    return Read(Lookup(outputs=table.astype(np.int64), dtype=str(table.dtype)), (x,), exact=not real)


def read_channel_lookup(expr: relay.Expr) -> Read[ChannelLookup] | None:
    """A table for each channel."""
    if not is_call(expr, "take") or not shape(expr):
        return None
    place, real = _without_mark(expr.args[1])
    if not is_call(place, "add"):
        return None
    table, (index, first) = constant(expr.args[0]), place.args
    x, offsets, channels = _indexed(index), constant(first), shape(expr)[-1]
    if x is None or table is None or offsets is None or str(table.dtype) not in ("int8", "uint8"):
        return None
    if table.shape != (256 * channels,) or not np.array_equal(offsets, 256 * np.arange(channels)):
        return None
    tables = table.astype(np.int64).reshape(channels, 256)
    return Read(ChannelLookup(outputs=tables, dtype=str(table.dtype)), (x,), exact=not real)


def _without_mark(index: relay.Expr) -> tuple[relay.Expr, bool]:
    """The index into a table without `real_sums` around it, and whether `real_sums` was there."""
    return (index.args[0], True) if isinstance(index, relay.Call) and is_real_sums(index) else (index, False)


def _indexed(index: relay.Expr) -> relay.Expr | None:
    """The 8-bit tensor whose place among all values of its type an expression is."""
    moved = is_call(index, "add")
    if moved:
        if scalar(index.args[1]) != 128:
            return None
        index = index.args[0]
    if not is_call(index, "cast") or dtype(index) != "int32" or not is_8bit(index.args[0]):
        return None
    x = index.args[0]
    return x if moved == (dtype(x) == "int8") else None


def read_quantize(expr: relay.Expr) -> Read[Quantize] | None:
    """float32 to 8 bits, as `match.passes.quantize_border` writes it."""
    if not is_call(expr, "cast") or not is_8bit(expr) or not is_call(expr.args[0], "subtract"):
        return None
    offset, rounded = expr.args[0].args
    zero_point = scalar(offset)
    if zero_point is None or not is_call(rounded, "cast") or dtype(rounded) != "int32":
        return None
    even = read_half_to_even(rounded.args[0])
    away = rounded.args[0].args[0] if is_call(rounded.args[0], "round") else None
    bounded = even if even is not None else away
    if bounded is None or not is_call(bounded, "clip") or not is_call(bounded.args[0], "divide"):
        return None
    x, divisor = bounded.args[0].args
    opposite = scalar(divisor)
    bounds = int(zero_point) - int(bounded.attrs.a_max), int(zero_point) - int(bounded.attrs.a_min)
    if opposite is None or not shape(divisor) or dtype(x) != "float32" or bounds != value_range(dtype(expr)):
        return None
    if not can_be_packed(-float(opposite)):
        return None
    function = FloatQuantization(np.float32(-opposite), int(zero_point), dtype(expr), even is not None)
    return Read(Quantize(function=function), (x,))


def read_dequantize(expr: relay.Expr) -> Read[Dequantize] | None:
    """8 bits to float32, as TVM makes it of QNN's operator."""
    if not is_call(expr, "multiply") or dtype(expr) != "float32" or not is_call(expr.args[0], "cast"):
        return None
    difference, scale = expr.args[0].args[0], scalar(expr.args[1])
    if scale is None or not is_call(difference, "subtract") or dtype(difference) != "int32":
        return None
    wide, zero_point = difference.args[0], scalar(difference.args[1])
    if zero_point is None or not is_call(wide, "cast") or not is_8bit(wide.args[0]):
        return None
    return Read(Dequantize(scale=np.float32(scale), zero_point=int(zero_point)), (wide.args[0],))


def read_dequantize_sums(expr: relay.Expr) -> Read[DequantizeSums] | None:
    """int32 sums to float32, with a bias or without."""
    if not is_call(expr, "multiply", "add", "nn.bias_add") or dtype(expr) != "float32" or not shape(expr):
        return None
    channels = shape(expr)[-1]
    product, bias = expr, np.full(channels, -0.0, np.float32)  # which leaves all numbers as they are, -0 too
    if is_call(expr, "add", "nn.bias_add"):
        product, found = expr.args[0], _of_channels(expr, channels)
        if found is None:
            return None
        bias = found
    scale = _of_channels(product, channels)
    if not is_call(product, "multiply") or not is_call(product.args[0], "cast") or scale is None:
        return None
    x, offset = product.args[0].args[0], np.zeros(channels, np.int64)
    if dtype(x) != "int32" or shape(x) != shape(expr):
        return None
    while is_real_sums(x) or is_call(x, "add", "subtract", "nn.bias_add"):
        if not is_real_sums(x):
            numbers = _of_channels(x, channels)
            if numbers is None:
                return None
            offset += (-1 if is_call(x, "subtract") else 1) * numbers.astype(np.int64)
        x = x.args[0]
    if is_call(x, "cast") or np.abs(offset).max(initial=0) > np.iinfo(np.int32).max:
        return None
    line = DequantizeSums(offset=offset.astype(np.int32), scale=scale.astype(np.float32), bias=bias.astype(np.float32))
    return Read(line, (x,), exact=False)


def _of_channels(call: relay.Expr, channels: int) -> npt.NDArray[Any] | None:
    """The second operand of an operator, a constant number or one for each channel, shape (channels,); else None."""
    values = constant(call.args[1]) if is_call(call, "add", "subtract", "multiply", "nn.bias_add") else None
    if values is None or values.size not in (1, channels) or values.shape[-1:] not in ((), (values.size,)):
        return None
    if is_call(call, "nn.bias_add") and int(call.attrs.axis) % len(shape(call)) != len(shape(call)) - 1:
        return None
    return np.broadcast_to(values.reshape(-1), channels)


def output_range(expr: relay.Expr, dtype: str) -> tuple[int, int]:
    """Values that an expression of 8-bit type `dtype`, typed or not, can have: those of its clip, if it ends in one."""
    while is_call(expr, *REARRANGEMENTS, "nn.max_pool2d"):
        expr = expr.args[0]
    if is_call(expr, "cast") and is_call(expr.args[0], "clip"):
        return int(expr.args[0].attrs.a_min), int(expr.args[0].attrs.a_max)
    return value_range(dtype)


def _convolution(
    conv: relay.Call,
    requantization: Requantization,
    out_dtype: str,
    operands: _Operands = byte_operands,
) -> Read[Convolution] | None:
    x, weights = conv.args[0], operands(*conv.args)
    if weights is None or str(conv.attrs.data_layout) != LAST:
        return None
    made, own = convolution_of(conv, weights, requantization, out_dtype), own_padding(conv)
    if own is None:
        return Read(made, (x,))
    return Read(replace(made, padding=own[0], pad_value=own[1]), (x.args[0],))


def convolution_of(conv: relay.Call, weights: Int8Array, requantization: Requantization, dtype: str) -> Convolution:
    """The convolution of a map with channels last that a Relay one is, of a map in its layout, without padding."""
    attrs = conv.attrs
    kernel, layout = filters_of(conv, weights)
    return Convolution(
        weights=kernel,
        requantization=requantization,
        dtype=dtype,
        strides=(int(attrs.strides[0]), int(attrs.strides[1])),
        padding=Padding(*(int(side) for side in attrs.padding)),
        dilation=(int(attrs.dilation[0]), int(attrs.dilation[1])),
        groups=int(attrs.groups),
        pad_value=0,
        kernel_layout=layout,
    )


def own_padding(conv: relay.Call) -> tuple[Padding, int] | None:
    """What an `nn.pad` puts around the map of a convolution, and its integer, if that may be the convolution's own.

    It has no other padding, and each of its windows sees a row and a column of the map.
    """
    attrs = conv.attrs
    own = None if any(int(side) for side in attrs.padding) else read_padding(conv.args[0])
    if own is None:
        return None
    for number, (name, dim) in enumerate((("H", Dim.OY), ("W", Dim.OX))):
        extent = shape(conv.args[1])[str(attrs.kernel_layout).index(name)]
        window = (extent - 1) * int(attrs.dilation[number]) + 1
        inputs, outputs = (shape(maps)[1 + number] for maps in (conv.args[0].args[0], conv))
        if not Axis(dim, inputs, int(attrs.strides[number]), window, own[0][number]).windows_see(outputs):
            return None
    return own


def _average(
    pool: relay.Call,
    requantization: Requantization,
    out_dtype: str,
    of_type: Callable[[relay.Expr], bool] = is_8bit,
) -> Read[Average] | None:
    wide, attrs = pool.args[0], pool.attrs
    window, strides = None, (1, 1)
    if is_call(pool, "nn.avg_pool2d"):
        window = int(attrs.pool_size[0]), int(attrs.pool_size[1])
        strides = int(attrs.strides[0]), int(attrs.strides[1])
        plain = not any(int(side) for side in attrs.padding) and all(int(step) == 1 for step in attrs.dilation)
        if not plain or attrs.ceil_mode or str(attrs.layout) != "NHWC" or not is_call(wide, "multiply"):
            return None
        if scalar(wide.args[1]) != window[0] * window[1]:
            return None
        wide = wide.args[0]
    elif sorted(int(axis) for axis in attrs.axis or ()) != [1, 2] or not attrs.keepdims or attrs.exclude:
        return None
    if not is_call(wide, "cast") or not of_type(wide.args[0]) or len(shape(wide)) != 4:
        return None
    x = wide.args[0]
    rows, columns = shape(x)[1:3]
    average = Average(
        requantization=requantization,
        dtype=out_dtype,
        window=window or (rows, columns),
        strides=strides,
        whole_map=window is None,
    )
    return Read(average, (x,))


def _saturated_shift(
    expr: relay.Expr, of_type: Callable[[relay.Expr], bool] = is_8bit
) -> tuple[relay.Call, relay.Expr, tuple[int, int], str] | None:
    """The sum, shift, clip and type of ``cast(clip(right_shift(..., S)))``, an int64 sum."""
    saturated = _saturated(expr, of_type)
    if saturated is None:
        return None
    shifted, clip, out_dtype = saturated
    if not is_call(shifted, "right_shift") or dtype(shifted) != "int64":
        return None
    if not is_call(shifted.args[0], "add", "subtract"):
        return None
    return shifted.args[0], shifted.args[1], clip, out_dtype


def _without_tie(total: relay.Call) -> tuple[relay.Expr, relay.Call | None]:
    """A sum without what halves take off it, and the comparison that finds these, if there is one."""
    if is_call(total, "subtract") and is_call(total.args[1], "cast") and is_call(total.args[1].args[0], "equal"):
        tie = total.args[1].args[0]
        if is_call(tie.args[0], "bitwise_and") and tie.args[0].args[0] == total.args[0]:
            return total.args[0], tie
    return total, None


def _marked(tie: relay.Call, shift: Int64Array) -> BoolArray | None:
    """Which channels a comparison is for, (channels,) or () as their shifts; None if it does not find halves."""
    mask, value = constant(tie.args[0].args[1]), constant(tie.args[1])
    if mask is None or value is None or mask.shape != shift.shape or value.shape != shift.shape:
        return None
    marked, one = mask != 0, np.int64(1) << shift
    halves = np.array_equal(mask, np.where(marked, 2 * one - 1, 0)) and np.array_equal(value, np.where(marked, one, -1))
    return marked if halves else None


def _saturated(
    expr: relay.Expr, of_type: Callable[[relay.Expr], bool] = is_8bit
) -> tuple[relay.Expr, tuple[int, int], str] | None:
    """The operand, clip and type of ``cast(clip(...))``."""
    if not (is_call(expr, "cast") and of_type(expr) and is_call(expr.args[0], "clip")):
        return None
    clip = expr.args[0]
    (low, high), (least, most) = (int(clip.attrs.a_min), int(clip.attrs.a_max)), value_range(dtype(expr))
    return (clip.args[0], (low, high), dtype(expr)) if least <= low <= high <= most else None


def _per_channel(expr: relay.Expr, channels: int, dtype: str = "int64") -> Int64Array | None:
    """A constant of a type with one entry per channel."""
    values = constant(expr)
    if values is None or values.shape != (channels,) or str(values.dtype) != dtype:
        return None
    return values.astype(np.int64)
