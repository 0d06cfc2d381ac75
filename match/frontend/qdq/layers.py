"""Layers with weights: Conv, Gemm, MatMul."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.maps import channels_first, channels_last
from match.frontend.qdq.reader import Handler, OnnxReader, Unread
from match.graph.make import array_of, constant, reshaped
from match.graph.opaque import Constant
from match.graph.reals import REAL, Levels, RealConvolution, RealProduct
from match.graph.value import Value, computed
from match.ir.layer import Padding

_PLAIN = {"alpha": 1.0, "beta": 1.0}


def convolution(read: OnnxReader, node: Any) -> Value:
    """Conv of maps."""
    x, filters = read.input(node), read.input(node, 1)
    if len(x.shape) != 4 or x.dtype != REAL or attribute_of(node, "auto_pad", b"NOTSET") != b"NOTSET":
        raise Unread
    top, left, bottom, right = attribute_of(node, "pads", [0, 0, 0, 0])
    down, across = attribute_of(node, "strides", [1, 1])
    rows, columns = attribute_of(node, "dilations", [1, 1])
    operator = RealConvolution(
        strides=(down, across),
        padding=Padding(top, left, bottom, right),
        dilation=(rows, columns),
        groups=attribute_of(node, "group", 1),
    )
    bias = [read.input(node, 2)] if read.has(node, 2) else []
    sums = computed(operator, channels_last(x), _constant(filters), *map(_constant, bias), exact=read.is_exact(node))
    return channels_first(sums)


def gemm(read: OnnxReader, node: Any) -> Value:
    """Gemm of rows and a constant matrix."""
    if attribute_of(node, "transA", 0) or any(attribute_of(node, name, one) != one for name, one in _PLAIN.items()):
        raise Unread
    x, matrix = read.input(node), _constant(read.input(node, 1))
    if attribute_of(node, "transB", 0):
        matrix = _turned(matrix)
    bias = [_constant(read.input(node, 2))] if read.has(node, 2) else []
    if any(one.shape != matrix.shape[1:] for one in bias):
        raise Unread
    return computed(RealProduct(), x, matrix, *bias, exact=read.is_exact(node))


def product(read: OnnxReader, node: Any) -> Value:
    """MatMul of a tensor and a constant matrix: of all rows of the tensor."""
    x, matrix = read.input(node), _constant(read.input(node, 1))
    if len(matrix.shape) != 2 or len(x.shape) < 2 or x.dtype != REAL:
        raise Unread
    rows = reshaped(x, (-1, x.shape[-1]))
    sums = computed(RealProduct(), rows, matrix, exact=read.is_exact(node))
    return reshaped(sums, (*x.shape[:-1], matrix.shape[1]))


def _constant(x: Value) -> Value:
    if not isinstance(x.operator, Levels | Constant):
        raise Unread
    return x


def _turned(matrix: Value) -> Value:
    """A constant matrix, transposed."""
    array, operator = array_of(matrix), matrix.operator
    if array is not None:
        return constant(np.ascontiguousarray(array.T))
    assert isinstance(operator, Levels), "a constant is one of both"
    levels = np.ascontiguousarray(operator.levels.T)
    return replace(computed(replace(operator, levels=levels, axis=1 - operator.axis)), source=matrix.source)


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType({"Conv": convolution, "Gemm": gemm, "MatMul": product})
