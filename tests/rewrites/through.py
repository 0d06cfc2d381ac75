"""Rewrites of the graph applied to Relay: read, rewritten, written."""

from __future__ import annotations

from collections.abc import Callable

from match.graph.value import Graph
from match.relay import tvm
from match.relay.graph_reader import read_graph
from match.relay.graph_writer import write_graph
from match.relay.objects import main_function


def rewritten(module: tvm.IRModule, rewrite: Callable[[Graph], Graph]) -> tvm.IRModule:
    """The module, types inferred, whose "main" is the rewritten graph of this one's."""
    reading = read_graph(main_function(module))
    return tvm.IRModule.from_expr(write_graph(rewrite(reading.graph)).main)
