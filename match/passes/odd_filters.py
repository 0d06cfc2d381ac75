"""Convolutions of stride 2 whose filter has an even side become convolutions of stride 1 whose sides are odd.

The four pixels that a step of the filter covers become channels of one pixel, so a filter has half as many rows and
columns and four times the channels. Zeros make its sides odd. The sums are the same integers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.ir.layer import Padding
from match.relay import relay, tvm
from match.relay.integer_form import Int8Array
from match.relay.operators import Convolution
from match.relay.readers import read_layer
from match.relay.rewrite import New, rewrite, shape


def with_odd_filters(module: tvm.IRModule) -> tvm.IRModule:
    """The module, whose "main" is in integer form; depthwise and grouped convolutions stay as they are."""
    return rewrite(module, _rule)


def _rule(call: relay.Call, new: New) -> relay.Expr | None:
    layer = read_layer(call)
    if not isinstance(layer, Convolution) or layer.groups > 1 or layer.depthwise:
        return None
    sides = layer.weights.shape[:2]
    if layer.strides != (2, 2) or layer.dilation != (1, 1) or all(side % 2 for side in sides):
        return None
    rows, columns = (-(-side // 2) | 1 for side in sides)
    odd = replace(layer, weights=_by_phase(layer.weights, rows, columns), strides=(1, 1), padding=Padding())
    return odd.build(_pixels(layer, new(layer.x), shape(call)[1] + rows - 1, shape(call)[2] + columns - 1))


def _by_phase(weights: Int8Array, rows: int, columns: int) -> Int8Array:
    """The filter (FY, FX, C, K) as (rows, columns, 4 C, K), zeros behind its end."""
    fy, fx, c, k = weights.shape
    padded = np.pad(weights, ((0, 2 * rows - fy), (0, 2 * columns - fx), (0, 0), (0, 0)))
    return padded.reshape(rows, 2, columns, 2, c, k).transpose(0, 2, 1, 3, 4, 5).reshape(rows, columns, 4 * c, k)


def _pixels(layer: Convolution, x: relay.Expr, rows: int, columns: int) -> relay.Expr:
    """The input (N, H, W, C), padded, as (N, rows, columns, 4 C); what no filter sees is cut off."""
    n, height, width, c = shape(layer.x)
    top, left, _, _ = layer.padding
    below, right = 2 * rows - height - top, 2 * columns - width - left
    if below < 0 or right < 0:
        x = relay.strided_slice(x, [0, 0, 0, 0], [n, height + min(below, 0), width + min(right, 0), c])
    sides = ((0, 0), (top, max(below, 0)), (left, max(right, 0)), (0, 0))
    if any(map(any, sides)):
        x = relay.nn.pad(x, sides, relay.const(layer.pad_value, layer.x_dtype))
    x = relay.transpose(relay.reshape(x, (n, rows, 2, columns, 2, c)), (0, 1, 3, 2, 4, 5))
    return relay.reshape(x, (n, rows, columns, 4 * c))
