"""Operators on quantized tensors, each as its operator on real numbers between dequantize and quantize."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq import functions, layers, pooling, rows
from match.frontend.qdq.borders import dequantized
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.graph import real_functions
from match.graph.elements import Quantize
from match.graph.make import array_of, concatenated
from match.graph.real_functions import real
from match.graph.reals import Levels
from match.graph.value import Value, computed
from match.ir.float_border import FloatQuantization


def _real(read: QdqReader, node: Any, place: int, axis: int = 0) -> Value:
    """The tensor at a place as real numbers: its scale and zero point come after it."""
    return dequantized(read, read.input(node, place), node, place + 1, axis)


def _quantized(real: Value, output: QuantizedType) -> Value:
    function = FloatQuantization(output.scale, output.zero_point, output.dtype, half_to_even=True)
    return computed(Quantize(function=function), real)


def _output(read: QdqReader, node: Any, place: int, dtype: str = "uint8") -> QuantizedType:
    """The quantization of the output, whose scale is at a place; without a zero point it has a type."""
    zero = read.array(node, place + 1).dtype.name if read.has(node, place + 1) else dtype
    return read.quantization(node, place, zero)


def _bias(read: QdqReader, node: Any, place: int, x: QuantizedType, weights: Value) -> list[Value]:
    """The bias at a place, if there is one: it counts in steps of the sums."""
    if not read.has(node, place):
        return []
    levels = array_of(read.input(node, place))
    if levels is None or not isinstance(weights.operator, Levels):
        raise Unread
    steps = np.float32(x.scale) * weights.operator.scales
    return [computed(Levels(levels=levels, scales=steps, zero_points=np.zeros(steps.size, np.int64)))]


def convolution(read: QdqReader, node: Any) -> Value:
    """QLinearConv."""
    x, filters = _real(read, node, 0), _real(read, node, 3)
    bias = _bias(read, node, 8, read.quantization(node, 1, read.input(node).dtype), filters)
    return _quantized(layers.convolved(node, x, filters, bias, exact=True), _output(read, node, 6))


def product(read: QdqReader, node: Any) -> Value:
    """QLinearMatMul."""
    matrix = _real(read, node, 3, axis=len(read.input(node, 3).shape) - 1)
    return _quantized(layers.multiplied(_real(read, node, 0), matrix, exact=True), _output(read, node, 6))


def gemm(read: QdqReader, node: Any) -> Value:
    """QGemm of onnxruntime, to 8 bits or to real numbers."""
    if attribute_of(node, "alpha", 1.0) != 1.0 or read.has(node, 7) != read.has(node, 8):
        raise Unread
    matrix = _real(read, node, 3, axis=0 if attribute_of(node, "transB", 0) else 1)
    bias = _bias(read, node, 6, read.quantization(node, 1, read.input(node).dtype), matrix)
    sums = layers.gemm_of(node, _real(read, node, 0), matrix, bias, exact=True)
    return _quantized(sums, _output(read, node, 7)) if read.has(node, 7) else sums


def pair(read: QdqReader, node: Any) -> Value:
    """QLinearAdd and QLinearMul."""
    function = {"QLinearAdd": "add", "QLinearMul": "multiply"}[node.op_type]
    both = real(function, _real(read, node, 0), _real(read, node, 3))
    return _quantized(both, _output(read, node, 6, read.input(node).dtype))


def concatenate(read: QdqReader, node: Any) -> Value:
    """QLinearConcat."""
    parts = [_real(read, node, place) for place in range(2, len(node.input), 3)]
    joined = concatenated(parts, attribute_of(node, "axis", 0) % len(parts[0].shape))
    return _quantized(joined, _output(read, node, 0))


def global_average(read: QdqReader, node: Any) -> Value:
    """QLinearGlobalAveragePool."""
    if attribute_of(node, "channels_last", 0):
        raise Unread
    return _quantized(pooling.mean_of_map(_real(read, node, 0), exact=True), _output(read, node, 3))


def average(read: QdqReader, node: Any) -> Value:
    """QLinearAveragePool."""
    if attribute_of(node, "channels_last", 0):
        raise Unread
    return _quantized(pooling.averaged(node, _real(read, node, 0), exact=True), _output(read, node, 3))


def _of_one(function: Callable[[Any, Value], Value], read: QdqReader, node: Any) -> Value:
    """A function of one tensor, whose output has the tensor's type."""
    return _quantized(function(node, _real(read, node, 0)), _output(read, node, 3, read.input(node).dtype))


def sigmoid(read: QdqReader, node: Any) -> Value:
    """QLinearSigmoid."""
    return _of_one(functions.sigmoid, read, node)


def leaky_relu(read: QdqReader, node: Any) -> Value:
    """QLinearLeakyRelu."""
    return _of_one(functions.leaky_relu, read, node)


def softmax(read: QdqReader, node: Any) -> Value:
    """QLinearSoftmax; before opset 13 rows may be of several axes."""
    if attribute_of(node, "opset", read.opset) < rows.SOFTMAX_OF_AN_AXIS:
        x = read.input(node)
        if attribute_of(node, "axis", -1) % len(x.shape) != len(x.shape) - 1:
            raise Unread
    return _of_one(lambda node, x: real_functions.softmax(x, attribute_of(node, "axis", -1) % len(x.shape)), read, node)


HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        "QGemm": gemm,
        "QLinearAdd": pair,
        "QLinearAveragePool": average,
        "QLinearConcat": concatenate,
        "QLinearConv": convolution,
        "QLinearGlobalAveragePool": global_average,
        "QLinearLeakyRelu": leaky_relu,
        "QLinearMatMul": product,
        "QLinearMul": pair,
        "QLinearSigmoid": sigmoid,
        "QLinearSoftmax": softmax,
    }
)
