"""Average pooling that onnxruntime computes in float32 becomes integers, which may round a half to the other side."""

from __future__ import annotations

from dataclasses import replace

from match.arithmetic.interface import QuantizedType
from match.graph.float_average import FloatAverage
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value
from match.quantized.bytes import as_type
from match.quantized.window_means import parts_of, window_means


def with_close_averages(graph: Graph) -> Graph:
    """The graph with means of integers in the place of means in floating point."""
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    del original
    average = value.operator
    if not isinstance(average, FloatAverage):
        return value
    function, (x,) = average.function, value.inputs
    output = QuantizedType(function.scale, function.zero_point, function.dtype)
    typed, own = as_type(x, QuantizedType(average.scale, average.zero, x.dtype), output.dtype)
    _, rows, columns, _ = value.shape
    parts = parts_of(x, average.window, average.strides, average.padding, (rows, columns))
    if parts is None:
        return value
    return replace(window_means(typed, own, output, output.limits, parts, exact=value.exact), source=value.source)
