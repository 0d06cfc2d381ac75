"""The layers of networks that are there as Relay modules."""

from __future__ import annotations

from collections.abc import Iterable

from match.graph.value import Graph
from match.partitioning.own import with_own_operators
from match.partitioning.pattern import Match, Rejection, find_layers
from match.relay import tvm
from match.relay.graph_reader import read_graph
from match.relay.objects import main_function
from match.target.own import OwnOperator


def graph_of(module: tvm.IRModule, own: Iterable[OwnOperator] = ()) -> Graph:
    """The graph of "main" of a typed module, in integer form.

    Raises:
        TargetError: an operator of a module's own cannot be read.
    """
    graph, own = read_graph(main_function(module)).graph, tuple(own)
    return with_own_operators(graph, own) if own else graph


def find(module: tvm.IRModule, own: Iterable[OwnOperator] = ()) -> tuple[Match | Rejection, ...]:
    """All layers of `graph_of`, see `find_layers`."""
    return find_layers(graph_of(module, own))
