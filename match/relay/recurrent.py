"""Recurrent layers of all kinds of cells. TVM has no code for their operators: what no module takes is `unrolled`."""

from __future__ import annotations

from match.graph.recurrent import Gru, Lstm
from match.ir.graph import Tensor
from match.relay import relay
from match.relay.gru import GruSteps
from match.relay.lstm import LstmSteps


def in_steps(layer: Lstm | Gru, x: relay.Expr, tensor: Tensor) -> relay.Expr:
    """The states of all steps of a layer, each by operators of its own; `tensor` is what its input is."""
    each = LstmSteps(layer, tensor.dtype) if isinstance(layer, Lstm) else GruSteps(layer, tensor.dtype)
    steps, batch, _ = tensor.shape
    return each.unrolled(x, steps, batch)
