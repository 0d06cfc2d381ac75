"""Pooling: the largest of windows, means, and norms."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Any

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq import functions
from match.frontend.qdq.maps import as_map, like, padding_of, sides
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.graph import volumes
from match.graph.maps import channels_first, channels_last
from match.graph.maximum import Maximum
from match.graph.real_functions import number, real
from match.graph.reals import REAL, RealAverage
from match.graph.reductions import RealReduction
from match.graph.value import Value, computed
from match.ir.layer import Padding

_RANKS = 3, 4, 5
"""Axes of sequences, of maps and of volumes."""


def _check(node: Any, x: Value) -> None:
    """Read no windows that are not written out, and none of other tensors."""
    given = attribute_of(node, "auto_pad", b"NOTSET"), attribute_of(node, "ceil_mode", 0)
    if len(x.shape) not in _RANKS or given != (b"NOTSET", 0) or len(node.output) != 1:
        raise Unread


def _volume(node: Any) -> volumes.Windows:
    given = (attribute_of(node, name, None) for name in ("kernel_shape", "strides", "pads", "dilations"))
    return volumes.Windows.of(*given)


def maximum(read: QdqReader, node: Any) -> Value:
    """MaxPool."""
    x = read.input(node)
    _check(node, x)
    if len(x.shape) == volumes.RANK:
        return volumes.largest(x, _volume(node))
    window, strides, dilation = (
        sides(attribute_of(node, name, None), 1) for name in ("kernel_shape", "strides", "dilations")
    )
    padding = padding_of(attribute_of(node, "pads", None))
    operator = Maximum(window=window, strides=strides, padding=padding, dilation=dilation)
    return like(channels_first(computed(operator, channels_last(as_map(x)))), x)


def average(read: QdqReader, node: Any) -> Value:
    """AveragePool."""
    counts = bool(attribute_of(node, "count_include_pad", 0))
    return _averaged(node, read.input(node), counts_padding=counts, exact=read.is_exact(node))


def _averaged(node: Any, x: Value, *, counts_padding: bool, exact: bool) -> Value:
    """The means of windows without holes."""
    _check(node, x)
    if x.dtype != REAL or set(attribute_of(node, "dilations", [1])) != {1}:
        raise Unread
    if len(x.shape) == volumes.RANK:
        return volumes.means(x, _volume(node), counts_padding=counts_padding, exact=exact)
    window, strides = (sides(attribute_of(node, name, None), 1) for name in ("kernel_shape", "strides"))
    padding = padding_of(attribute_of(node, "pads", None))
    operator = RealAverage(window=window, strides=strides, padding=padding, counts_padding=counts_padding)
    return like(channels_first(computed(operator, channels_last(as_map(x)), exact=exact)), x)


def norm(read: QdqReader, node: Any) -> Value:
    """LpPool: a root of the sum of powers of magnitudes."""
    powers = _powers(read, node)
    means = _averaged(node, powers, counts_padding=True, exact=False)
    count = math.prod(attribute_of(node, "kernel_shape", [1]))
    return _root(node, real("multiply", means, number(count)))


def global_norm(read: QdqReader, node: Any) -> Value:
    """GlobalLpPool."""
    powers = _powers(read, node)
    axes = tuple(range(2, len(powers.shape)))
    return _root(node, computed(RealReduction(function="sum", axes=axes, keepdims=True), powers))


def _powers(read: QdqReader, node: Any) -> Value:
    """What the sums of a norm are of."""
    x = read.input(node)
    if x.dtype != REAL:
        raise Unread
    return functions.power(real("abs", x), attribute_of(node, "p", 2))


def _root(node: Any, total: Value) -> Value:
    power: int = attribute_of(node, "p", 2)
    if power == 2:
        return real("sqrt", total)
    return total if power == 1 else real("power", total, number(1 / power))


def global_average(read: QdqReader, node: Any) -> Value:
    """GlobalAveragePool."""
    x, exact = read.input(node), read.is_exact(node)
    if len(x.shape) not in _RANKS or x.dtype != REAL:
        raise Unread
    if len(x.shape) == volumes.RANK:
        return volumes.mean_of_all(x, exact=exact)
    operator = RealAverage(window=sides(x.shape[2:], 1), strides=(1, 1), written_as="map")
    return like(channels_first(computed(operator, channels_last(as_map(x)), exact=exact)), x)


def global_maximum(read: QdqReader, node: Any) -> Value:
    """GlobalMaxPool."""
    x = read.input(node)
    if len(x.shape) not in _RANKS:
        raise Unread
    if len(x.shape) == volumes.RANK:
        return volumes.largest(x, volumes.Windows.of(x.shape[2:], None, None))
    window = sides(x.shape[2:], 1)
    operator = Maximum(window=window, strides=(1, 1), padding=Padding(), dilation=(1, 1))
    return like(channels_first(computed(operator, channels_last(as_map(x)))), x)


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        "AveragePool": average,
        "GlobalAveragePool": global_average,
        "GlobalLpPool": global_norm,
        "GlobalMaxPool": global_maximum,
        "LpPool": norm,
        "MaxPool": maximum,
    }
)
