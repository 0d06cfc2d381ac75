"""Means of windows of a map whose elements are a function of 8 bits each: a hard swish in front of the last layer.

Quantizers leave such a function in floating point. Here it is the sum of two 8-bit tables; an entry of the first counts
127 times as much as an entry of the second. The mean is a convolution of both maps, with one filter for each channel.
A function with constants for each channel (a batch normalization after an activation) has two tables for each channel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

from match.arithmetic import real_numbers
from match.arithmetic.interface import QuantizedType
from match.graph.elements import ChannelLookup
from match.graph.make import chosen, concatenated, lookup, named, padded, reshaped, transposed
from match.graph.reals import RealAverage
from match.graph.reductions import RealReduction
from match.graph.value import Value, computed
from match.ir.requantization import Int64Array
from match.quantized.layers import Filters, convolution_sums
from match.quantized.scaled import scaled
from match.rewrites.quantized_groups.element_functions import function_of
from match.rewrites.quantized_groups.moves import moved, without_moves
from match.rewrites.quantized_groups.quantities import dequantized
from match.rewrites.quantized_groups.reductions import WindowsOfAxes

_COARSE = 127
"""How many fine steps a coarse one is: the largest weight of 8 bits."""

_LARGEST = _COARSE * 127 + _COARSE // 2
_LARGEST_SUM = np.iinfo(np.int32).max
_MOST_OFF = 0.25
"""Steps of the output that the tables may be off by."""

_COLUMNS = 2
"""The axis of columns of a map (N, H, W, C)."""


def function_mean(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """Means, or sums along axes, of functions of one 8-bit tensor: over windows of a map or all of it."""
    windows, summed = _windows_of(real), _is_sum(real)
    inner, moves = without_moves(real.inputs[0])
    found = None if windows is None else function_of(inner)
    source = None if found is None or len(found.sources) != 1 else dequantized(found.sources[0])
    if windows is None or found is None or source is None or source.value.shape != inner.shape:
        return None
    count = math.prod(windows.window)
    values = found.function(source.quantization.numbers).astype(np.float64)
    step = float(np.abs(values).max()) / _LARGEST
    off = step / 2 * (count if summed else 1)
    if not np.isfinite(step) or step == 0 or off > _MOST_OFF * output.scale or count * _LARGEST > _LARGEST_SUM:
        return None
    fine = np.rint(values / step).astype(np.int64)
    coarse = np.rint(fine / _COARSE).astype(np.int64)
    tables = coarse, fine - _COARSE * coarse
    parts = (reduce(moved, moves, _looked_up(source.value, table, found.function.axis)) for table in tables)
    maps = [_laid_out(windows.seen(part), real) for part in parts]
    (rows, columns), channels = windows.window, maps[0].shape[3]
    kernel = np.ones((rows, 2 * columns, channels, 1), np.int8)
    kernel[:, :columns] = _COARSE
    filters = Filters(kernel=kernel, layout="HWOI", strides=(rows, 2 * columns), groups=channels)
    sums = convolution_sums(_window_by_window(maps, columns), filters, 0)
    unit = QuantizedType(np.float32(1), 0, "int8")
    factor = np.array([step / (1 if summed else count)], np.float32)
    accumulator = sums.accumulator(unit, factor, np.zeros(channels, np.int64))
    outputs = scaled(sums, accumulator, output, clip, real_numbers, exact=False)
    return windows.back(named(outputs, real.source), real.shape)


def _is_sum(real: Value) -> bool:
    return isinstance(real.operator, RealReduction) and real.operator.function == "sum"


def _windows_of(real: Value) -> WindowsOfAxes | None:
    """The windows whose elements a mean or a sum takes together.

    None for other operators, and for windows that have fewer elements at the border.
    """
    operator = real.operator
    if isinstance(operator, RealReduction):
        return None if operator.function == "prod" else WindowsOfAxes.of(real.inputs[0].shape, operator.axes)
    if not isinstance(operator, RealAverage) or (any(operator.padding) and not operator.counts_padding):
        return None
    return WindowsOfAxes(real.inputs[0].shape, False, operator.window)


def _laid_out(x: Value, real: Value) -> Value:
    """A map, padded, with the elements of its windows one window after the other."""
    operator = real.operator
    if not isinstance(operator, RealAverage):
        return x
    pad = operator.padding
    x = padded(x, [(0, 0), (pad.top, pad.bottom), (pad.left, pad.right), (0, 0)], 0)
    sides = zip(real.shape[1:3], operator.strides, operator.window, strict=True)
    rows, columns = ((np.arange(count)[:, None] * step + np.arange(size)).reshape(-1) for count, step, size in sides)
    return chosen(x, [None, rows, columns, None])


def _looked_up(x: Value, table: Int64Array, axis: int | None) -> Value:
    """The int8 entries of a table (256,), or of tables (n, 256) of the elements along an axis."""
    if axis is None:
        return lookup(x, table.astype(np.int8))
    order = [*(other for other in range(len(x.shape)) if other != axis), axis]
    found = computed(ChannelLookup(outputs=table, dtype="int8"), transposed(x, order))
    return transposed(found, np.argsort(order).tolist())


def _window_by_window(maps: Sequence[Value], width: int) -> Value:
    """Two maps as one with twice the columns: the window of the first is beside that of the second."""
    batch, rows, columns, channels = maps[0].shape
    if columns == width:
        return concatenated(maps, _COLUMNS)
    windows = batch, rows, columns // width, width, channels
    both = concatenated([reshaped(each, windows) for each in maps], _COLUMNS + 1)
    return reshaped(both, (batch, rows, 2 * columns, channels))
