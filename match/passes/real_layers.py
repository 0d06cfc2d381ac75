"""Layers of 8-bit tensors whose outputs nothing quantizes: their sums are integers, and real numbers what these become.

Such are last layers, and layers in front of operators that are left in floating point. A bias that counts in steps of
the sums is added to them, as onnxruntime's QGemm does. Other sums a reference may make in floating point, and differ in
the last bits. The means of a map's channels that such layers read are products with ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array
from match.passes.quantized_groups.channel_scaling import QuantizedWeights
from match.passes.quantized_groups.linear import biased, channels_of, dense_sums, is_plain, qnn_sums, weights_of
from match.relay import integer_form, relay, tvm
from match.relay.graph import users
from match.relay.objects import main_function
from match.relay.qnn import dequantized
from match.relay.rewrite import New, constant, is_call, rewrite, shape

_LAYERS = "nn.conv2d", "nn.dense"


@dataclass(frozen=True)
class SumInIntegers:
    """Rewrites convolutions, dense layers and means between dequantize and real numbers."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, partial(_rule, users(main_function(module))))


def _rule(readers: Mapping[relay.Expr, Sequence[relay.Expr]], call: relay.Call, new: New) -> relay.Expr | None:
    if is_call(call, "mean", "nn.global_avg_pool2d"):
        return _mean(call, new) if all(is_call(reader, *_LAYERS) for reader in readers[call]) else None
    operator, bias = call, None
    added = biased(call, *_LAYERS, "nn.conv2d_transpose")
    if added is not None:
        operator, bias = added
    if not _is_layer(operator):
        return None
    real, weights = dequantized(operator.args[0]), weights_of(operator)
    if real is None or weights is None:
        return None
    axis, channels = channels_of(operator)
    sums = integer_form.real_sums(qnn_sums(operator, replace(real, x=new(real.x)), weights, channels))
    step = np.float32(real.quantization.scale) * weights.scales
    if bias is not None:
        integers = _in_steps(bias, step, channels)
        if integers is None or not (is_call(call, "nn.bias_add") or is_call(operator, "nn.dense")):
            return None
        sums = relay.nn.bias_add(sums, relay.const(integers), axis=axis)
    if step.size > 1:
        step = step.reshape([-1 if dim == axis else 1 for dim in range(1, len(shape(operator)))])
    return relay.multiply(relay.cast(sums, "float32"), relay.const(step))


def _mean(call: relay.Call, new: New) -> relay.Expr | None:
    """The mean of each channel of a map with channels first, as a product of its rows and ones."""
    real, extents = dequantized(call.args[0]), shape(call.args[0])
    if real is None or constant(real.x) is not None or len(extents) != 4:
        return None
    if is_call(call, "mean"):
        axes = {int(axis) % 4 for axis in call.attrs.axis or ()}
        first = axes == {2, 3} and not call.attrs.exclude
    else:
        first = str(call.attrs.layout) == "NCHW"
    if not first:
        return None
    count = extents[2] * extents[3]
    rows = replace(real, x=relay.reshape(new(real.x), (-1, count)))
    ones = QuantizedWeights(np.ones((1, count), np.int8), np.ones((), np.float32), np.zeros((), np.int32))
    sums = relay.cast(integer_form.real_sums(dense_sums(rows, ones)), "float32")
    return relay.reshape(relay.multiply(sums, relay.const(np.float32(real.quantization.scale / count))), shape(call))


def _is_layer(expr: relay.Expr) -> bool:
    return is_call(expr, *_LAYERS) or (is_call(expr, "nn.conv2d_transpose") and is_plain(expr))


def _in_steps(bias: relay.Expr, step: Float32Array, channels: int) -> npt.NDArray[np.int32] | None:
    """The integers of a bias that counts in steps of the sums, shape (channels,); None of any other bias."""
    if not is_call(bias, "qnn.dequantize"):
        return None
    integers, scale, zero_point = (constant(argument) for argument in bias.args)
    if integers is None or scale is None or zero_point is None or integers.dtype != np.int32 or np.any(zero_point):
        return None
    counted = scale.size in (1, step.size) and bool(np.all(scale.reshape(-1) == step.reshape(-1)))
    return integers.reshape(-1) if integers.size == channels and counted else None
