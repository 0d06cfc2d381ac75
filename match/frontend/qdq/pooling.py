"""Pooling: the largest of windows, and means."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.maps import as_map, channels_first, channels_last, like, padding_of, sides
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.graph.make import reshaped
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


def mean(read: QdqReader, node: Any) -> Value:
    """ReduceMean along neighbouring axes, as means of windows of a map that has these as rows and columns.

    Along the last axis, unless it is that of a sequence's mean, and along the channels of a map, it is none of those.
    """
    x = read.input(node)
    rank = len(x.shape)
    axes = sorted(axis % rank for axis in read.integers(node, "axes", 1))
    if x.dtype != REAL or axes != list(range(axes[0], axes[-1] + 1)):
        raise Unread
    first, last, extents = axes[0], axes[-1] + 1, x.shape[axes[0] : axes[-1] + 1]
    alone, count = rank > 2 and x.shape[0] == 1, math.prod(extents)
    window = (extents[0], extents[1]) if rank == 4 and len(extents) == 2 else (count, 1)
    turned = alone and ((first, last) == (2, rank) or (rank == 4 and axes == [2]))
    if turned:
        seen = channels_last(reshaped(x, (*x.shape[:2], *window)) if last == rank else x)
    elif alone and (first, last) == (1, rank - 1):
        seen = reshaped(x, (1, *window, x.shape[-1]))
    elif last < rank and not (alone and rank == 4 and axes == [1]):
        window = 1, count
        seen = reshaped(x, (1, math.prod(x.shape[:first]), count, math.prod(x.shape[last:])))
    else:
        raise Unread
    means = computed(RealAverage(window=window, strides=(1, 1), written_as="axes"), seen)
    kept = bool(attribute_of(node, "keepdims", 1))
    shape = [1 if axis in axes else extent for axis, extent in enumerate(x.shape) if kept or axis not in axes]
    return reshaped(channels_first(means) if turned else means, shape)


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        "MaxPool": maximum,
        "AveragePool": average,
        "GlobalAveragePool": global_average,
        "GlobalMaxPool": global_maximum,
        "ReduceMean": mean,
    }
)
