"""Depthwise convolutions whose input has a scale for each channel, as some quantizers write them, get an input of one.

A sum of such a layer has elements of one channel alone: the channel's scale goes into the scales of the weights. What
is quantized is divided by the scales instead, channel by channel, which becomes part of a requantization where a layer
computes it. An activation between that layer and the quantize clips what is divided. onnxruntime computes both layers
in floating point, and integers are within one step.

Zero points of their own are added to the quotients, and what they add to sums is taken off after the layer. What is
padded with is zero in front of the division then, as integers in the place of zero differ from channel to channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array
from match.ir.dtypes import value_range
from match.passes.quantized_weights import weights_of
from match.relay import integer_form, relay, tvm
from match.relay.rewrite import New, constant, dtype, is_call, rewrite, shape

_CHANNELS = 1
"""The axis of channels in NCHW."""

_ATTRIBUTES = "strides", "dilation", "groups", "channels", "kernel_size", "data_layout", "kernel_layout"


@dataclass(frozen=True)
class DepthwiseScales:
    """Applies to convolutions of maps with channels first."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


@dataclass(frozen=True, eq=False)
class _ByChannel:
    """Real values, and what they are quantized to: a scale and a zero point for each channel, and a type."""

    real: relay.Expr
    scales: Float32Array
    zero_points: npt.NDArray[np.integer]
    dtype: str


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    if not is_call(call, "nn.conv2d") or str(call.attrs.data_layout) != "NCHW":
        return None
    channels = shape(call.args[0])[_CHANNELS]
    inputs, weights = _by_channel(call.args[0], channels), weights_of(call)
    if inputs is None or weights is None or int(call.attrs.groups) != channels:
        return None
    scales = np.repeat(inputs.scales, len(weights.values) // channels) * weights.scales
    zero_points = np.broadcast_to(weights.zero_points, scales.shape)
    kernel = relay.qnn.op.dequantize(
        relay.const(weights.values), relay.const(scales), relay.const(zero_points.astype(np.int32)), axis=0
    )
    if len(np.unique(inputs.zero_points)) == 1:
        own = relay.const(np.float32(1)), relay.const(int(inputs.zero_points[0]), "int32")
        stored = relay.qnn.op.quantize(_divided(inputs.real, inputs, new), *own, out_dtype=inputs.dtype)
        return relay.Call(call.op, [integer_form.real_sums(relay.qnn.op.dequantize(stored, *own)), kernel], call.attrs)
    attributes = {name: call.attrs[name] for name in _ATTRIBUTES}
    sums = relay.nn.conv2d(_levels(inputs, call.attrs.padding, new), kernel, padding=(0, 0, 0, 0), **attributes)
    filters = (weights.values.astype(np.int64) - zero_points.reshape(-1, 1, 1, 1)).sum(axis=(1, 2, 3)) * scales
    added = np.repeat(inputs.zero_points, len(scales) // channels) * filters
    return relay.subtract(sums, relay.const(added.astype(np.float32).reshape(-1, 1, 1)))


def _levels(inputs: _ByChannel, padding: Sequence[int], new: New) -> relay.Expr:
    """The padded input's integers as real numbers: each still has its channel's zero point in it."""
    top, left, bottom, right = (int(width) for width in padding)
    padded = relay.nn.pad(new(inputs.real), [(0, 0), (0, 0), (top, bottom), (left, right)], relay.const(np.float32(0)))
    quotients = relay.divide(padded, relay.const(inputs.scales.reshape(-1, 1, 1)))
    levels = relay.add(quotients, relay.const(inputs.zero_points.astype(np.float32).reshape(-1, 1, 1)))
    own = relay.const(np.float32(1)), relay.const(0, "int32")
    stored = relay.qnn.op.quantize(levels, *own, out_dtype=inputs.dtype)
    return integer_form.real_sums(relay.qnn.op.dequantize(stored, *own))


def _by_channel(expr: relay.Expr, channels: int) -> _ByChannel | None:
    """What a dequantize with a scale for each channel has from a quantize with the same ones; else None."""
    if not is_call(expr, "qnn.dequantize") or not is_call(expr.args[0], "qnn.quantize"):
        return None
    found: list[npt.NDArray[Any]] = []
    for step in (expr, expr.args[0]):
        scales, zero_points = constant(step.args[1]), constant(step.args[2])
        one_each = scales is not None and scales.shape == (channels,) and int(step.attrs.axis) % 4 == _CHANNELS
        if not one_each or scales is None or zero_points is None:
            return None
        found += [scales, np.broadcast_to(zero_points, channels)]
    if not (np.array_equal(found[0], found[2]) and np.array_equal(found[1], found[3])):
        return None
    return _ByChannel(expr.args[0].args[0], found[0], found[1], dtype(expr.args[0]))


def _divided(expr: relay.Expr, quantized: _ByChannel, new: New) -> relay.Expr:
    """Real values divided by the scales of their channels; what only cuts off what a quantize clips stays outside."""
    if is_call(expr, "nn.relu") or (is_call(expr, "clip") and _is_relu(expr, quantized)):
        return relay.nn.relu(_divided(expr.args[0], quantized, new))
    return relay.divide(new(expr), relay.const(quantized.scales.reshape(-1, 1, 1)))


def _is_relu(clip: relay.Call, quantized: _ByChannel) -> bool:
    """Whether a clip does what a ReLU does, because the quantize after it clips large values at or below its bound."""
    highest = np.rint(np.float32(clip.attrs.a_max) / quantized.scales) + quantized.zero_points
    return float(clip.attrs.a_min) == 0 and bool(np.all(highest >= value_range(quantized.dtype)[1]))
