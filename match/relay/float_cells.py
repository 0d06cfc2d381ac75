"""Recurrent layers in floating point: a Relay operator for all steps of a direction, and the operators of each step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from match.graph.cells import GRU_GATES, LSTM_GATES, RealCells
from match.relay import FLOAT_CELLS, relay, tvm
from match.relay.rewrite import New, constant, is_call, shape, with_place

_Step = Callable[[relay.Expr, relay.Expr, relay.Expr], tuple[relay.Expr, relay.Expr]]
"""From sums over a step's input, states and what cells remember to what they remember, and states, after the step."""

_ALL = slice(None)
"""Gates of a layer."""


@dataclass(frozen=True, eq=False)
class FloatCells:
    """A layer of recurrent cells, and its input x, float32, shape (steps, batch, features)."""

    x: relay.Expr
    cells: RealCells

    def build(self) -> relay.Expr:
        """The states of all steps, shape (steps, batch, units)."""
        cells = self.cells
        arrays = (cells.input_weights, cells.state_weights, cells.biases)
        constants = [relay.const(array) for array in (*arrays, np.array(cells.backwards), np.array(cells.reset_first))]
        return relay.Call(tvm.ir.Op.get(FLOAT_CELLS), [self.x, *constants])


def read_cells(expr: relay.Expr) -> FloatCells | None:
    """The layer that an expression is."""
    values = [constant(argument) for argument in expr.args[1:]] if is_call(expr, FLOAT_CELLS) else []
    arrays = [value for value in values if value is not None]
    if not arrays or len(arrays) < len(values):
        return None
    input_weights, state_weights, biases, backwards, reset_first = arrays
    cells = RealCells(
        input_weights=input_weights,
        state_weights=state_weights,
        biases=biases,
        backwards=bool(backwards),
        reset_first=bool(reset_first),
    )
    return FloatCells(expr.args[0], cells)


def unrolled_cells(call: relay.Call, new: New) -> relay.Expr | None:
    """The states of all steps, each by operators of its own; None for calls of other operators."""
    found = read_cells(call)
    if found is None:
        return None
    cells, (steps, batch, features) = found.cells, shape(found.x)
    rows = relay.reshape(new(found.x), (steps * batch, features))
    given = relay.split(_Sums(cells, 0).of(rows), steps, axis=0)
    state = memory = relay.const(np.zeros((batch, cells.units), np.float32))
    step = _step_of(cells)
    states: list[relay.Expr] = [state] * steps
    for at in reversed(range(steps)) if cells.backwards else range(steps):
        memory, state = step(given[at], state, memory)
        states[at] = state
    return with_place(relay.stack(states, 0), call)


class _Sums:
    """Those of some gates over inputs (part 0) or states (1), side by side, with constants that all steps share."""

    def __init__(self, found: RealCells, part: int, of: slice = _ALL) -> None:
        weights = (found.input_weights, found.state_weights)[part][of]
        gates, units, depth = weights.shape
        self._weights = relay.const(weights.reshape(gates * units, depth))
        self._biases = relay.const(found.biases[part, of].reshape(-1))

    def of(self, vectors: relay.Expr) -> relay.Expr:
        return relay.add(relay.nn.dense(vectors, self._weights), self._biases)


def _step_of(found: RealCells) -> _Step:
    if found.reset_first:
        gates, candidate = (_Sums(found, 1, of) for of in (slice(2), slice(2, 3)))
        return lambda fed, state, _: _gru_reset_first(fed, gates.of(state), state, candidate)
    back, step = _Sums(found, 1), _lstm if found.kind == "LSTM" else _gru
    return lambda fed, state, memory: step(fed, back.of(state), memory)


def _lstm(fed: relay.Expr, back: relay.Expr, memory: relay.Expr) -> tuple[relay.Expr, relay.Expr]:
    *gates, fresh = relay.split(relay.add(fed, back), LSTM_GATES, axis=1)
    let_in, forget, let_out = map(relay.sigmoid, gates)
    memory = relay.add(relay.multiply(forget, memory), relay.multiply(let_in, relay.tanh(fresh)))
    return memory, relay.multiply(let_out, relay.tanh(memory))


def _gru(fed: relay.Expr, back: relay.Expr, memory: relay.Expr) -> tuple[relay.Expr, relay.Expr]:
    inputs, states = (relay.split(sums, GRU_GATES, axis=1) for sums in (fed, back))
    update, reset = (relay.sigmoid(relay.add(inputs[gate], states[gate])) for gate in range(2))
    fresh = relay.tanh(relay.add(inputs[2], relay.multiply(reset, states[2])))
    return _between(fresh, update, memory)


def _gru_reset_first(
    fed: relay.Expr, back: relay.Expr, state: relay.Expr, candidate: _Sums
) -> tuple[relay.Expr, relay.Expr]:
    """`back` are the sums of update and reset gates over states."""
    inputs, states = relay.split(fed, GRU_GATES, axis=1), relay.split(back, 2, axis=1)
    update, reset = (relay.sigmoid(relay.add(inputs[gate], states[gate])) for gate in range(2))
    fresh = relay.tanh(relay.add(inputs[2], candidate.of(relay.multiply(reset, state))))
    return _between(fresh, update, state)


def _between(fresh: relay.Expr, update: relay.Expr, memory: relay.Expr) -> tuple[relay.Expr, relay.Expr]:
    """States of a GRU after a step, twice."""
    state = relay.add(fresh, relay.multiply(update, relay.subtract(memory, fresh)))
    return state, state
