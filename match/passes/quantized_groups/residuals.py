"""Additions of a quantized tensor to the outputs of a layer that nothing quantizes in front of them.

Quantizers for GPUs write residual connections so: there, one kernel computes both. Here, the layer's outputs become 8
bits of the numbers for which the sum is not clipped, and both are added. Outputs are within one step of what the
reference computes in floating point.
"""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.arithmetic.parts_of_functions import LEVELS
from match.ir.dtypes import value_range
from match.passes.functions_of_two import function_of_two
from match.passes.quantized_groups.activations import without_activations
from match.passes.quantized_groups.linear import is_layer, linear_levels
from match.relay import relay
from match.relay.qnn import Dequantized, dequantized
from match.relay.rewrite import New, is_call, shape

_MOST_OFF = 0.9
"""Steps of the output that the layer's outputs may be off by when they are rounded."""


def residual(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A layer's outputs, rectified or not, plus a tensor of the same shape, with activations after the sum."""
    total, clip = without_activations(expr, output)
    if not is_call(total, "add"):
        return None
    for layer, tensor in (total.args, reversed(total.args)):
        real = dequantized(tensor)
        rectified = is_call(layer, "nn.relu")
        outputs = layer.args[0] if rectified else layer
        if real is not None and shape(real.x) == shape(total) and is_layer(outputs):
            return _sum(outputs, rectified, real, output, clip, new)
    return None


def _sum(
    layer: relay.Expr, rectified: bool, real: Dequantized, output: QuantizedType, clip: tuple[int, int], new: New
) -> relay.Expr | None:
    own, scale = real.quantization, np.float64(output.scale)
    least, most = (np.float64(own.scale) * (level - own.zero_point) for level in _ends(real))
    low = (clip[0] - 0.5 - output.zero_point) * scale - most  # of the layer's outputs that are not clipped
    high = (clip[1] + 0.5 - output.zero_point) * scale - least
    if rectified:
        low = max(low, np.float64(0))
    step = np.float32((high - low) / (LEVELS - 1))
    if step <= 0 or step > 2 * _MOST_OFF * scale:
        return None
    levels = linear_levels(layer, low, step, new)
    if levels is None:
        return None
    total: Float32Array = np.add.outer(levels.quantization.numbers + np.float32(low), own.numbers)
    slopes = float(step / scale), float(own.scale / scale)
    sums = quantize(total, output, clip)
    dtypes = levels.quantization.dtype, own.dtype
    return function_of_two(levels.x, new(real.x), sums, dtypes, slopes, clip, output.dtype, real=True)


def _ends(real: Dequantized) -> tuple[int, int]:
    """The smallest and the largest level of a tensor, which an activation in front of its quantize may limit."""
    if is_call(real.x, "qnn.quantize"):
        return without_activations(real.x.args[0], real.quantization)[1]
    return value_range(real.quantization.dtype)
