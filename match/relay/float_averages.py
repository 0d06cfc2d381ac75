"""Average pooling as onnxruntime computes it in float32, from dequantize to quantize, as Relay operators."""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.graph.float_average import FloatAverage
from match.ir.dtypes import value_range
from match.ir.float_border import FloatQuantization, can_be_packed
from match.ir.layer import Padding
from match.relay import relay
from match.relay.float_arithmetic import divided, half_to_even, read_half_to_even
from match.relay.integer_form import is_real_sums, real_sums, unmarked
from match.relay.read import Read
from match.relay.readers import read_dequantize
from match.relay.rewrite import dtype, is_8bit, is_call, scalar, shape


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


def read_float_average(expr: relay.Expr) -> Read[FloatAverage] | None:
    """The average pooling in float32 that a typed expression is; None for other expressions."""
    rounded = read_half_to_even(expr.args[0]) if is_call(expr, "cast") and is_8bit(expr) else None
    if rounded is None or not is_call(rounded, "clip") or not is_call(rounded.args[0], "add"):
        return None
    quotient, zero_point = rounded.args[0].args[0], scalar(rounded.args[0].args[1])
    bounds = rounded.attrs.a_min, rounded.attrs.a_max
    if zero_point is None or bounds != value_range(dtype(expr)) or not is_call(quotient, "divide"):
        return None
    mean, scale = quotient.args[0], scalar(quotient.args[1])
    if scale is None or not shape(quotient.args[1]) or not can_be_packed(float(scale)):
        return None
    if not is_call(mean, "nn.avg_pool2d") or str(mean.attrs.layout) != "NHWC":
        return None
    attrs, source = mean.attrs, _source(mean.args[0])
    padding = [int(side) for side in attrs.padding]
    if source is None or any(int(step) != 1 for step in attrs.dilation) or (attrs.count_include_pad and any(padding)):
        return None
    (x, map_scale, zero, real), (fy, fx), (down, right_by) = source, attrs.pool_size, attrs.strides
    top, left, bottom, right = padding
    average = FloatAverage(
        scale=map_scale,
        zero=zero,
        function=FloatQuantization(np.float32(scale), int(zero_point), dtype(expr), half_to_even=True, zero_first=True),
        window=(int(fy), int(fx)),
        strides=(int(down), int(right_by)),
        padding=Padding(top, left, bottom, right),
        hanging=bool(attrs.ceil_mode),
    )
    return Read(average, (x,), exact=not average.hanging and not real)


def _source(expr: relay.Expr) -> tuple[relay.Expr, np.float32, int, bool] | None:
    """The map before what a dequantize becomes, its scale, its zero point and whether it is marked."""
    lowered = read_dequantize(unmarked(expr))
    if lowered is None:
        return None
    (x,), dequantize = lowered.operands, lowered.operator
    return x, dequantize.scale, dequantize.zero_point, is_real_sums(expr)
