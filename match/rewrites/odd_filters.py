"""Convolutions of stride 2 whose filter has an even side become convolutions of stride 1 whose sides are odd.

The four pixels that a step of the filter covers become channels of one pixel, so a filter has half as many rows and
columns and four times the channels. Zeros make its sides odd. The sums are the same integers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.graph import moves
from match.graph.moves import FILL, Columns
from match.graph.rewrite import rewrite
from match.graph.sums import Convolution, Weights
from match.graph.value import Graph, Value, computed
from match.ir.layer import Padding


def with_odd_filters(graph: Graph) -> Graph:
    """The graph with odd filters; depthwise and grouped convolutions stay as they are."""
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    del original
    layer = value.operator
    if not isinstance(layer, Convolution) or layer.groups > 1 or layer.depthwise:
        return value
    sides = layer.weights.shape[:2]
    if layer.strides != (2, 2) or layer.dilation != (1, 1) or all(side % 2 for side in sides):
        return value
    rows, columns = (-(-side // 2) | 1 for side in sides)
    odd = replace(layer, weights=_by_phase(layer.weights, rows, columns), strides=(1, 1), padding=Padding())
    pixels = _pixels(layer, value.inputs[0], value.shape[1] + rows - 1, value.shape[2] + columns - 1)
    return replace(value, operator=odd, inputs=(pixels,))


def _by_phase(weights: Weights, rows: int, columns: int) -> Weights:
    """The filter (FY, FX, C, K) as (rows, columns, 4 C, K), zeros after its end."""
    fy, fx, c, k = weights.shape
    padded = np.pad(weights, ((0, 2 * rows - fy), (0, 2 * columns - fx), (0, 0), (0, 0)))
    return padded.reshape(rows, 2, columns, 2, c, k).transpose(0, 2, 1, 3, 4, 5).reshape(rows, columns, 4 * c, k)


def _pixels(layer: Convolution, x: Value, rows: int, columns: int) -> Value:
    """The input (N, H, W, C), padded, as (N, rows, columns, 4 C); what no filter sees is cut off."""
    n, height, width, c = x.shape
    top, left, _, _ = layer.padding
    seen = [None, _seen(height, top, 2 * rows), _seen(width, left, 2 * columns), None]
    if any(indices is not None for indices in seen):
        x = computed(moves.take(x.tensor, seen, layer.pad_value), x)
    x = computed(moves.reshape(x.tensor, (n, rows, 2, columns, 2, c)), x)
    x = computed(moves.transpose(x.tensor, (0, 1, 3, 2, 4, 5)), x)
    return computed(moves.reshape(x.tensor, (n, rows, columns, 4 * c)), x)


def _seen(extent: int, before: int, outputs: int) -> Columns | None:
    """The indices of an axis that filters see, from `before` indices of padding on; None if they are all its own."""
    indices = np.arange(outputs, dtype=np.int32) - before
    seen = np.where((indices < 0) | (indices >= extent), np.int32(FILL), indices)
    return None if np.array_equal(seen, np.arange(extent)) else seen
