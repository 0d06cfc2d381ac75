"""Networks on their way to other processes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from match.frontend.model import Model
from match.graph.opaque import Function
from match.graph.stored import loaded, stored
from match.graph.value import Graph

if TYPE_CHECKING:
    from match.relay import tvm


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
        integer = None if self._integer is None else loaded(self._integer, _function)
        return ReadNetwork(replace(self._model, network=_read(self._network)), integer)


def _written(network: Graph | tvm.IRModule) -> str | bytes:
    """A graph as bytes, or a Relay module as TVM writes it."""
    if isinstance(network, Graph):
        return stored(network)
    from match.relay import tvm

    return tvm.ir.save_json(network)


def _read(written: str | bytes) -> Graph | tvm.IRModule:
    if isinstance(written, bytes):
        return loaded(written, _function)
    from match.relay import tvm

    return tvm.ir.load_json(written)


def _function(written: str) -> Function:
    """What computes an operator without a class."""
    from match.relay.graph_reader import RelayFunction

    return RelayFunction.of(written)
