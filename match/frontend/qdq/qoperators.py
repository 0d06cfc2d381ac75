"""Operators on quantized tensors, each as its operator on real numbers between dequantize and quantize."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq import borders, rows
from match.frontend.qdq.reader import Handler, QdqReader, Refused, Unread
from match.graph.constants import multiplied_constant
from match.graph.make import array_of
from match.graph.real_functions import real
from match.graph.reals import Levels
from match.graph.value import Value, computed


def _real(read: QdqReader, node: Any, place: int, axis: int = 0) -> Value:
    """The tensor at a place as real numbers: its scale and zero point come after it."""
    return borders.dequantized(read, read.input(node, place), node, place + 1, axis)


def _quantized(read: QdqReader, node: Any, x: Value, place: int, dtype: str = "uint8") -> Value:
    """Real numbers in the quantization of the output, whose scale is at a place; without a zero point it has a type."""
    zero = read.array(node, place + 1).dtype.name if read.has(node, place + 1) else dtype
    own = borders.scales_of(read, x, node, place, 0)
    if own.scales.size > 1:
        raise Unread
    return own.quantized(x, zero)


def _check_counts(read: QdqReader, node: Any, place: int, count: int, fitting: str) -> None:
    """Refuse scales or zero points, at a place and after it, that are neither one nor as many as is told."""
    for what, own in (("scales", read.array(node, place)), ("zero points", read.array(node, place + 1))):
        if own.size not in (1, count):
            raise Refused(f"with {own.size} {what} for {count} {fitting}")


def _bias(read: QdqReader, node: Any, place: int, x: int, weights: Value, factor: float = 1.0) -> list[Value]:
    """The bias at a place, if there is one: it counts in steps of the sums, of the input number `x` and the weights."""
    if not read.has(node, place):
        return []
    levels = array_of(read.input(node, place))
    if levels is None or not isinstance(weights.operator, Levels):
        raise Unread
    steps = np.float32(np.float32(factor) * read.array(node, x + 1).item()) * weights.operator.scales
    zeros = np.zeros(steps.size, np.int64)
    return [computed(Levels(levels=levels, scales=steps, zero_points=zeros, axis=max(levels.ndim - 1, 0)))]


def convolution(read: QdqReader, node: Any) -> Value:
    """QLinearConv."""
    _check_counts(read, node, 4, read.input(node, 3).shape[0], "filters")
    x, filters = _real(read, node, 0), _real(read, node, 3)
    sums = read.made("Conv", [x, filters, *_bias(read, node, 8, 0, filters)], node.attribute)
    return _quantized(read, node, sums, 6)


def product(read: QdqReader, node: Any) -> Value:
    """QLinearMatMul."""
    columns = read.input(node, 3).shape[-1]
    for what, place, most in (("rows", 1, 1), ("columns", 4, columns)):
        if any(read.array(node, one).size not in (1, most) for one in (place, place + 1)):
            raise Refused(f"with other scales or zero points for its {what}")
    matrix = _real(read, node, 3, axis=len(read.input(node, 3).shape) - 1)
    return _quantized(read, node, read.made("MatMul", [_real(read, node, 0), matrix]), 6)


def gemm(read: QdqReader, node: Any) -> Value:
    """QGemm of onnxruntime, to 8 bits or to real numbers. Of the scales alpha is multiplied first."""
    if read.has(node, 7) != read.has(node, 8):
        raise Refused("with a scale or a zero point of its output but without the other")
    alpha: float = attribute_of(node, "alpha", 1.0)
    x, matrix = _real(read, node, 0), _real(read, node, 3, axis=0 if attribute_of(node, "transB", 0) else 1)
    bias = _bias(read, node, 6, 0, matrix, alpha)
    turned = [attribute for attribute in node.attribute if attribute.name in ("transA", "transB")]
    sums = read.made("Gemm", [x, multiplied_constant(matrix, alpha), *bias], turned)
    return _quantized(read, node, sums, 7) if read.has(node, 7) else sums


def pair(function: str, read: QdqReader, node: Any) -> Value:
    """QLinearAdd and QLinearMul."""
    both = real(function, _real(read, node, 0), _real(read, node, 3))
    return _quantized(read, node, both, 6, read.input(node).dtype)


def concatenate(read: QdqReader, node: Any) -> Value:
    """QLinearConcat."""
    parts = [_real(read, node, place) for place in range(2, len(node.input), 3)]
    return _quantized(read, node, read.made("Concat", parts, node.attribute), 0)


def where(read: QdqReader, node: Any) -> Value:
    """QLinearWhere."""
    chosen = read.made("Where", [read.input(node), _real(read, node, 1), _real(read, node, 4)])
    return _quantized(read, node, chosen, 7)


def _of_one(kind: str, read: QdqReader, node: Any) -> Value:
    """An operator of one tensor, whose output has the tensor's type."""
    made = read.made(kind, [_real(read, node, 0)], node.attribute)
    return _quantized(read, node, made, 3, read.input(node).dtype)


def softmax(read: QdqReader, node: Any) -> Value:
    """QLinearSoftmax, as of the opset that it names."""
    x, opset = _real(read, node, 0), attribute_of(node, "opset", read.opset)
    normal = rows.softmax_of(x, attribute_of(node, "axis", -1), opset, logarithm=False)
    return _quantized(read, node, normal, 3, read.input(node).dtype)


_OF_ONE: MappingProxyType[str, str] = MappingProxyType(
    {
        "QLinearAveragePool": "AveragePool",
        "QLinearGlobalAveragePool": "GlobalAveragePool",
        "QLinearLeakyRelu": "LeakyRelu",
        "QLinearSigmoid": "Sigmoid",
    }
)

HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        **{name: partial(_of_one, kind) for name, kind in _OF_ONE.items()},
        "QGemm": gemm,
        "QLinearAdd": partial(pair, "add"),
        "QLinearConcat": concatenate,
        "QLinearConv": convolution,
        "QLinearMatMul": product,
        "QLinearMul": partial(pair, "multiply"),
        "QLinearSoftmax": softmax,
        "QLinearWhere": where,
    }
)
