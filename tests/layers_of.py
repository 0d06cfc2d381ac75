"""The layers of networks that are there as graphs or as Relay modules."""

from __future__ import annotations

from collections.abc import Iterable

from match.graph.value import Graph
from match.partitioning.own import with_own_operators
from match.partitioning.pattern import Match, Rejection, find_layers
from match.relay import tvm
from match.relay.graph_reader import read_graph
from match.relay.objects import main_function
from match.target.own import OwnOperator


def graph_of(network: Graph | tvm.IRModule, own: Iterable[OwnOperator] = ()) -> Graph:
    """A network in integer form: "main" of a typed module.

    Raises:
        TargetError: an operator of a module's own cannot be read.
    """
    graph = network if isinstance(network, Graph) else read_graph(main_function(network)).graph
    return with_own_operators(graph, own)


def find(network: Graph | tvm.IRModule, own: Iterable[OwnOperator] = ()) -> tuple[Match | Rejection, ...]:
    """All layers of `graph_of`, see `find_layers`."""
    return find_layers(graph_of(network, own))
