"""Windows that slide over maps: their geometry, maxima and means."""

from __future__ import annotations

import math

from match.frontend.integer_onnx.values import WIDE, IntegerReader, Integers
from match.frontend.onnx_graph import Node
from match.graph.make import cast
from match.graph.maps import channels_first, channels_last
from match.graph.maximum import Maximum
from match.graph.sums import SUMS, Average, unchanged
from match.graph.value import Value, computed
from match.ir.layer import Padding

_Pair = tuple[int, int]
"""A number for rows and one for columns."""


def sliding(read: IntegerReader, node: Node) -> tuple[_Pair, Padding, _Pair]:
    """Strides, padding and dilations."""
    attributes = node.attributes
    if attributes.get("auto_pad", "NOTSET") != "NOTSET" or attributes.get("ceil_mode", 0):
        raise read.error(node, "leaves its padding to the runtime; export explicit pads")
    strides, pads = attributes.get("strides", [1, 1]), attributes.get("pads", [0, 0, 0, 0])
    dilations = attributes.get("dilations", [1, 1])
    wrong = (len(strides), len(pads), len(dilations)) != (2, 4, 2)
    if wrong or min(*strides, *dilations) < 1 or min(pads) < 0:
        raise read.error(node, "has strides, pads or dilations of no map; export the model again")
    return (strides[0], strides[1]), Padding(*pads), (dilations[0], dilations[1])


def checked(read: IntegerReader, node: Node, map_: Value) -> Value:
    """A map that windows make of another one, if they fit into it."""
    if min(map_.shape) < 1:
        raise read.error(node, "has windows that are larger than its map; export the model again")
    read.check_size(node, map_.shape)
    return map_


def _window(read: IntegerReader, node: Node) -> _Pair:
    """Rows and columns of a pooling's windows."""
    window = tuple(read.attribute(node, "kernel_shape"))
    if len(window) != 2 or min(window) < 1:
        raise read.error(node, "has windows of no map; export the model again")
    return window[0], window[1]


def max_pool(read: IntegerReader, node: Node) -> Integers:
    """MaxPool."""
    x, window = read.map(node), _window(read, node)
    strides, padding, dilation = sliding(read, node)
    if node.attributes.get("storage_order", 0):
        raise read.error(node, "stores its result column by column; use the default order")
    maximum = Maximum(window=window, strides=strides, padding=padding, dilation=dilation)
    return Integers(channels_first(checked(read, node, computed(maximum, channels_last(x)))))


def average_pool(read: IntegerReader, node: Node) -> Integers:
    """AveragePool of whole windows."""
    x, window = read.map(node), _window(read, node)
    strides, padding, dilation = sliding(read, node)
    if any(padding) or dilation != (1, 1):
        raise read.error(node, "averages over padding or with gaps; only whole windows are supported")
    return _averaged(read, node, x, window, strides)


def global_average_pool(read: IntegerReader, node: Node) -> Integers:
    """GlobalAveragePool."""
    x = read.map(node)
    return _averaged(read, node, x, (x.shape[2], x.shape[3]), (1, 1))


def _averaged(read: IntegerReader, node: Node, x: Value, window: _Pair, strides: _Pair) -> Integers:
    """The sums of windows, still to be divided by the size of the window."""
    whole = window == x.shape[2:]
    average = Average(requantization=unchanged(x.shape[1]), dtype=SUMS, window=window, strides=strides, whole_map=whole)
    sums = channels_first(checked(read, node, computed(average, channels_last(x))))
    return Integers(cast(sums, WIDE), divisor=math.prod(window), mean_of=x.dtype)
