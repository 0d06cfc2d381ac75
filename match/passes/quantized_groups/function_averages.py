"""Means of a map of which each element is a function of 8 bits, as a hard swish in front of the last layer leaves them.

Quantizers leave such a function in floating point. Here it is two tables of 8 bits, the first of which counts for 127
times as much as the second, and the mean a convolution, with one filter for each channel, of both maps.
"""

from __future__ import annotations

import math

import numpy as np

from match.arithmetic.interface import Float32Array, QuantizedType
from match.passes.element_functions import function_of
from match.passes.quantized_groups.averages import WholeMap, whole_map
from match.passes.quantized_groups.quantities import requantized
from match.relay import integer_form, relay
from match.relay.qnn import dequantized
from match.relay.rewrite import New, shape

_COARSE = 127
"""How many fine steps a coarse one is: the largest weight of 8 bits."""

_LARGEST = _COARSE * 127 + _COARSE // 2
_MOST_OFF = 0.25
"""Steps of the output that the tables may be off by."""


def function_average(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """The mean of a whole map of functions of one 8-bit tensor, within one step."""
    averaged = whole_map(expr)
    function = None if averaged is None else function_of(averaged.x)
    if averaged is None or function is None or len(function.sources) != 1 or function.axis is not None:
        return None
    real = dequantized(function.sources[0])
    if real is None or shape(real.x) != shape(averaged.x):
        return None
    own = real.quantization
    values = function((own.levels - own.zero_point).astype(np.float32) * own.scale).astype(np.float64)
    step = float(np.abs(values).max()) / _LARGEST
    if not np.isfinite(step) or step == 0 or step / 2 > _MOST_OFF * output.scale:
        return None
    fine = np.rint(values / step).astype(np.int64)
    coarse = np.rint(fine / _COARSE).astype(np.int64)
    x, columns = averaged.seen(new(real.x)), averaged.layout.index("W")
    maps = [integer_form.lookup(x, table, own.dtype, "int8") for table in (coarse, fine - _COARSE * coarse)]
    scale = np.array(step / math.prod(averaged.window), np.float32)
    sums = _sums(relay.concatenate(maps, columns), scale, averaged)
    result = requantized(integer_form.real_sums(sums), scale, output, averaged.layout.index("C"))
    return relay.reshape(result, shape(expr)) if averaged.reduction else result


def _sums(x: relay.Expr, scale: Float32Array, averaged: WholeMap) -> relay.Expr:
    """The int32 sums of each channel of two maps side by side, the second of which counts for one."""
    (rows, columns), channels = averaged.window, averaged.extents[averaged.layout.index("C")]
    first = averaged.layout == "NCHW"
    kernel = np.ones((rows, 2 * columns, channels, 1), np.int8)
    kernel[:, :columns] = _COARSE
    return relay.qnn.op.conv2d(
        x,
        relay.const(np.ascontiguousarray(kernel.transpose(2, 3, 0, 1)) if first else kernel),
        *(relay.const(number) for number in (np.int32(0), np.int32(0), scale, np.float32(1))),
        kernel_size=(rows, 2 * columns),
        channels=channels,
        groups=channels,
        data_layout=averaged.layout,
        kernel_layout="OIHW" if first else "HWOI",
    )
