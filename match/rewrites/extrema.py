"""The larger or the smaller of two tensors of 8 bits, as modules have it."""

from __future__ import annotations

from dataclasses import replace

from match.graph.integers import Elementwise
from match.graph.pairs import Extremum
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value

_NARROW = "int8", "uint8"
_EXTREMA = "maximum", "minimum"


def with_extrema(graph: Graph) -> Graph:
    """The graph with an `Extremum` for `maximum` and `minimum` of two tensors of one type of 8 bits."""
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    del original
    operator = value.operator
    if not isinstance(operator, Elementwise) or operator.function not in _EXTREMA:
        return value
    if value.dtype not in _NARROW or any(x.dtype != value.dtype for x in value.inputs):
        return value
    return replace(value, operator=Extremum(largest=operator.function == "maximum", dtype=value.dtype))
