"""Average pooling as onnxruntime computes it in float32, from dequantize to quantize, as Relay operators."""

from __future__ import annotations

import numpy as np

from match.graph.float_average import FloatAverage
from match.ir.dtypes import value_range
from match.relay import relay
from match.relay.float_arithmetic import divided, half_to_even


def float_average(average: FloatAverage, x: relay.Expr, extent: tuple[int, int], channels: int) -> relay.Expr:
    """The means of windows of a map (N, H, W, C) of an extent (rows, columns) and so many channels.

    They are quotients of sums, as TVM's mean of windows is a product with a reciprocal, which rounds otherwise. As in
    onnxruntime's QLinearAveragePool the zero point is added before rounding.
    """
    padding, function = average.padding, average.function
    steps = relay.subtract(relay.cast(x, "int32"), relay.const(average.zero, "int32"))
    numbers = relay.multiply(relay.cast(steps, "float32"), relay.const(average.scale))
    sides = (0, 0), (padding.top, padding.bottom), (padding.left, padding.right), (0, 0)
    wide = relay.nn.pad(numbers, sides, 0.0) if any(padding) else numbers
    taken = relay.sliding_window(wide, 1, [*average.window, channels], [*average.strides, channels])
    means = relay.divide(relay.sum(taken, (3, 4, 5)), relay.const(average.inside(extent)))
    low, high = value_range(function.dtype)
    shifted = relay.add(divided(means, function.scale), relay.const(np.float32(function.zero_point)))
    return relay.cast(half_to_even(relay.clip(shifted, low, high)), function.dtype)
