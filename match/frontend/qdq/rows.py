"""Functions of rows: Softmax."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, OnnxReader, Unread
from match.graph.make import transposed
from match.graph.reals import REAL
from match.graph.rows import RealSoftmax
from match.graph.value import Value, computed

_SOFTMAX_OF_AN_AXIS = 13
"""The opset since which a Softmax goes along one axis."""


def softmax(read: OnnxReader, node: Any) -> Value:
    """Softmax along one axis, which is put last."""
    x = read.input(node)
    rank = len(x.shape)
    since = read.opset >= _SOFTMAX_OF_AN_AXIS
    axis = attribute_of(node, "axis", -1 if since else 1) % rank
    if x.dtype != REAL or (not since and axis != rank - 1):
        raise Unread
    order = [*(other for other in range(rank) if other != axis), axis]
    rows = computed(RealSoftmax(), transposed(x, order), exact=False)
    return transposed(rows, [order.index(other) for other in range(rank)])


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType({"Softmax": softmax})
