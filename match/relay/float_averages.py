"""Average pooling as onnxruntime computes it in float32, from dequantize to quantize, as Relay operators."""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.graph.float_average import FloatAverage
from match.ir.dtypes import value_range
from match.relay import relay
from match.relay.float_arithmetic import divided, half_to_even
from match.relay.integer_form import real_sums


def quantized_mean(mean: relay.Expr, output: QuantizedType) -> relay.Expr:
    """A mean in float32 as 8 bits, as in onnxruntime's QLinearAveragePool: the zero point is added before rounding."""
    low, high = value_range(output.dtype)
    shifted = relay.add(divided(mean, output.scale), relay.const(np.float32(output.zero_point)))
    return relay.cast(half_to_even(relay.clip(shifted, low, high)), output.dtype)


def float_average(average: FloatAverage, x: relay.Expr, *, exact: bool = True) -> relay.Expr:
    """A `quantized_mean` of windows of a dequantized map, NHWC; not `exact`: marked (`real_sums`)."""
    steps = relay.subtract(relay.cast(x, "int32"), relay.const(average.zero, "int32"))
    numbers = relay.multiply(relay.cast(steps, "float32"), relay.const(average.scale))
    mean = relay.nn.avg_pool2d(
        numbers if exact else real_sums(numbers),
        average.window,
        average.strides,
        padding=tuple(average.padding),
        layout="NHWC",
        out_layout="NHWC",
        ceil_mode=average.hanging,
    )
    function = average.function
    return quantized_mean(mean, QuantizedType(function.scale, function.zero_point, function.dtype))
