"""Networks on their way to other processes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from match.frontend.model import Model
from match.relay import tvm
from match.relay.graph_reader import GraphReading, read_graph
from match.relay.objects import main_function


@dataclass(frozen=True, eq=False)
class ReadNetwork:
    """A network as it was read, and in integer form where all targets have the same."""

    model: Model
    integer: GraphReading | None


class SentNetwork:
    """A network on its way to workers, as text that TVM reads once."""

    def __init__(self, network: ReadNetwork) -> None:
        model, integer = network.model, network.integer
        self._module = tvm.ir.save_json(model.module)
        self._model = replace(model, module=None, data=None, original=None)
        self._integer = None if integer is None else tvm.ir.save_json(integer.module)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "network"}

    @cached_property
    def network(self) -> ReadNetwork:
        """The network."""
        integer = None if self._integer is None else read_graph(main_function(tvm.ir.load_json(self._integer)))
        return ReadNetwork(replace(self._model, module=tvm.ir.load_json(self._module)), integer)
