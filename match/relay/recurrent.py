"""Recurrent layers of all kinds of cells. TVM has no code for their operators: what no module takes is `unrolled`."""

from __future__ import annotations

from match.relay import GRU, GRU_RESET_FIRST, LSTM, relay, tvm
from match.relay.graph import post_order
from match.relay.gru import Gru, read_gru
from match.relay.lstm import Lstm, read_lstm
from match.relay.objects import main_function
from match.relay.rewrite import New, is_call, rewrite, shape


def read_recurrent(expr: relay.Expr) -> Lstm | Gru | None:
    """The layer that a typed expression is."""
    return read_lstm(expr) or read_gru(expr)


def unrolled(call: relay.Call, new: New) -> relay.Expr | None:
    """The states of all steps, each by operators of its own; None for calls of other operators."""
    found = read_recurrent(call)
    if found is None:
        return None
    steps, batch, _ = shape(found.x)
    return found.unrolled(new(found.x), steps, batch)


def without_recurrent(module: tvm.IRModule) -> tvm.IRModule:
    """A network that TVM can compile: each of these operators as those of all its steps; types inferred."""
    found = any(is_call(expr, LSTM, GRU, GRU_RESET_FIRST) for expr in post_order(main_function(module)))
    return rewrite(module, unrolled) if found else module
