"""PReLU with a slope for each element, within one step of floating point: slopes of 8 bits.

And PReLU and leaky ReLU of a layer's outputs that nothing quantizes in front: the layer twice, one time with the slopes
in its weights, each clipped at 0. One of the two is 0, so that their sum is rounded once.
"""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import quantize
from match.ir.dtypes import value_range
from match.passes.quantized_groups.linear import is_layer, linear
from match.passes.quantized_groups.quantities import parameters
from match.relay import integer_form, relay
from match.relay.qnn import dequantized, real_constant
from match.relay.rewrite import New, is_call, scalar, shape

_MOST_OFF = 0.75
"""Steps of the output by which slopes of 8 bits may move it, before it is rounded."""


def slopes_of_sums(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """A layer's outputs where they are positive, and the rest times slopes of the layer's channels, or one for all."""
    found = _sloped(expr)
    if found is None or not is_layer(found[0]) or not np.all(found[1] >= 0):
        return None
    x, slopes = found
    positive, negative = linear(x, output, new), linear(x, output, new, slopes)
    if positive is None or negative is None:
        return None
    low, high = value_range(output.dtype)
    positive, negative = relay.clip(positive, output.zero_point, high), relay.clip(negative, low, output.zero_point)
    return integer_form.add(positive, negative, (1, 1), -output.zero_point, 0, (low, high), output.dtype)


def _sloped(expr: relay.Expr) -> tuple[relay.Expr, Float32Array] | None:
    """What a PReLU or a leaky ReLU is of, and the slopes of what is negative, in a shape that is broadcast to it."""
    if is_call(expr, "nn.leaky_relu"):
        return expr.args[0], np.array(expr.attrs.alpha, np.float32)
    if not is_call(expr, "where") or not is_call(expr.args[0], "greater") or not is_call(expr.args[2], "multiply"):
        return None
    x, border = expr.args[0].args
    others = [factor for factor in expr.args[2].args if factor != x]
    slopes = real_constant(others[0]) if len(others) == 1 else None
    return None if slopes is None or scalar(border) != 0 or expr.args[1] != x else (x, slopes)


def close_slopes(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """What is positive by a table, and the rest times slopes that differ along several axes; one of both is nothing."""
    if not is_call(expr, "where") or not is_call(expr.args[0], "greater") or not is_call(expr.args[2], "multiply"):
        return None
    (x, border), (slopes, same) = expr.args[0].args, expr.args[2].args
    real, numbers = dequantized(x), real_constant(slopes)
    if real is None or numbers is None or scalar(border) != 0 or expr.args[1] != x or same != x:
        return None
    if sum(extent > 1 for extent in numbers.shape) < 2 or shape(real.x) != shape(expr):
        return None
    own, dtype = real.quantization, output.dtype
    low, high = value_range(own.dtype)
    scale = np.float32(max(np.abs(numbers).max(), np.finfo(np.float32).tiny) / 127)
    most = (own.zero_point - low) * float(own.scale)
    if not np.isfinite(scale) or most * float(scale) / 2 > _MOST_OFF * float(output.scale):
        return None
    positive = quantize(
        (own.levels - own.zero_point).clip(0).astype(np.float32) * own.scale, output, value_range(dtype)
    )
    levels = QuantizedType(scale, (low + high + 1) // 2, own.dtype)
    factors = relay.const(quantize(numbers, levels, (low, high)).astype(own.dtype))
    negative = relay.clip(new(real.x), low, own.zero_point)
    product = relay.qnn.op.mul(negative, factors, *parameters(own), *parameters(levels), *parameters(output))
    bias = -output.zero_point
    table = integer_form.lookup(new(real.x), positive, own.dtype, dtype)
    return integer_form.add(table, product, (1, 1), bias, 0, value_range(dtype), dtype, real=True)
