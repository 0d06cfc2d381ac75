"""The rows of networks that are there as Relay modules."""

from __future__ import annotations

from match.graph.value import Graph
from match.partitioning.pattern import Core, Row, find_layers
from match.partitioning.pattern.rows import rows
from match.relay import tvm
from tests.layers_of import graph_of


def rows_of(module: Graph | tvm.IRModule) -> tuple[Row, ...]:
    """All rows of a typed module in integer form."""
    graph = graph_of(module)
    return rows(graph, find_layers(graph))


def on_core(module: Graph | tvm.IRModule) -> list[Core]:
    """Those that are no layers."""
    return [row for row in rows_of(module) if isinstance(row, Core)]
