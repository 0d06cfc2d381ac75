"""Networks in integer form as Relay."""

from __future__ import annotations

from typing import Literal

from match.frontend.model import Model
from match.passes.pipeline import integer_network
from match.relay import tvm
from match.relay.graph_writer import write_graph


def integer_relay(
    model: Model, activations: Literal["uint8"] | None = None, *, exact: bool = True, quantize_recurrent: bool = False
) -> tvm.IRModule:
    """The network of `integer_network` as a Relay module."""
    graph = integer_network(model, activations, exact=exact, quantize_recurrent=quantize_recurrent)
    return write_graph(graph).module
