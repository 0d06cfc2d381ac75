"""Means of windows of a map whose elements are a function of 8 bits each: a hard swish in front of the last layer.

Quantizers leave such a function in floating point. Here it is the sum of two 8-bit tables; an entry of the first counts
127 times as much as an entry of the second. The mean is a convolution of both maps, with one filter for each channel.
A function with constants for each channel (a batch normalization after an activation) has two tables for each channel.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match.arithmetic.interface import Float32Array, QuantizedType
from match.ir.requantization import Int64Array
from match.passes.element_functions import function_of
from match.passes.quantized_groups.averages import Mean, mean_of
from match.passes.quantized_groups.quantities import requantized
from match.relay import integer_form, relay
from match.relay.qnn import dequantized
from match.relay.rewrite import New, shape

_COARSE = 127
"""How many fine steps a coarse one is: the largest weight of 8 bits."""

_LARGEST = _COARSE * 127 + _COARSE // 2
_LARGEST_SUM = np.iinfo(np.int32).max
_MOST_OFF = 0.25
"""Steps of the output that the tables may be off by."""


def function_average(expr: relay.Expr, output: QuantizedType, new: New) -> relay.Expr | None:
    """Means, or sums along axes, of functions of one 8-bit tensor: over windows side by side or a whole map."""
    mean = mean_of(expr)
    if mean is None or mean.count * _LARGEST > _LARGEST_SUM:
        return None
    function = function_of(mean.x)
    if function is None or len(function.tensors) != 1:
        return None
    real = dequantized(function.tensors[0])
    if real is None or shape(real.x) != shape(mean.x):
        return None
    own = real.quantization
    values = function(own.numbers).astype(np.float64)
    step = float(np.abs(values).max()) / _LARGEST
    off = step / 2 * (mean.count if mean.summed else 1)
    if not np.isfinite(step) or step == 0 or off > _MOST_OFF * output.scale:
        return None
    fine = np.rint(values / step).astype(np.int64)
    coarse = np.rint(fine / _COARSE).astype(np.int64)
    maps = [
        mean.seen(_looked_up(new(real.x), table, own.dtype, function.axis, len(shape(real.x))))
        for table in (coarse, fine - _COARSE * coarse)
    ]
    scale = np.array(step / (1 if mean.summed else mean.count), np.float32)
    sums = _sums(_window_by_window(maps, mean), scale, mean)
    result = requantized(integer_form.real_sums(sums), scale, output, mean.layout.index("C"))
    return relay.reshape(result, shape(expr)) if mean.reduction else result


def _looked_up(x: relay.Expr, table: Int64Array, dtype: str, axis: int | None, rank: int) -> relay.Expr:
    """The int8 entries of a table (256,), or of tables (channels, 256) of the channels along an axis."""
    if axis is None:
        return integer_form.lookup(x, table, dtype, "int8")
    return integer_form.channel_lookup(x, table, dtype, "int8", rank - 1 - axis)


def _window_by_window(maps: Sequence[relay.Expr], mean: Mean) -> relay.Expr:
    """Two maps as one with twice the columns: the window of the first is beside that of the second."""
    columns, width = mean.layout.index("W"), mean.window[1]
    extents = mean.extents
    if extents[columns] == width:  # a map of four axes, which `ChannelsLast` follows
        return relay.concatenate(maps, columns)
    windows = (*extents[:columns], extents[columns] // width, width, *extents[columns + 1 :])
    both = relay.concatenate([relay.reshape(each, windows) for each in maps], columns + 1)
    return relay.reshape(both, (*extents[:columns], 2 * extents[columns], *extents[columns + 1 :]))


def _sums(x: relay.Expr, scale: Float32Array, mean: Mean) -> relay.Expr:
    """The int32 sums of windows: of two that lie side by side, the first counts `_COARSE` times, the second once."""
    (rows, columns), channels = mean.window, mean.extents[mean.layout.index("C")]
    first = mean.layout == "NCHW"
    kernel = np.ones((rows, 2 * columns, channels, 1), np.int8)
    kernel[:, :columns] = _COARSE
    return relay.qnn.op.conv2d(
        x,
        relay.const(np.ascontiguousarray(kernel.transpose(2, 3, 0, 1)) if first else kernel),
        *(relay.const(number) for number in (np.int32(0), np.int32(0), scale, np.float32(1))),
        kernel_size=(rows, 2 * columns),
        strides=(rows, 2 * columns),
        channels=channels,
        groups=channels,
        data_layout=mean.layout,
        kernel_layout="OIHW" if first else "HWOI",
    )
