"""Products of rows whose reshapes, to one axis of rows and back, go: what is behind them is by rows, too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from match.graph.make import reshaped
from match.graph.moves import Move
from match.graph.reals import RealProduct
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed, readers

Readers = Mapping[Value, Sequence[Value | None]]


def with_products_of_rows(graph: Graph) -> Graph:
    """The graph with products of the rows of tensors of any shape."""
    return rewrite(graph, partial(_rule, readers(graph)))


def _rule(read: Readers, value: Value, original: Value) -> Value:
    if not _is_reshape(value) or not isinstance(value.inputs[0].operator, RealProduct):
        return value
    product = value.inputs[0]
    if value.shape[-1:] != product.shape[-1:] or len(read[original.inputs[0]]) > 1:
        return value
    x, *weights = product.inputs
    rows = x.inputs[0] if _is_reshape(x) else x
    made = computed(RealProduct(), reshaped(rows, (*value.shape[:-1], x.shape[-1])), *weights, exact=product.exact)
    return replace(made, source=value.source or product.source)


def _is_reshape(value: Value) -> bool:
    return isinstance(value.operator, Move) and value.operator.keeps_order
