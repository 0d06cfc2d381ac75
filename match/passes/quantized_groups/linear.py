"""Convolutions and dense layers with constant weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from match.arithmetic.biases import LARGEST_INPUT, fraction_bits
from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import counts_in_steps
from match.passes.integer_sums import sees_one_row
from match.passes.quantized_groups.channel_scaling import (
    ChannelStep,
    QuantizedWeights,
    channel_scaling,
    channel_step,
    scaled,
)
from match.passes.quantized_groups.quantities import requantized
from match.relay import integer_form, relay
from match.relay.qnn import Dequantized, dequantized
from match.relay.rewrite import New, constant, is_call, permutation, shape

_CONVOLUTION = "nn.conv2d"
_TRANSPOSED = "nn.conv2d_transpose"
_DENSE = "nn.dense"
_LINEAR = _CONVOLUTION, _TRANSPOSED, _DENSE

LEVEL_DTYPE = "uint8"
"""The type of the levels that `linear_levels` gives."""

_CONVOLUTION_ATTRIBUTES = "strides", "padding", "kernel_size", "data_layout", "kernel_layout", "dilation", "groups"
_TRANSPOSED_ATTRIBUTES = "strides", "padding", "kernel_size", "data_layout", "kernel_layout", "output_padding", "groups"


_INT32 = 2.0**31
_EXACT_IN_FLOAT32 = 1 << 24
"""All integers below are float32 numbers."""


@dataclass(frozen=True, eq=False)
class _Layer:
    """An operator with weights, its bias if it has one, and what scales its channels after it."""

    operator: relay.Call
    bias: relay.Expr | None
    steps: tuple[ChannelStep, ...]


def linear(expr: relay.Expr, output: QuantizedType, new: New, slopes: Float32Array | None = None) -> relay.Expr | None:
    """A convolution, a transposed one or a dense layer, with a bias or without, and what scales its channels.

    `slopes` multiply it after all that; their shape is broadcast to it.
    """
    layer = _read(expr)
    if layer is None:
        return None
    if slopes is not None:
        layer = replace(layer, steps=(*layer.steps, ChannelStep(expr, "multiply", slopes, None)))
    operator = layer.operator
    real, weights = dequantized(operator.args[0]), weights_of(operator)
    if real is None or weights is None:
        return None
    inputs = real.quantization
    axis, channels = channels_of(operator)
    bias, bits, in_float = np.zeros(channels, np.int32), 0, real.real
    if layer.bias is not None:
        found = _bias(layer.bias, inputs.scale * weights.scales, channels, _reach(operator, weights))
        if found is None:
            return None
        bias, bits, in_float = found.integers, found.bits, in_float or found.real
    if layer.steps:
        scaling = channel_scaling(layer.steps, len(shape(operator)), axis, channels)
        whole = np.ldexp(bias.astype(np.float64), -bits)
        moved = None if scaling is None else scaled(weights, _output_axis(operator), whole, scaling, inputs, output)
        if moved is None:
            return None
        weights, bias, bits, in_float = moved.weights, moved.bias, moved.bits, True
    sums = qnn_sums(operator, Dequantized(new(real.x), inputs), weights, channels)
    if in_float and (bits or layer.steps or not _is_exact(layer, inputs, weights, bias, output)):
        sums = integer_form.real_sums(sums)
    if bits:
        sums = relay.multiply(sums, relay.const(1 << bits, "int32"))
    if layer.bias is not None or layer.steps:
        sums = relay.nn.bias_add(sums, relay.const(bias), axis=axis)
    return requantized(sums, inputs.scale * weights.scales / np.float32(1 << bits), output, axis)


def linear_levels(layer: relay.Expr, low: float, step: np.float32, new: New) -> Dequantized | None:
    """A layer's outputs less `low`, in 256 levels that are `step` apart; the first level is 0."""
    extents = shape(layer)
    first = np.full((extents[1], *(1 for _ in extents[2:])), -low, np.float32)
    levels = QuantizedType(step, 0, LEVEL_DTYPE)
    x = linear(relay.add(layer, relay.const(first)), levels, new)
    return None if x is None else Dequantized(x, levels)


def is_layer(expr: relay.Expr) -> bool:
    """Whether an expression is the real outputs of a layer of 8-bit inputs and constant weights."""
    layer = _read(expr)
    return (
        layer is not None and dequantized(layer.operator.args[0]) is not None and weights_of(layer.operator) is not None
    )


def layer_itself(expr: relay.Expr) -> relay.Expr | None:
    """An expression, if it is the real outputs of a layer."""
    return expr if is_layer(expr) else None


def _read(expr: relay.Expr) -> _Layer | None:
    """The layer that ends in an expression; None if none of a supported kind does."""
    steps: list[ChannelStep] = []
    bias = None
    while not is_call(expr, *_LINEAR):
        added = biased(expr, *_LINEAR)
        if added is not None and (not steps or is_call(added[1], "qnn.dequantize")):
            expr, bias = added
            continue
        step = channel_step(expr)
        if step is None:
            return None
        steps.insert(0, step)
        expr = step.x
    if is_call(expr, _TRANSPOSED) and not (is_plain(expr) and (not steps or int(expr.attrs.groups) == 1)):
        return None
    return _Layer(expr, bias, tuple(steps))


