"""Convolutions and dense layers with constant weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array, QuantizedType
from match.passes.quantized_groups.quantities import requantized
from match.relay import integer_form, relay
from match.relay.qnn import Dequantized, dequantized
from match.relay.rewrite import New, constant, is_call, shape

_CONVOLUTION = "nn.conv2d"
_TRANSPOSED = "nn.conv2d_transpose"
_DENSE = "nn.dense"
_LINEAR = _CONVOLUTION, _TRANSPOSED, _DENSE

_CONVOLUTION_ATTRIBUTES = "strides", "padding", "kernel_size", "data_layout", "kernel_layout", "dilation", "groups"
_TRANSPOSED_ATTRIBUTES = "strides", "padding", "kernel_size", "data_layout", "kernel_layout", "output_padding", "groups"


@dataclass(frozen=True, eq=False)
class QuantizedWeights:
    """Weights in the layout of their operator; scales and zero points: one, or one for each output channel."""

    values: npt.NDArray[Any]
    scales: Float32Array
    zero_points: npt.NDArray[np.int32]


def linear(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A convolution, a transposed one or a dense layer, with a bias or without."""
    operator, bias = expr, None
    if is_call(expr, "nn.bias_add", "add") and is_call(expr.args[0], *_LINEAR):
        operator, bias = expr.args[0], expr.args[1]
    if not is_call(operator, *_LINEAR) or (is_call(operator, _TRANSPOSED) and not _is_plain(operator)):
        return None
    real, weights = dequantized(operator.args[0]), weights_of(operator)
    if real is None or weights is None:
        return None
    scale = real.quantization.scale * weights.scales
    axis = str(operator.attrs.data_layout).index("C") if is_call(operator, _CONVOLUTION) else 1
    channels = shape(operator)[axis]
    sums = _sums(operator, Dequantized(new(real.x), real.quantization), weights, channels)
    if bias is not None:
        integers = _bias(bias, scale, channels)
        if integers is None:
            return None
        sums = relay.nn.bias_add(sums, relay.const(integers), axis=axis)
    return requantized(sums, scale, output, axis)


def _is_plain(transposed: relay.Call) -> bool:
    """Whether a transposed convolution has one image, channels first and filters without holes."""
    attrs = transposed.attrs
    one = shape(transposed)[0] == 1 and all(int(step) == 1 for step in attrs.dilation)
    return one and str(attrs.data_layout) == "NCHW"


def _sums(operator: relay.Call, x: Dequantized, weights: QuantizedWeights, channels: int) -> relay.Expr:
    """The operator on integers: its int32 sums."""
    if is_call(operator, _DENSE):
        return dense_sums(x, weights)
    if is_call(operator, _CONVOLUTION):
        attributes = {name: operator.attrs[name] for name in _CONVOLUTION_ATTRIBUTES}
        return relay.qnn.op.conv2d(*_arguments(x, weights), channels=channels, **attributes)
    attributes = {name: operator.attrs[name] for name in _TRANSPOSED_ATTRIBUTES}
    sums = relay.qnn.op.conv2d_transpose(*_arguments(x, weights), channels=channels, **attributes)
    return integer_form.real_sums(sums)  # onnxruntime has no kernel in integers


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
    if is_call(kernel, "transpose") and is_call(operator, _DENSE):
        kernel, turned = kernel.args[0], True
    if not is_call(kernel, "qnn.dequantize"):
        return None
    values, scale, zero_point = (constant(argument) for argument in kernel.args)
    if values is None or scale is None or zero_point is None or str(values.dtype) not in ("int8", "uint8"):
        return None
    if scale.size == 1:
        scale, zero_point = scale.reshape(()), zero_point.reshape(-1)[:1].reshape(())
    elif int(kernel.attrs.axis) % values.ndim != _output_axis(operator, turned):
        return None
    elif is_call(operator, _TRANSPOSED):  # whose weights have the outputs of one group, which all groups share
        scale, zero_point = (np.tile(numbers, int(operator.attrs.groups)) for numbers in (scale, zero_point))
    zero_points = np.broadcast_to(zero_point, scale.shape).astype(np.int32)
    return QuantizedWeights(values.T.copy() if turned else values, scale.astype(np.float32), zero_points)


def _output_axis(operator: relay.Call, turned: bool) -> int:
    """The axis of the output channels in constant weights, which a dense layer may have `turned`."""
    if is_call(operator, _DENSE):
        return 1 if turned else 0
    return str(operator.attrs.kernel_layout).index("O")


def _bias(bias: relay.Expr, scale: Float32Array, channels: int) -> npt.NDArray[np.int32] | None:
    """The integers of a bias in the accumulator's scale, shape (channels,)."""
    if is_call(bias, "qnn.dequantize"):
        integers = constant(bias.args[0])
        if integers is None or integers.dtype != np.int32:
            return None
    else:
        values = constant(bias)
        if values is None:
            return None
        integers = np.rint(values.reshape(-1) / scale.reshape(-1)).astype(np.int32)
    return integers.reshape(-1) if integers.size == channels else None
