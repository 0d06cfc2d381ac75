"""Recurrent layers of all kinds of cells. TVM has no code for their operators: what no module takes is `unrolled`."""

from __future__ import annotations

from match.graph.recurrent import Gru, Lstm
from match.ir.graph import Tensor
from match.relay import GRU, GRU_RESET_FIRST, LSTM, relay, tvm
from match.relay.graph import post_order
from match.relay.gru import GruSteps, gru, read_gru
from match.relay.lstm import LstmSteps, lstm, read_lstm
from match.relay.objects import main_function
from match.relay.read import Read
from match.relay.rewrite import New, dtype, is_call, rewrite, shape


def recurrent(layer: Lstm | Gru, x: relay.Expr) -> relay.Expr:
    """The operator for all steps of a layer."""
    return lstm(layer, x) if isinstance(layer, Lstm) else gru(layer, x)


def read_recurrent(expr: relay.Expr) -> Read[Lstm | Gru] | None:
    """The layer that a typed expression is."""
    return read_lstm(expr) or read_gru(expr)


def in_steps(layer: Lstm | Gru, x: relay.Expr, tensor: Tensor) -> relay.Expr:
    """The states of all steps of a layer, each by operators of its own; `tensor` is what its input is."""
    each = LstmSteps(layer, tensor.dtype) if isinstance(layer, Lstm) else GruSteps(layer, tensor.dtype)
    steps, batch, _ = tensor.shape
    return each.unrolled(x, steps, batch)


def unrolled(call: relay.Call, new: New) -> relay.Expr | None:
    """The states of all steps, each by operators of its own; None for calls of other operators."""
    found = read_recurrent(call)
    if found is None:
        return None
    (x,) = found.operands
    return in_steps(found.operator, new(x), Tensor(shape(x), dtype(x)))


def without_recurrent(module: tvm.IRModule) -> tvm.IRModule:
    """A network that TVM can compile: each of these operators as those of all its steps; types inferred."""
    found = any(is_call(expr, LSTM, GRU, GRU_RESET_FIRST) for expr in post_order(main_function(module)))
    return rewrite(module, unrolled) if found else module
