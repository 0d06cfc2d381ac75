"""Depthwise convolutions whose input has a scale for each channel, as some quantizers write them, get an input of one.

A sum of such a layer has elements of one channel alone: the channel's scale goes into the scales of the weights. What
is quantized is divided by the scales instead, channel by channel, which becomes part of a requantization where a layer
computes it. An activation between that layer and the quantize clips what is divided. onnxruntime computes both layers
in floating point, and integers are within one step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.arithmetic.interface import Float32Array
from match.ir.dtypes import value_range
from match.passes.quantized_groups.linear import weights_of
from match.relay import integer_form, relay, tvm
from match.relay.rewrite import New, constant, dtype, is_call, rewrite, shape

_CHANNELS = 1
"""The axis of channels in NCHW."""


@dataclass(frozen=True)
class DepthwiseScales:
    """Applies to convolutions of maps with channels first whose input has one zero point for all channels."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


@dataclass(frozen=True, eq=False)
class _ByChannel:
    """Real values, and what they are quantized to: a scale for each channel, one zero point, and a type."""

    real: relay.Expr
    scales: Float32Array
    zero_point: int
    dtype: str


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "nn.conv2d") or str(call.attrs.data_layout) != "NCHW":
        return None
    channels = shape(call.args[0])[_CHANNELS]
    inputs, weights = _by_channel(call.args[0], channels), weights_of(call)
    if inputs is None or weights is None or int(call.attrs.groups) != channels:
        return None
    own = relay.const(np.float32(1)), relay.const(inputs.zero_point, "int32")
    stored = relay.qnn.op.quantize(_divided(inputs.real, inputs, new), *own, out_dtype=inputs.dtype)
    filters = len(weights.values)
    scales = np.repeat(inputs.scales, filters // channels) * weights.scales
    zero_points = np.broadcast_to(weights.zero_points, filters).copy()
    kernel = relay.qnn.op.dequantize(
        relay.const(weights.values), relay.const(scales), relay.const(zero_points, "int32"), axis=0
    )
    real = integer_form.real_sums(relay.qnn.op.dequantize(stored, *own))
    return relay.Call(call.op, [real, kernel], call.attrs)


def _by_channel(expr: relay.Expr, channels: int) -> _ByChannel | None:
    """What a dequantize with a scale for each channel has from a quantize with the same ones; else None."""
    if not is_call(expr, "qnn.dequantize") or not is_call(expr.args[0], "qnn.quantize"):
        return None
    found: list[Float32Array] = []
    for step in (expr, expr.args[0]):
        scales, zero_points = constant(step.args[1]), constant(step.args[2])
        one_each = scales is not None and scales.shape == (channels,) and int(step.attrs.axis) % 4 == _CHANNELS
        if not one_each or scales is None or zero_points is None or len(np.unique(zero_points)) > 1:
            return None
        found += [scales, zero_points.reshape(-1)[:1]]
    if not (np.array_equal(found[0], found[2]) and found[1] == found[3]):
        return None
    return _ByChannel(expr.args[0].args[0], found[0], int(found[1].item()), dtype(expr.args[0]))


def _divided(expr: relay.Expr, quantized: _ByChannel, new: New) -> relay.Expr:
    """Real values divided by the scales of their channels; what only cuts off what a quantize clips stays outside."""
    if is_call(expr, "nn.relu") or (is_call(expr, "clip") and _is_relu(expr, quantized)):
        return relay.nn.relu(_divided(expr.args[0], quantized, new))
    return relay.divide(new(expr), relay.const(quantized.scales.reshape(-1, 1, 1)))


def _is_relu(clip: relay.Call, quantized: _ByChannel) -> bool:
    """Whether a clip does what a ReLU does, because the quantize behind it clips large values at or below its bound."""
    highest = np.rint(np.float32(clip.attrs.a_max) / quantized.scales) + quantized.zero_point
    return float(clip.attrs.a_min) == 0 and bool(np.all(highest >= value_range(quantized.dtype)[1]))
