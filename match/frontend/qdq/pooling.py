"""Pooling: the largest of windows, and means."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.maps import as_map, like, padding_of, sides
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.graph.maps import channels_first, channels_last
from match.graph.maximum import Maximum
from match.graph.reals import REAL, RealAverage
from match.graph.value import Value, computed
from match.ir.layer import Padding

_Windows = tuple[tuple[int, int], tuple[int, int], Padding]


def _windows(node: Any, x: Value) -> tuple[Value, _Windows]:
    """A map, channels last, and the extents, strides and padding of windows on it."""
    given = attribute_of(node, "auto_pad", b"NOTSET"), attribute_of(node, "ceil_mode", 0)
    if len(x.shape) not in (3, 4) or given != (b"NOTSET", 0) or len(node.output) != 1:
        raise Unread
    window = sides(attribute_of(node, "kernel_shape", None), 1)
    strides, padding = sides(attribute_of(node, "strides", None), 1), padding_of(attribute_of(node, "pads", None))
    return channels_last(as_map(x)), (window, strides, padding)


def maximum(read: QdqReader, node: Any) -> Value:
    """MaxPool."""
    x, (window, strides, padding) = _windows(node, read.input(node))
    dilation = sides(attribute_of(node, "dilations", None), 1)
    operator = Maximum(window=window, strides=strides, padding=padding, dilation=dilation)
    return like(channels_first(computed(operator, x)), read.input(node))


def average(read: QdqReader, node: Any) -> Value:
    """AveragePool."""
    return averaged(node, read.input(node), exact=read.is_exact(node))


def averaged(node: Any, x: Value, *, exact: bool) -> Value:
    """The means of windows, as an operator says."""
    map_, (window, strides, padding) = _windows(node, x)
    if x.dtype != REAL or set(attribute_of(node, "dilations", [1])) != {1}:
        raise Unread
    counts = bool(attribute_of(node, "count_include_pad", 0))
    operator = RealAverage(window=window, strides=strides, padding=padding, counts_padding=counts)
    return like(channels_first(computed(operator, map_, exact=exact)), x)


def global_average(read: QdqReader, node: Any) -> Value:
    """GlobalAveragePool."""
    return mean_of_map(read.input(node), exact=read.is_exact(node))


def mean_of_map(x: Value, *, exact: bool) -> Value:
    """The mean of each channel of a map."""
    if len(x.shape) not in (3, 4) or x.dtype != REAL:
        raise Unread
    operator = RealAverage(window=sides(x.shape[2:], 1), strides=(1, 1), written_as="map")
    return like(channels_first(computed(operator, channels_last(as_map(x)), exact=exact)), x)


def global_maximum(read: QdqReader, node: Any) -> Value:
    """GlobalMaxPool."""
    x = read.input(node)
    if len(x.shape) not in (3, 4):
        raise Unread
    window = sides(x.shape[2:], 1)
    operator = Maximum(window=window, strides=(1, 1), padding=Padding(), dilation=(1, 1))
    return like(channels_first(computed(operator, channels_last(as_map(x)))), x)


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        "AveragePool": average,
        "GlobalAveragePool": global_average,
        "GlobalMaxPool": global_maximum,
        "MaxPool": maximum,
    }
)
