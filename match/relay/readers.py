"""Reads operators in integer form as they may be written by hand (docs/integer-form.md).

Every reader takes a typed expression and returns None if it is not of its form.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.graph.elements import (
    Lookup,
)
from match.graph.pairs import (
    Addition,
    Matrices,
    Multiplication,
)
from match.graph.sums import SUMS, Accumulation, Average, Convolution, Dense, unchanged
from match.ir.dtypes import value_range
from match.ir.layer import Axis, Dim, Padding
from match.ir.moves import REARRANGEMENTS
from match.ir.requantization import Int64Array, Requantization
from match.relay import relay
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
    read = _sums(unmarked(accumulator), requantization, out_dtype)
    return None if read is None else replace(read, exact=not is_real_sums(accumulator))


def _sums(accumulator: relay.Expr, requantization: Requantization, out_dtype: str) -> Read[Accumulation] | None:
    if is_call(accumulator, "sum", "nn.avg_pool2d"):
        return _average(accumulator, requantization, out_dtype)
    kernel = byte_operands(*accumulator.args) if is_call(accumulator, "nn.conv2d", "nn.dense") else None
    if kernel is None or not isinstance(accumulator, relay.Call):
        return None
    x = accumulator.args[0]
    if is_call(accumulator, "nn.dense"):
        return Read(Dense(weights=kernel, requantization=requantization, dtype=out_dtype), (x,))
    if str(accumulator.attrs.data_layout) != LAST:
        return None
    made, own = convolution_of(accumulator, kernel, requantization, out_dtype), own_padding(accumulator)
    return Read(made, (x,)) if own is None else Read(replace(made, padding=own[0], pad_value=own[1]), (x.args[0],))


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


def _requantized(expr: relay.Expr) -> tuple[relay.Expr, Requantization, str] | None:
    saturated = _saturated_shift(expr)
    if saturated is None:
        return None
    total, shift_expr, clip, out_dtype = saturated
    product, bias_expr = total.args
    if not (is_call(product, "multiply") and is_call(product.args[0], "cast")):
        return None
    accumulator = product.args[0].args[0]
    if dtype(accumulator) != "int32" or not shape(accumulator):
        return None
    element_wise = is_call(unmarked(accumulator), "multiply") and shape(product.args[1]) == (1,)
    channels = 1 if element_wise else shape(accumulator)[-1]
    multiplier, bias, shift = (_per_channel(part, channels) for part in (product.args[1], bias_expr, shift_expr))
    if multiplier is None or bias is None or shift is None:
        return None
    return accumulator, Requantization(multiplier, bias, shift, clip), out_dtype


def read_addition(expr: relay.Expr) -> Read[Addition] | None:
    """An addition."""
    saturated = _saturated_shift(expr)
    if saturated is None:
        return None
    total, shift_expr, clip, out_dtype = saturated
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
    factors = multipliers[0], multipliers[1]
    addition = Addition(multipliers=factors, bias=bias, shift=shift, clip=clip, dtype=out_dtype)
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
    factors = _less_zero_points(*product.args)
    if factors is None:
        return None
    operands, zeros = factors
    multiplication = Multiplication(zero_points=zeros, requantization=requantization, dtype=out_dtype)
    return Read(multiplication, operands, exact=product == accumulator)


def read_matrices(expr: relay.Expr) -> Read[Matrices] | None:
    """Products of two activations."""
    requantized = read_requantized(expr)
    if requantized is None:
        return None
    accumulator, requantization, out_dtype = requantized
    product = unmarked(accumulator)
    if not is_call(product, "nn.batch_matmul"):
        return None
    factors, attrs = _less_zero_points(*product.args), product.attrs
    if factors is None or attrs.transpose_a or not attrs.transpose_b or not _is_alike(requantization):
        return None
    operands, zeros = factors
    one = requantization.take(np.zeros(1, np.intp))
    matrices = Matrices(zero_points=zeros, requantization=one, dtype=out_dtype)
    return Read(matrices, operands, exact=product == accumulator)


def _is_alike(requantization: Requantization) -> bool:
    """Whether all channels are requantized alike."""
    numbers = requantization.multiplier, requantization.bias, requantization.shift
    return not any(np.any(part != part[0]) for part in numbers)


def _less_zero_points(
    *factors: relay.Expr,
) -> tuple[tuple[relay.Expr, relay.Expr], tuple[int, int]] | None:
    """Two tensors of 8 bits, and what is taken off them; None for other factors."""
    tensors: list[relay.Expr] = []
    zeros: list[int] = []
    for factor in factors:
        zero = scalar(factor.args[1]) if is_call(factor, "subtract") else None
        if zero is None or not is_call(factor.args[0], "cast") or not is_8bit(factor.args[0].args[0]):
            return None
        tensors.append(factor.args[0].args[0])
        zeros.append(int(zero))
    return (tensors[0], tensors[1]), (zeros[0], zeros[1])


def read_lookup(expr: relay.Expr) -> Read[Lookup] | None:
    """A table of one 8-bit value."""
    if not is_call(expr, "take"):
        return None
    table, x = constant(expr.args[0]), _indexed(unmarked(expr.args[1]))
    if x is None or table is None or table.shape != (256,) or str(table.dtype) not in ("int8", "uint8"):
        return None
    lookup = Lookup(outputs=table.astype(np.int64), dtype=str(table.dtype))
    return Read(lookup, (x,), exact=not is_real_sums(expr.args[1]))


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


def output_range(expr: relay.Expr, dtype: str) -> tuple[int, int]:
    """Values that an expression of 8-bit type `dtype`, typed or not, can have: those of its clip, if it ends in one."""
    while is_call(expr, *REARRANGEMENTS, "nn.max_pool2d"):
        expr = expr.args[0]
    if is_call(expr, "cast") and is_call(expr.args[0], "clip"):
        return int(expr.args[0].attrs.a_min), int(expr.args[0].attrs.a_max)
    return value_range(dtype)


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


def _average(pool: relay.Call, requantization: Requantization, out_dtype: str) -> Read[Average] | None:
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
    if not is_call(wide, "cast") or not is_8bit(wide.args[0]) or len(shape(wide)) != 4:
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


def _saturated_shift(expr: relay.Expr) -> tuple[relay.Call, relay.Expr, tuple[int, int], str] | None:
    """The sum, shift, clip and type of ``cast(clip(right_shift(..., S)))``, an int64 sum."""
    saturated = _saturated(expr)
    if saturated is None:
        return None
    shifted, clip, out_dtype = saturated
    if not is_call(shifted, "right_shift") or dtype(shifted) != "int64" or not is_call(shifted.args[0], "add"):
        return None
    return shifted.args[0], shifted.args[1], clip, out_dtype


def _saturated(expr: relay.Expr) -> tuple[relay.Expr, tuple[int, int], str] | None:
    """The operand, clip and type of ``cast(clip(...))``."""
    if not (is_call(expr, "cast") and is_8bit(expr) and is_call(expr.args[0], "clip")):
        return None
    clip = expr.args[0]
    (low, high), (least, most) = (int(clip.attrs.a_min), int(clip.attrs.a_max)), value_range(dtype(expr))
    return (clip.args[0], (low, high), dtype(expr)) if least <= low <= high <= most else None


def _per_channel(expr: relay.Expr, channels: int) -> Int64Array | None:
    """An int64 constant with one entry per channel."""
    values = constant(expr)
    if values is None or values.shape != (channels,) or values.dtype != np.int64:
        return None
    return values.astype(np.int64)
