"""Reads what the front ends write for quantized layers: chains of QNN operators, as one value each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.named_rounding import NamedRounding, Ties
from match.ir.dtypes import value_range
from match.relay import relay
from match.relay.integer_form import Weights
from match.relay.rewrite import constant, dtype, is_8bit, is_call, scalar, shape

_CONVOLUTIONS = ("qnn.conv2d", "qnn.conv2d_transpose")


@dataclass(frozen=True, eq=False)
class LinearSums:
    """``[bias](qnn.conv2d, its transpose or qnn.dense)`` with constant parameters.

    call: the qnn.conv2d, qnn.conv2d_transpose or qnn.dense.
    x: its input, quantized by `input` (whose dtype is that of x).
    weights: with the zero point taken off, in the layout of the operator; int16 where that needs nine bits.
    weight_scale: one, or one per output channel; shape (1,) or (channels,).
    bias: int64, shape (channels,).
    """

    call: relay.Call
    x: relay.Expr
    input: QuantizedType
    weights: Weights
    weight_scale: Float32Array
    bias: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Linear:
    """``[clip](qnn.requantize([relu](LinearSums)))`` with constant parameters.

    output, clip: quantization of the result and the closed range of its values.
    rounding: that of the requantization, if it names one; None leaves it to the reference.
    """

    sums: LinearSums
    output: QuantizedType
    clip: tuple[int, int]
    rounding: NamedRounding | None


def clamped(expr: relay.Expr, dtype: str) -> tuple[relay.Expr, tuple[int, int]]:
    """An expression without the clips around it, and the range of values of `dtype` that they leave.

    What is clipped in 32 bits and then cast to `dtype`, as TVM's PyTorch importer writes it, is clipped like that.
    """
    low, high = value_range(dtype)
    while is_call(expr, "clip"):
        low, high = max(low, int(np.ceil(expr.attrs.a_min))), min(high, int(np.floor(expr.attrs.a_max)))
        expr = expr.args[0]
    if is_call(expr, "cast") and is_call(expr.args[0], "clip") and str(expr.args[0].checked_type.dtype) == "int32":
        wide, (least, most) = clamped(expr.args[0], "int32")
        if is_call(wide, "qnn.requantize") and value_range(dtype)[0] <= least <= most <= value_range(dtype)[1]:
            return wide, (max(low, least), min(high, most))
    return expr, (low, high)


def quantization(scale: relay.Expr, zero_point: relay.Expr, dtype: str) -> QuantizedType | None:
    """The quantization of a tensor from its scale and zero point, if they are constants of one element."""
    scale_value, zero_value = scalar(scale), scalar(zero_point)
    if scale_value is None or zero_value is None:
        return None
    return QuantizedType(np.float32(scale_value), int(zero_value), dtype)


def read_linear(expr: relay.Expr) -> Linear | None:
    """The convolution or dense layer that ends in `expr`, or None if none of a supported kind does."""
    if not is_8bit(expr):
        return None
    requantize, clip = clamped(expr, dtype(expr))
    if not is_call(requantize, "qnn.requantize") or not is_fixed_point(requantize):
        return None
    output = quantization(requantize.args[3], requantize.args[4], dtype(expr))
    rectified = _rectified(requantize.args[0])
    sums = read_linear_sums(requantize.args[0] if rectified is None else rectified)
    if output is None or sums is None:
        return None
    if rectified is not None:  # a sum of 0 becomes the zero point
        clip = min(max(clip[0], output.zero_point), clip[1]), clip[1]
    accumulator_scale, accumulator_zero = constant(requantize.args[1]), constant(requantize.args[2])
    if accumulator_scale is None or accumulator_zero is None or accumulator_zero.any():
        return None
    # Only a requantization of the accumulator's own scale is a layer; the importers round this product, so it is close.
    own_scale = sums.input.scale * sums.weight_scale
    if accumulator_scale.size > 1 and not _is_along(requantize, _channel_axis(sums.call)):
        return None
    if not np.allclose(accumulator_scale.reshape(-1), own_scale, rtol=1e-3, atol=0):
        return None
    return Linear(sums, output, clip, named_rounding(requantize))


def _rectified(expr: relay.Expr) -> relay.Expr | None:
    """What negative numbers are made 0 in; None for other expressions."""
    rectifies = is_call(expr, "nn.relu") or (is_call(expr, "maximum") and scalar(expr.args[1]) == 0)
    return expr.args[0] if rectifies and isinstance(expr, relay.Call) else None


def named_rounding(requantize: relay.Call) -> NamedRounding | None:
    """The rounding that a `qnn.requantize` names; None where it names none, as TVM's importers do not."""
    name, scale = str(requantize.attrs.rounding), constant(requantize.args[1])
    return (
        NamedRounding(Ties(name), scale.reshape(-1).astype(np.float32))
        if name in (*Ties,) and scale is not None
        else None
    )


