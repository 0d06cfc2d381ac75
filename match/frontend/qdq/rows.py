"""Functions of rows: Softmax."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.graph.make import transposed
from match.graph.reals import REAL
from match.graph.rows import RealSoftmax
from match.graph.value import Value, computed

SOFTMAX_OF_AN_AXIS = 13
"""The opset since which a Softmax goes along one axis."""


def softmax(read: QdqReader, node: Any) -> Value:
    """Softmax along one axis."""
    x = read.input(node)
    since = read.opset >= SOFTMAX_OF_AN_AXIS
    axis = attribute_of(node, "axis", -1 if since else 1) % len(x.shape)
    if not since and axis != len(x.shape) - 1:
        raise Unread
    return softmax_along(x, axis)


def softmax_along(x: Value, axis: int) -> Value:
    """A softmax along an axis, which is put last."""
    if x.dtype != REAL:
        raise Unread
    rank = len(x.shape)
    order = [*(other for other in range(rank) if other != axis % rank), axis % rank]
    rows = computed(RealSoftmax(), transposed(x, order), exact=False)
    return transposed(rows, [order.index(other) for other in range(rank)])


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType({"Softmax": softmax})
