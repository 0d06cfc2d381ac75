"""Layers of 8-bit tensors whose outputs nothing quantizes: their sums are integers, and real numbers what these become.

Such are last layers, and layers in front of operators that are left in floating point. A reference sums in floating
point, and differs in the last bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from match.passes.quantized_groups.linear import channels_of, is_plain, qnn_sums, weights_of
from match.relay import integer_form, relay, tvm
from match.relay.qnn import dequantized
from match.relay.rewrite import New, is_call, rewrite, shape


@dataclass(frozen=True)
class SumInIntegers:
    """Rewrites convolutions and dense layers between dequantize and real numbers."""

    def __call__(self, module: tvm.IRModule) -> tvm.IRModule:
        """Apply to "main"."""
        return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    plain = is_call(call, "nn.conv2d", "nn.dense") or (is_call(call, "nn.conv2d_transpose") and is_plain(call))
    if not plain:
        return None
    real, weights = dequantized(call.args[0]), weights_of(call)
    if real is None or weights is None:
        return None
    axis, channels = channels_of(call)
    sums = qnn_sums(call, replace(real, x=new(real.x)), weights, channels)
    step = real.quantization.scale * weights.scales
    if step.size > 1:
        step = step.reshape([-1 if dim == axis else 1 for dim in range(1, len(shape(call)))])
    return relay.multiply(relay.cast(integer_form.real_sums(sums), "float32"), relay.const(step))