def is_fixed_point(requantize: relay.Call) -> bool:
    """Whether a `qnn.requantize` may be computed in integers: it may name a floating-point type for that."""
    return str(requantize.attrs.compute_dtype) in ("None", "int64")


def read_linear_sums(expr: relay.Expr) -> LinearSums | None:
    """The convolution or dense layer whose sums, with the bias, are `expr`; None for other expressions."""
    call, bias = _without_bias(expr)
    if not is_call(call, *_CONVOLUTIONS, "qnn.dense"):
        return None
    x, kernel, input_zero, weight_zero, input_scale, weight_scale = call.args
    if not is_8bit(x):
        return None
    inputs = quantization(input_scale, input_zero, dtype(x))
    weights, scales = _weights(call, kernel, weight_zero), constant(weight_scale)
    if inputs is None or weights is None or scales is None:
        return None
    channels = shape(call)[_channel_axis(call)]
    if bias is None:
        bias = np.zeros(channels, np.int64)
    if bias.size != channels or scales.size not in (1, channels):
        return None
    scales = scales.astype(np.float32).reshape(-1)
    return LinearSums(call, x, inputs, weights, scales, bias.reshape(-1).astype(np.int64))


def _channel_axis(call: relay.Call) -> int:
    return str(call.attrs.data_layout).index("C") if is_call(call, *_CONVOLUTIONS) else len(shape(call)) - 1


def _without_bias(expr: relay.Expr) -> tuple[relay.Expr, npt.NDArray[Any] | None]:
    """The operand of a constant bias addition and the bias; the expression itself where there is none."""
    if not is_call(expr, "nn.bias_add", "add"):
        return expr, None
    bias = constant(expr.args[1])
    if bias is None or not _adds_to_channels(expr, bias):
        return expr, None
    return expr.args[0], bias


def _adds_to_channels(expr: relay.Call, bias: npt.NDArray[Any]) -> bool:
    """Whether a constant has one number for each channel of what it is added to; other axes may be as long."""
    call = expr.args[0]
    if not is_call(call, *_CONVOLUTIONS, "qnn.dense"):
        return False
    axis, rank = _channel_axis(call), len(shape(call))
    if is_call(expr, "nn.bias_add"):
        return _is_along(expr, axis)
    extents = (1,) * (rank - bias.ndim) + bias.shape
    return bias.ndim <= rank and extents[axis] == bias.size


def _is_along(call: relay.Call, axis: int) -> bool:
    """Whether an operator has one number for each element along an axis."""
    return int(call.attrs.axis) % len(shape(call)) == axis


def _weights(call: relay.Call, kernel: relay.Expr, zero_point: relay.Expr) -> Weights | None:
    """The weights less their zero point, as int8 if that fits: so do uint8 weights around 128; else as int16."""
    values, zero = constant(kernel), constant(zero_point)
    if values is None or zero is None or str(values.dtype) not in ("int8", "uint8"):
        return None
    zero = zero.reshape(-1).astype(np.int64)
    if (zero == zero[0]).all():
        zero = zero[:1]
    else:
        layout = str(call.attrs.kernel_layout) if is_call(call, *_CONVOLUTIONS) else "OI"
        # A depthwise filter in HWOI has the outputs of each input along its last axis.
        along = "OI" if layout == "HWOI" else "O"
        shared = [extent if axis in along else 1 for axis, extent in zip(layout, values.shape, strict=True)]
        if math.prod(shared) != zero.size:
            return None
        zero = zero.reshape(shared)
    shifted = values.astype(np.int64) - zero
    low, high = value_range("int8")
    fits = low <= shifted.min() and shifted.max() <= high
    return shifted.astype(np.int8) if fits else shifted.astype(np.int16)
