"""Cycles of the cluster's kernels for activations of 16 bits (kernels/pulp/match_pulp_conv2d_int16.c)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from match.cost_models.measured import measured
from match.ir.attributes import ChannelGroups
from match.ir.layer import Layer, Op
from match.target.cost import Tile, ceil_div

_PAIR = 9
"""Two products of each of four channels: a load of activations, four loads of weights, four dot products."""


@dataclass(frozen=True)
class Int16Cycles:
    """Cycles of one core, from RTL.

    37 products, 17 depthwise layers, 24 poolings, six softmaxes, twelve LSTM layers and the functions of 200 elements
    and more are within 5 %, six grouped layers and a dilated one within 8 %.
    """

    call: float
    """A call of a convolution or dense layer, beside its pixels."""
    pixel: float
    """A pixel, beside its channels."""
    four: float
    """Four channels of a pixel, their outputs included."""
    row: float
    """A row of a window, for four channels."""
    run: float
    """More for a column of such a row, or of one channel's, behind the first, where columns have gaps between them."""
    odd: float
    """More for such a row of an odd number of elements."""
    one: float
    """A channel of a pixel where fewer than four are left, its output included."""
    one_row: float
    """A row of a window, for one channel."""
    one_pair: float
    """Two products of one channel."""
    one_odd: float
    """More for a row of one channel with an odd number of elements."""
    depthwise: float
    """A call of a depthwise convolution, beside its pixels."""
    depthwise_pixel: float
    """A pixel of it, beside its channels."""
    depthwise_four: float
    """Four channels of such a pixel, their outputs included."""
    depthwise_four_row: float
    """A row of a window, of four channels."""
    depthwise_four_tap: float
    """Four channels' products of an element of such a row."""
    depthwise_one: float
    """A channel where fewer than four are left, its output included."""
    depthwise_row: float
    """A row of its window."""
    depthwise_tap: float
    """A product of it."""
    maximum_pixel: float
    """A pixel of a max pooling, beside its channels."""
    maximum_block: float
    """Four channels of such a pixel, or one where fewer are left, beside their windows."""
    maximum_four: float
    """Four channels of an element of a window."""
    maximum_one: float
    """One channel of it."""
    average: float
    """A call of an average pooling, beside its pixels."""
    average_pixel: float
    """A pixel of it, beside its channels."""
    average_block: float
    """Four channels of such a pixel, their outputs included."""
    average_rest: float
    """A single channel of such a pixel, its output included: each of the one to three behind the last four."""
    average_row: float
    """A row of a window, of four channels or one."""
    average_four: float
    """Four channels of an element of a window."""
    average_one: float
    """One channel of it."""
    softmax_row: float
    """A row of a softmax, beside its elements."""
    softmax: float
    """An element of a softmax."""
    add: float
    """An element of an addition."""
    multiply: float
    """An element of a multiplication."""
    requantize: float
    """An element of a change of scale."""
    leaky_relu: float
    """An element of a leaky ReLU."""
    logistic: float
    """An element of the logistic function."""
    tanh: float
    """An element of the hyperbolic tangent."""
    lstm_step: float
    """A step of an LSTM."""
    lstm_unit: float
    """A unit in a step, beside its sums."""
    lstm_sums: float
    """The sums of a unit's gates over a vector, beside their products."""
    lstm_odd: float
    """More for a vector of an odd number of elements."""

    @classmethod
    def measured(cls) -> Self:
        """As they were measured."""
        return cls(**measured("int16"))

    def softmax_rows(self, _layer: Layer, tile: Tile, cores: int) -> float:
        """Pixels are shared out."""
        return ceil_div(tile.oy * tile.ox, cores) * (self.softmax_row + tile.k * self.softmax)

    def grouped(self, layer: Layer, tile: Tile, cores: int) -> float:
        """Groups are computed one after the other."""
        return tile.k * self.products(layer, tile._replace(k=layer.get(ChannelGroups).outputs), cores)

    def lstm(self, _layer: Layer, tile: Tile, cores: int) -> float:
        """Units are shared out; in the first step states are zero and not multiplied."""
        fed, back = (self.lstm_sums + _PAIR * (n // 2) + self.lstm_odd * (n % 2) for n in (tile.c, tile.k))
        unit = tile.oy * (self.lstm_unit + fed) + (tile.oy - 1) * back
        return tile.oy * self.lstm_step + tile.ox * ceil_div(tile.k, cores) * unit

    def strips(self, layer: Layer, tile: Tile, cores: int) -> float:
        """A depthwise convolution. Each window is taken to see the mean number of rows and columns inside the map."""
        rows, columns = _seen(layer, 0), _seen(layer, 1)
        fours, ones = divmod(tile.k, 4)
        four = self.depthwise_four + rows * (self.depthwise_four_row + columns * self.depthwise_four_tap)
        one = self.depthwise_one + rows * (self.depthwise_row + columns * self.depthwise_tap)
        return self.depthwise + self._share(tile, cores) * (self.depthwise_pixel + fours * four + ones * one)

    def averages(self, layer: Layer, tile: Tile, cores: int) -> float:
        """An average pooling."""
        rows, columns = _seen(layer, 0), _seen(layer, 1)
        fours, ones = divmod(tile.k, 4)
        taps = rows * columns * (fours * self.average_four + ones * self.average_one)
        outputs = fours * self.average_block + ones * self.average_rest + (fours + ones) * rows * self.average_row
        return self.average + self._share(tile, cores) * (self.average_pixel + outputs + taps)

    def maxima(self, layer: Layer, tile: Tile, cores: int) -> float:
        """A max pooling."""
        fours, ones = divmod(tile.k, 4)
        taps = _seen(layer, 0) * _seen(layer, 1) * (fours * self.maximum_four + ones * self.maximum_one)
        return self._share(tile, cores) * (self.maximum_pixel + (fours + ones) * self.maximum_block + taps)

    def products(self, layer: Layer, tile: Tile, cores: int) -> float:
        """Cycles of a convolution or dense layer, or a group of one."""
        rows, columns = _seen(layer, 0), _seen(layer, 1)
        fours, ones = divmod(tile.k, 4)
        # Columns without gaps between them are one run of a row, others a run each.
        runs = columns if layer.op is Op.GROUPED_CONV2D or layer.dilation[1] > 1 else 1.0
        odd = (tile.c if runs > 1 else layer.fx * tile.c) % 2 * runs
        pairs = (columns * tile.c - odd) / 2
        more = (runs - 1) * self.run
        four = self.four + rows * (self.row + more + _PAIR * pairs + self.odd * odd)
        one = self.one + rows * (self.one_row + more + self.one_pair * pairs + self.one_odd * odd)
        return self.call + self._share(tile, cores) * (self.pixel + fours * four + ones * one)

    def _share(self, tile: Tile, cores: int) -> float:
        """Pixels of the busiest core: pairs of pixels by fours of channels are shared out."""
        units = tile.oy * ceil_div(tile.ox, 2) * ceil_div(tile.k, 4)
        return tile.oy * tile.ox * ceil_div(units, cores) / units


def _seen(layer: Layer, axis: int) -> float:
    """Rows, or columns, of the map under a window, padding left out, in the mean over all outputs."""
    size, inputs, outputs = (pair[axis] for pair in ((layer.fy, layer.fx), (layer.iy, layer.ix), (layer.oy, layer.ox)))
    first = np.arange(outputs) * layer.stride[axis] - layer.padding[axis]
    under = first[:, None] + np.arange(size) * layer.dilation[axis]
    return float(((under >= 0) & (under < inputs)).sum() / outputs)
