"""Cycles of the cluster's kernels for activations of 16 bits (kernels/pulp/match_pulp_int16.c)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.ir.layer import Layer, Op
from match.target.cost import Tile, ceil_div, choose

_PAIR = 9
"""Two products of each of four channels: a load of activations, four loads of weights, four dot products."""


@dataclass(frozen=True)
class Int16Cycles:
    """Of one core; fitted to 43 products, ten depthwise layers and twelve poolings on RTL, all within 4 %."""

    call: float = 160
    """A call of a convolution or dense layer, beside its pixels."""
    pixel: float = 111
    """A pixel, beside its channels."""
    four: float = 192
    """Four channels of a pixel, their outputs included."""
    row: float = 58.2
    """A row of a window, for four channels."""
    odd: float = 30.2
    """More for such a row of an odd number of elements."""
    one: float = 75.9
    """A channel of a pixel where fewer than four are left, its output included."""
    one_row: float = 32
    """A row of a window, for one channel."""
    one_pair: float = 9.05
    """Two products of one channel."""
    one_odd: float = 5
    """More for a row of one channel with an odd number of elements."""
    depthwise: float = 29
    """A call of a depthwise convolution, beside its pixels."""
    depthwise_pixel: float = 101
    """A pixel of it, beside its channels."""
    depthwise_output: float = 38.8
    """An output of it, beside the rows of its window."""
    depthwise_row: float = 10.1
    """A row of such a window."""
    depthwise_tap: float = 9
    """A product of it."""
    maximum: float = 135
    """A call of a max pooling, beside its pixels."""
    maximum_pixel: float = 80.8
    """A pixel of it, beside its channels."""
    maximum_block: float = 34
    """Four channels of such a pixel, or one where fewer are left, beside their windows."""
    maximum_four: float = 11.9
    """Four channels of an element of a window."""
    maximum_one: float = 8.1
    """One channel of it."""
    add: float = 57.8
    """An element of an addition."""

    def work(self, layer: Layer, tile: Tile, cores: int) -> float:
        """Cycles of the core that has most of a tile; windows have the rows and columns they have in the mean."""
        rows, columns = _seen(layer, 0), _seen(layer, 1)
        if layer.op is Op.DEPTHWISE_CONV2D:
            output = self.depthwise_output + rows * (self.depthwise_row + columns * self.depthwise_tap)
            return self.depthwise + ceil_div(tile.oy * tile.ox, cores) * (self.depthwise_pixel + tile.k * output)
        fours, ones = divmod(tile.k, 4)
        if layer.op is Op.MAX_POOL2D:
            taps = rows * columns * (fours * self.maximum_four + ones * self.maximum_one)
            pixel = self.maximum_pixel + (fours + ones) * self.maximum_block + taps
            return self.maximum + ceil_div(tile.oy * tile.ox, cores) * pixel
        elements = columns * tile.c
        odd = layer.fx * tile.c % 2
        pairs = (elements - odd) / 2
        four = self.four + rows * (self.row + _PAIR * pairs + self.odd * odd)
        one = self.one + rows * (self.one_row + self.one_pair * pairs + self.one_odd * odd)
        units = tile.oy * ceil_div(tile.ox, 2) * (fours + choose(ones > 0, 1, 0))
        pixels = tile.oy * tile.ox * (self.pixel + fours * four + ones * one)
        return self.call + pixels * ceil_div(units, cores) / units


def _seen(layer: Layer, axis: int) -> float:
    """Rows, or columns, of the map under a window, padding left out, in the mean over all outputs."""
    size, inputs, outputs = (pair[axis] for pair in ((layer.fy, layer.fx), (layer.iy, layer.ix), (layer.oy, layer.ox)))
    first = np.arange(outputs) * layer.stride[axis] - layer.padding[axis]
    under = first[:, None] + np.arange(size) * layer.dilation[axis]
    return float(((under >= 0) & (under < inputs)).sum() / outputs)
