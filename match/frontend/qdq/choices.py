"""Comparisons, logic, and choices between tensors."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.graph.make import array_of, constant
from match.graph.real_functions import number, real, truth
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


def _of_type(dtype: str, functions: MappingProxyType[str, str], read: QdqReader, node: Any) -> Value:
    """A function that says of tensors of a type what is true."""
    operands = [read.input(node, place) for place in range(len(node.input))]
    if any(x.dtype != dtype for x in operands):
        raise Unread
    return truth(functions[node.op_type], *operands)


def where(read: QdqReader, node: Any) -> Value:
    """Where, between real numbers."""
    condition, x, y = (read.input(node, place) for place in range(3))
    return _chosen(condition, x, y)


def _chosen(condition: Value, x: Value, y: Value) -> Value:
    if (condition.dtype, x.dtype, y.dtype) != (_TRUTH, REAL, REAL):
        raise Unread
    return real("where", condition, x, y)


def triangle(read: QdqReader, node: Any) -> Value:
    """Trilu: a choice between a matrix and zeros."""
    x, diagonal = read.input(node), int(read.array(node, 1).item()) if read.has(node, 1) else 0
    upper: int = attribute_of(node, "upper", 1)
    rows, columns = x.shape[-2:]
    mask = np.tri(rows, columns, diagonal - upper, dtype=np.bool_)
    return _chosen(constant(~mask if upper else mask), x, number(0))


def cast(read: QdqReader, node: Any) -> Value:
    """Cast of truth values to real numbers, of real numbers to truth values, and of constants."""
    x, dtype = read.input(node), str(onnx.helper.tensor_dtype_to_np_dtype(attribute_of(node, "to", 0)))
    array = array_of(x)
    if array is not None:
        return constant(array.astype(dtype))
    if x.dtype == dtype:
        return x
    if {x.dtype, dtype} != {REAL, _TRUTH}:
        raise Unread
    return computed(RealFunction(function="cast", dtype=dtype), x)


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        **dict.fromkeys(_COMPARED, partial(_of_type, REAL, _COMPARED)),
        **dict.fromkeys(_LOGIC, partial(_of_type, _TRUTH, _LOGIC)),
        "Cast": cast,
        "Trilu": triangle,
        "Where": where,
    }
)