def biased(expr: relay.Expr, *operators: str) -> tuple[relay.Call, relay.Expr] | None:
    """An operator with weights, one of those named, and the bias that is added to its outputs; None otherwise.

    A bias has one number for each output channel, along the axis of these. It may come first in a sum if it is
    dequantized: exporters write it so.
    """
    if not is_call(expr, "nn.bias_add", "add"):
        return None
    operator, bias = expr.args
    if is_call(operator, "qnn.dequantize"):
        operator, bias = bias, operator
    if not is_call(operator, *operators):
        return None
    axis, channels = channels_of(operator)
    rank = len(shape(operator))
    if is_call(expr, "nn.bias_add"):
        along = int(expr.attrs.axis) % rank == axis
    else:
        numbers = constant(bias)
        extents = shape(bias) if numbers is None else numbers.shape
        extents = (1,) * (rank - len(extents)) + extents
        along = extents == tuple(channels if dim == axis else 1 for dim in range(rank))
    return (operator, bias) if along else None


def channels_of(operator: relay.Call) -> tuple[int, int]:
    """The axis of the output channels in what an operator with weights computes, and their number."""
    axis = str(operator.attrs.data_layout).index("C") if is_call(operator, _CONVOLUTION) else 1
    return axis, shape(operator)[axis]


def is_plain(transposed: relay.Call) -> bool:
    """Whether a transposed convolution has one map, or as good as one, channels first and filters without holes."""
    attrs = transposed.attrs
    one = shape(transposed)[0] == 1 or sees_one_row(transposed)
    return one and all(int(step) == 1 for step in attrs.dilation) and str(attrs.data_layout) == "NCHW"


def qnn_sums(operator: relay.Call, x: Dequantized, weights: QuantizedWeights, channels: int) -> relay.Expr:
    """The operator on integers: its int32 sums."""
    if is_call(operator, _DENSE):
        return dense_sums(x, weights)
    if is_call(operator, _CONVOLUTION):
        attributes = {name: operator.attrs[name] for name in _CONVOLUTION_ATTRIBUTES}
        return relay.qnn.op.conv2d(*_arguments(x, weights), channels=channels, **attributes)
    attributes = {name: operator.attrs[name] for name in _TRANSPOSED_ATTRIBUTES}
    groups = int(attributes["groups"])
    if weights.scales.size not in (1, math.prod(weights.values.shape[:2])) and groups > 1:
        weights, attributes["groups"] = _ungrouped(weights, groups), 1
    return relay.qnn.op.conv2d_transpose(*_arguments(x, weights), channels=channels, **attributes)


def _ungrouped(weights: QuantizedWeights, groups: int) -> QuantizedWeights:
    """Filters (C, K / groups, ...) of a transposed convolution in groups as those (C, K, ...) of one without.

    QNN has no such convolution with a scale for each output channel. Weights between groups are 0.
    """
    inputs, outputs = weights.values.shape[:2]
    zeros = np.broadcast_to(weights.zero_points, outputs * groups).astype(weights.values.dtype)
    own = zeros.reshape(1, -1, *(1 for _ in weights.values.shape[2:]))
    values = np.broadcast_to(own, (inputs, outputs * groups, *weights.values.shape[2:])).copy()
    size = inputs // groups
    for group in range(groups):
        rows, columns = slice(group * size, (group + 1) * size), slice(group * outputs, (group + 1) * outputs)
        values[rows, columns] = weights.values[rows]
    return replace(weights, values=values)


def dense_sums(x: Dequantized, weights: QuantizedWeights) -> relay.Expr:
    """The int32 sums of a dense layer."""
    return relay.qnn.op.dense(*_arguments(x, weights), len(weights.values))


def _arguments(x: Dequantized, weights: QuantizedWeights) -> tuple[relay.Expr, ...]:
    """The first arguments of a QNN operator with weights: two tensors, their zero points, their scales."""
    return (
        x.x,
        relay.const(weights.values),
        relay.const(x.quantization.zero_point, "int32"),
        relay.const(weights.zero_points),
        relay.const(x.quantization.scale),
        relay.const(weights.scales),
    )


