"""Networks that are made of operators of the graph."""

from __future__ import annotations

from match.graph.value import Graph, Value, ordered
from match.ir.graph import Tensor


def given(name: str, *shape: int, dtype: str = "uint8") -> Value:
    """An input."""
    return Value(Tensor(shape, dtype), source=name)


def graph(*outputs: Value) -> Graph:
    """The graph of some tensors, whose inputs come in the order in which they are read."""
    return Graph(tuple(value for value in ordered(outputs) if value.operator is None), outputs)
