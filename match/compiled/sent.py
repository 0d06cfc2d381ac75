"""Networks on their way to other processes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from match.frontend.model import Model
from match.graph.stored import loaded, stored
from match.graph.value import Graph
from match.relay import tvm
from match.relay.graph_reader import RelayFunction


@dataclass(frozen=True, eq=False)
class ReadNetwork:
    """A network as it was read, and in integer form where all targets have the same."""

    model: Model
    integer: Graph | None


class SentNetwork:
    """A network on its way to workers, as text that is read once."""

    def __init__(self, network: ReadNetwork) -> None:
        model, integer = network.model, network.integer
        self._network = _written(model.network)
        self._model = replace(model, network=None, data=None, original=None)
        self._integer = None if integer is None else stored(integer)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "network"}

    @cached_property
    def network(self) -> ReadNetwork:
        """The network."""
        integer = None if self._integer is None else loaded(self._integer, RelayFunction.of)
        return ReadNetwork(replace(self._model, network=_read(self._network)), integer)


def _written(network: Graph | tvm.IRModule) -> str | bytes:
    """A graph as bytes, or a Relay module as TVM writes it."""
    return stored(network) if isinstance(network, Graph) else tvm.ir.save_json(network)


def _read(written: str | bytes) -> Graph | tvm.IRModule:
    return tvm.ir.load_json(written) if isinstance(written, str) else loaded(written, RelayFunction.of)
