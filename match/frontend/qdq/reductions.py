"""Reductions along axes, running sums, and the places of extremes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Refused, Unread
from match.frontend.qdq.rows import SOFTMAX_OF_AN_AXIS
from match.graph.integers import Extreme, Place
from match.graph.make import array_of, reshaped
from match.graph.real_functions import marks, real
from match.graph.reals import REAL
from match.graph.reductions import RealReduction, Reduction, RunningSum
from match.graph.value import Value, computed

_Reduce = Callable[[Value, tuple[int, ...], bool], Value]
"""What a reduction makes of a tensor and its axes, which it may keep as axes of one element."""


def _reduced(reduce: _Reduce, read: QdqReader, node: Any) -> Value:
    x = read.input(node)
    if read.has(node, 1) and array_of(read.input(node, 1)) is None:
        raise Refused("along axes that depend on the inputs")
    axes = read.integers(node, "axes", 1, [])
    if not axes and (not x.shape or attribute_of(node, "noop_with_empty_axes", 0)):
        return x
    along = sorted(axis % len(x.shape) for axis in axes or range(len(x.shape)))
    return reduce(x, tuple(along), bool(attribute_of(node, "keepdims", 1)))


def _reduction(function: Reduction, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    if x.dtype != REAL:
        raise Unread
    return computed(RealReduction(function=function, axes=axes, keepdims=keepdims), x)


_total = partial(_reduction, "sum")


def _extreme(largest: bool, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return computed(Extreme(axes=axes, keepdims=keepdims, largest=largest), x)


def _magnitudes(x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return _total(real("abs", x), axes, keepdims)


def _squares(x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return _total(real("multiply", x, x), axes, keepdims)


def _length(x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return real("sqrt", _squares(x, axes, keepdims))


def _logarithm(x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return real("log", _total(x, axes, keepdims))


def _logarithm_of_exponentials(x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """The logarithm of a sum of exponentials, scaled so that none of these is larger than 1."""
    largest = _extreme(True, x, axes, True)
    total = _total(real("exp", real("subtract", x, largest)), axes, True)
    result = real("add", real("log", total), largest)
    return result if keepdims else reshaped(result, [e for axis, e in enumerate(x.shape) if axis not in axes])


def running_sum(read: QdqReader, node: Any) -> Value:
    """CumSum."""
    x, given = read.input(node), array_of(read.input(node, 1))
    if given is None:
        raise Refused("along an axis that depends on the inputs")
    axis = int(given.item())
    if x.dtype != REAL:
        raise Unread
    exclusive, backwards = (bool(attribute_of(node, name, 0)) for name in ("exclusive", "reverse"))
    return computed(RunningSum(axis=axis % len(x.shape), exclusive=exclusive, backwards=backwards), x)


def _place(largest: bool, read: QdqReader, node: Any) -> Value:
    """ArgMax or ArgMin."""
    x = read.input(node)
    place = Place(
        axis=attribute_of(node, "axis", 0) % len(x.shape),
        keepdims=bool(attribute_of(node, "keepdims", 1)),
        largest=largest,
        last=bool(attribute_of(node, "select_last_index", 0)),
        dtype="int64",
    )
    return computed(place, x)


def hardmax(read: QdqReader, node: Any) -> Value:
    """Hardmax: 1 where the first of the largest numbers along an axis is, 0 elsewhere."""
    x = read.input(node)
    since = read.opset >= SOFTMAX_OF_AN_AXIS
    axis: int = attribute_of(node, "axis", -1 if since else 1) % len(x.shape)
    if x.dtype != REAL:
        raise Unread
    rows = x if since else reshaped(x, (math.prod(x.shape[:axis]), -1))
    axis = axis if since else 1
    place = Place(axis=axis, keepdims=True, largest=True, last=False, dtype="int32")
    return reshaped(marks(computed(place, rows), axis, rows.shape[axis]), x.shape)


_REDUCTIONS: MappingProxyType[str, _Reduce] = MappingProxyType(
    {
        "ReduceL1": _magnitudes,
        "ReduceL2": _length,
        "ReduceLogSum": _logarithm,
        "ReduceLogSumExp": _logarithm_of_exponentials,
        "ReduceMax": partial(_extreme, True),
        "ReduceMean": partial(_reduction, "mean"),
        "ReduceMin": partial(_extreme, False),
        "ReduceProd": partial(_reduction, "prod"),
        "ReduceSum": _total,
        "ReduceSumSquare": _squares,
    }
)

HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        **{name: partial(_reduced, reduce) for name, reduce in _REDUCTIONS.items()},
        "ArgMax": partial(_place, True),
        "ArgMin": partial(_place, False),
        "CumSum": running_sum,
        "Hardmax": hardmax,
    }
)
