"""Windows that slide over maps: their geometry, maxima and means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from match.frontend.integer_onnx.values import OnnxReader, Value
from match.frontend.onnx_graph import Node
from match.relay import relay


def sliding(read: OnnxReader, node: Node) -> tuple[list[int], list[int], list[int]]:
    """Strides, pads (top, left, bottom, right) and dilations."""
    attributes = node.attributes
    if attributes.get("auto_pad", "NOTSET") != "NOTSET" or attributes.get("ceil_mode", 0):
        raise read.error(node, "leaves its padding to the runtime; export explicit pads")
    strides, pads = list(attributes.get("strides", [1, 1])), list(attributes.get("pads", [0, 0, 0, 0]))
    dilations = list(attributes.get("dilations", [1, 1]))
    if (len(strides), len(pads), len(dilations)) != (2, 4, 2) or min(*strides, *dilations) < 1:
        raise read.error(node, "has strides, pads or dilations of no map; export the model again")
    return strides, pads, dilations


def _window(read: OnnxReader, node: Node) -> tuple[int, ...]:
    """Rows and columns of a pooling's windows."""
    window = tuple(read.attribute(node, "kernel_shape"))
    if len(window) != 2 or min(window) < 1:
        raise read.error(node, "has windows of no map; export the model again")
    return window


def max_pool(read: OnnxReader, node: Node) -> Value:
    """MaxPool."""
    x, window = read.narrow(node), _window(read, node)
    strides, pads, dilations = sliding(read, node)
    if node.attributes.get("storage_order", 0):
        raise read.error(node, "stores its result column by column; use the default order")
    pooled = relay.nn.max_pool2d(x.expr, window, strides, dilations, pads)
    return replace(x, expr=pooled, shape=(*x.shape[:2], *output_extents(x, window, strides, pads, dilations)))


def average_pool(read: OnnxReader, node: Node) -> Value:
    """AveragePool of whole windows."""
    x, window = read.narrow(node), _window(read, node)
    strides, pads, dilations = sliding(read, node)
    if any(pads) or any(step != 1 for step in dilations):
        raise read.error(node, "averages over padding or with gaps; only whole windows are supported")
    return _averaged(x, window, strides)


def global_average_pool(read: OnnxReader, node: Node) -> Value:
    """GlobalAveragePool."""
    x = read.narrow(node)
    return _averaged(x, x.shape[2:], [1, 1])


def _averaged(x: Value, window: tuple[int, ...], strides: list[int]) -> Value:
    """Window sums, still to be divided by the size of the window."""
    count, wide = math.prod(window), relay.cast(x.expr, "int32")
    if window == x.shape[2:]:
        sums, extents = relay.sum(wide, axis=(2, 3), keepdims=True), [1, 1]
    else:
        # The mean of values multiplied by the window's size is their sum: no remainder is left.
        scaled = relay.multiply(wide, relay.const(count, "int32"))
        sums = relay.nn.avg_pool2d(scaled, window, strides)
        extents = output_extents(x, window, strides, [0] * 4, [1, 1])
    return Value(relay.cast(sums, "int64"), (*x.shape[:2], *extents), divisor=count, mean_of=x.dtype)


def output_extents(
    x: Value, window: Sequence[int], strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int]
) -> list[int]:
    """Rows and columns that a window makes of a map."""
    return [
        (size + pads[axis] + pads[axis + 2] - (window[axis] - 1) * dilations[axis] - 1) // strides[axis] + 1
        for axis, size in enumerate(x.shape[2:])
    ]
