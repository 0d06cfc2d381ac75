"""The largest and the smallest of integers of 8 bits along axes become pooling, which modules have."""

from __future__ import annotations

from dataclasses import replace

from match.graph.integers import Extreme
from match.graph.make import reshaped
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value
from match.quantized.largest import pooled_largest, pooled_smallest


def with_pooled_extremes(graph: Graph) -> Graph:
    """The graph with pooling in the place of extremes."""
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    del original
    extreme = value.operator
    if not isinstance(extreme, Extreme) or value.dtype not in ("int8", "uint8"):
        return value
    (x,) = value.inputs
    pooled = (pooled_largest if extreme.largest else pooled_smallest)(x, extreme.axes)
    return replace(reshaped(pooled, value.shape), source=value.source)
