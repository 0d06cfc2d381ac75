"""Comparisons, logic, and choices between tensors."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import onnx

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Refused, Unread
from match.graph.integers import TYPES, Elementwise
from match.graph.make import arithmetic, array_of, constant
from match.graph.real_functions import real, truth
from match.graph.reals import REAL, RealFunction
from match.graph.value import Value, computed

_TRUTH = "bool"

_COMPARED = MappingProxyType(
    {
        "Equal": "equal",
        "Greater": "greater",
        "GreaterOrEqual": "greater_equal",
        "Less": "less",
        "LessOrEqual": "less_equal",
    }
)
_LOGIC = MappingProxyType({"And": "logical_and", "Not": "logical_not", "Or": "logical_or", "Xor": "logical_xor"})


def _compared(read: QdqReader, node: Any) -> Value:
    """A comparison of two tensors of one type."""
    a, b = read.input(node), read.input(node, 1)
    function = _COMPARED[node.op_type]
    if a.dtype != b.dtype:
        raise Unread
    if a.dtype == REAL:
        return truth(function, a, b)
    if a.dtype not in TYPES:
        raise Unread
    return arithmetic(function, a, b, dtype=_TRUTH)


def _logic(read: QdqReader, node: Any) -> Value:
    """A function of truth values."""
    operands = [read.input(node, place) for place in range(len(node.input))]
    if any(x.dtype != _TRUTH for x in operands):
        raise Unread
    return truth(_LOGIC[node.op_type], *operands)


def where(read: QdqReader, node: Any) -> Value:
    """Where."""
    condition, x, y = (read.input(node, place) for place in range(3))
    return _chosen(condition, x, y)


def _chosen(condition: Value, x: Value, y: Value) -> Value:
    if condition.dtype != _TRUTH or x.dtype != y.dtype or x.dtype not in TYPES | {REAL}:
        raise Unread
    return real("where", condition, x, y) if x.dtype == REAL else arithmetic("where", condition, x, y)


def triangle(read: QdqReader, node: Any) -> Value:
    """Trilu: a choice between a matrix and zeros."""
    x = read.input(node)
    diagonal = array_of(read.input(node, 1)) if read.has(node, 1) else np.zeros(())
    if diagonal is None:
        raise Refused("with a diagonal that depends on the inputs")
    upper: int = attribute_of(node, "upper", 1)
    rows, columns = x.shape[-2:]
    mask = np.tri(rows, columns, int(diagonal.item()) - upper, dtype=np.bool_)
    return _chosen(constant(~mask if upper else mask), x, constant(0, x.dtype))


def cast(read: QdqReader, node: Any) -> Value:
    """Cast."""
    return _as_type(read.input(node), str(onnx.helper.tensor_dtype_to_np_dtype(attribute_of(node, "to", 0))))


def cast_like(read: QdqReader, node: Any) -> Value:
    """CastLike: to the type of another tensor."""
    return _as_type(read.input(node), read.input(node, 1).dtype)


def _as_type(x: Value, dtype: str) -> Value:
    array = array_of(x)
    if array is not None:
        return constant(array.astype(dtype))
    if x.dtype == dtype:
        return x
    if {x.dtype, dtype} <= TYPES - {_TRUTH}:
        return computed(Elementwise(function="cast", dtype=dtype), x)
    if not {x.dtype, dtype} <= TYPES | {REAL}:
        raise Unread
    return computed(RealFunction(function="cast", dtype=dtype), x)


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        **dict.fromkeys(_COMPARED, _compared),
        **dict.fromkeys(_LOGIC, _logic),
        "Cast": cast,
        "CastLike": cast_like,
        "Trilu": triangle,
        "Where": where,
    }
)
