"""Networks on their way to other processes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from match.frontend.model import Model
from match.graph.operator import Array
from match.graph.text import arrays, parse, text
from match.graph.value import Graph
from match.relay import tvm
from match.relay.graph_reader import GraphReading, read_graph
from match.relay.graph_writer import write_graph
from match.relay.objects import main_function


@dataclass(frozen=True, eq=False)
class ReadNetwork:
    """A network as it was read, and in integer form where all targets have the same."""

    model: Model
    integer: GraphReading | None


class SentNetwork:
    """A network on its way to workers, as text that is read once."""

    def __init__(self, network: ReadNetwork) -> None:
        model, integer = network.model, network.integer
        self._network = _written(model.network)
        self._model = replace(model, network=None, data=None, original=None)
        graph = isinstance(model.network, Graph)
        self._integer = None if integer is None else _written(integer.graph if graph else integer.module)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "network"}

    @cached_property
    def network(self) -> ReadNetwork:
        """The network."""
        integer = None if self._integer is None else _reading(_read(self._integer))
        return ReadNetwork(replace(self._model, network=_read(self._network)), integer)


_Written = str | tuple[str, dict[str, Array]]
"""A Relay module as TVM writes it, or the text of a graph and its arrays."""


def _written(network: Graph | tvm.IRModule) -> _Written:
    return (text(network), arrays(network)) if isinstance(network, Graph) else tvm.ir.save_json(network)


def _reading(integer: Graph | tvm.IRModule) -> GraphReading:
    return write_graph(integer) if isinstance(integer, Graph) else read_graph(main_function(integer))


def _read(written: _Written) -> Graph | tvm.IRModule:
    return tvm.ir.load_json(written) if isinstance(written, str) else parse(*written)
