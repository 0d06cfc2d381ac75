"""Tensors some of whose elements are replaced at constant places, as PyTorch writes assignments to slices."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.frontend.qdq.shapes import from_front
from match.graph.make import constant
from match.graph.operator import Array
from match.graph.points import with_parts
from match.graph.value import Value


def scatter_points(read: QdqReader, node: Any) -> Value:
    """ScatterND: along the last axis of the second input are indices of the tensor's first axes."""
    x, given, parts = read.input(node), read.array(node, 1), read.input(node, 2)
    points = from_front(given, np.array(x.shape[: given.shape[-1]]))
    if _combines(node) and np.any(points != given):  # TVM takes no index from the end
        return read.made(node.op_type, [x, constant(points), parts], node.attribute)
    return _replaced(node, x, points, parts)


def scatter_elements(read: QdqReader, node: Any) -> Value:
    """ScatterElements: for each new element an index along an axis; along others it stays in its place."""
    x, given, parts = read.input(node), read.array(node, 1), read.input(node, 2)
    axis: int = attribute_of(node, "axis", 0) % len(x.shape)
    points = np.indices(given.shape)
    points[axis] = from_front(given, x.shape[axis])
    return _replaced(node, x, np.moveaxis(points, 0, -1), parts)


def _replaced(node: Any, x: Value, points: Array, parts: Value) -> Value:
    """A tensor with new parts at points."""
    if _combines(node) or x.dtype != parts.dtype:
        raise Unread
    return with_parts(x, points, parts)


def _combines(node: Any) -> bool:
    """Whether new parts are added to those that are there, or combined with them in another way."""
    return attribute_of(node, "reduction", b"none") != b"none"


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {"ScatterElements": scatter_elements, "ScatterND": scatter_points}
)