def weights_of(operator: relay.Call) -> QuantizedWeights | None:
    """The constant weights of a convolution or dense layer; None if they are not constant, or not of 8 bits."""
    kernel, turned = operator.args[1], False
    while is_call(kernel, "transpose") and is_call(operator, _DENSE):  # a product of matrices adds one to a file's own
        kernel, turned = kernel.args[0], turned != (permutation(kernel) == (1, 0))
    if not is_call(kernel, "qnn.dequantize"):
        return None
    values, scale, zero_point = (constant(argument) for argument in kernel.args)
    if values is None or scale is None or zero_point is None or str(values.dtype) not in ("int8", "uint8"):
        return None
    if scale.size == 1:
        scale, zero_point = scale.reshape(()), zero_point.reshape(-1)[:1].reshape(())
    elif int(kernel.attrs.axis) % values.ndim != (1 if turned else _output_axis(operator)):
        return None
    elif is_call(operator, _TRANSPOSED):  # whose weights have the outputs of one group, which all groups share
        scale, zero_point = (np.tile(numbers, int(operator.attrs.groups)) for numbers in (scale, zero_point))
    zero_points = np.broadcast_to(zero_point, scale.shape).astype(np.int32)
    return QuantizedWeights(values.T.copy() if turned else values, scale.astype(np.float32), zero_points)


def _output_axis(operator: relay.Call) -> int:
    """The axis of the output channels in weights."""
    if is_call(operator, _DENSE):
        return 0
    return str(operator.attrs.kernel_layout).index("O")


def _is_exact(
    layer: _Layer, inputs: QuantizedType, weights: QuantizedWeights, bias: npt.NDArray[np.int32], output: QuantizedType
) -> bool:
    """Whether float32 has room for all sums of a layer, in any order, and no scale rounds them.

    Then a reference that computes in floating point rounds nothing but the outputs. All scales are powers of two, and
    the bias is a multiple of the sums' step.
    """
    step = inputs.scale * weights.scales
    if np.any(np.frexp([inputs.scale, output.scale, *weights.scales.flat])[0] != 0.5):
        return False
    numbers = np.zeros(1, np.float32) if layer.bias is None else _real_bias(layer.bias)
    if numbers is None or not np.array_equal(np.broadcast_to(numbers, bias.shape), bias * step):
        return False
    kernel = np.moveaxis(weights.values.astype(np.int64), _output_axis(layer.operator), -1)
    zero_points = np.resize(weights.zero_points, kernel.shape[-1])  # those of a transposed one are alike in all groups
    sums = np.abs(kernel - zero_points).reshape(-1, kernel.shape[-1]).sum(axis=0).max()
    largest = max(abs(int(end) - inputs.zero_point) for end in (inputs.levels[0], inputs.levels[-1]))
    return sums * largest + np.abs(bias.astype(np.int64)).max(initial=0) < _EXACT_IN_FLOAT32


def _real_bias(bias: relay.Expr) -> Float32Array | None:
    """The numbers of a bias, which may be quantized with a scale for each channel; None if they are not constant."""
    if not is_call(bias, "qnn.dequantize"):
        values = constant(bias)
        return None if values is None else values.reshape(-1)
    levels, scale, zero_point = (constant(argument) for argument in bias.args)
    if levels is None or scale is None or zero_point is None:
        return None
    return (levels.astype(np.int64) - zero_point).reshape(-1).astype(np.float32) * scale.reshape(-1)


@dataclass(frozen=True, eq=False)
class _Bias:
    """A bias: int32 of shape (channels,), in units of ``2**-bits`` of a sum.

    real: the reference adds real numbers to the sums, in floating point.
    """

    integers: npt.NDArray[np.int32]
    bits: int
    real: bool


def _bias(bias: relay.Expr, steps: Float32Array, channels: int, reach: npt.NDArray[np.int64]) -> _Bias | None:
    """The bias of sums with these steps that reach so far on either side; None if int32 does not hold it.

    Real numbers are rounded to whole steps, as onnxruntime does. Integers with a scale or zero point of their own are
    not: onnxruntime computes their layer in floating point.
    """
    numbers = _real_bias(bias)
    if numbers is None or numbers.size != channels:
        return None
    if not is_call(bias, "qnn.dequantize"):
        whole = np.rint(numbers / steps.reshape(-1))
        return _Bias(whole.astype(np.int32), 0, False) if np.all(np.abs(whole) < _INT32) else None
    integers, scale, zero_point = (constant(argument) for argument in bias.args)
    assert integers is not None
    assert scale is not None
    assert zero_point is not None
    if integers.dtype == np.int32 and counts_in_steps(scale, zero_point, steps):
        return _Bias(integers.reshape(-1), 0, False)
    offset = numbers.astype(np.float64) / steps.reshape(-1)
    bits = fraction_bits(float((reach + np.abs(offset)).max()))
    if bits is None:
        return None
    bits = 0 if np.array_equal(offset, np.rint(offset)) else bits
    return _Bias(np.rint(np.ldexp(offset, bits)).astype(np.int32), bits, True)


def _reach(operator: relay.Call, weights: QuantizedWeights) -> npt.NDArray[np.int64]:
    """The largest sum of each output channel, on either side of 0; shape (channels,) or (1,)."""
    kernel = np.moveaxis(weights.values.astype(np.int64), _output_axis(operator), -1)
    sums = np.abs(kernel - np.resize(weights.zero_points, kernel.shape[-1])).reshape(-1, kernel.shape[-1]).sum(axis=0)
    return LARGEST_INPUT * sums.max(keepdims=True)
