"""Recurrent layers of real numbers, written out step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from match.graph.cells import RealCells
from match.graph.make import concatenated, constant, cut, reshaped
from match.graph.reals import RealFunction, RealProduct
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed

_Step = Callable[[Value, Value, Value], tuple[Value, Value]]
"""From sums over a step's input, states and what cells remember to what they remember, and states, after the step."""

_ALL, _BEFORE_CANDIDATE, _CANDIDATE = slice(None), slice(2), slice(2, 3)
"""Gates of a layer; the last two of a GRU."""


def with_cells_written_out(graph: Graph) -> Graph:
    """The graph with each step of recurrent layers by operators of its own."""

    def rule(value: Value, original: Value) -> Value:
        del original
        return _Cells(value, value.operator).states if isinstance(value.operator, RealCells) else value

    return rewrite(graph, rule)


class _Cells:
    """Writes the steps of a layer; all that it writes has the layer's name in the model."""

    def __init__(self, value: Value, cells: RealCells) -> None:
        self._value, self._cells = value, cells
        self._constants: dict[tuple[int, int], tuple[Value, Value]] = {}

    @property
    def states(self) -> Value:
        """The states of all steps, one after the other."""
        cells, (x,) = self._cells, self._value.inputs
        steps, batch, features = x.shape
        fed = self._sums(reshaped(x, (steps * batch, features)), 0)
        state = memory = constant(np.zeros((batch, cells.units), np.float32))
        states = [state] * steps
        step = self._step
        for at in reversed(range(steps)) if cells.backwards else range(steps):
            memory, state = step(self._named(cut(fed, 0, at * batch, (at + 1) * batch)), state, memory)
            states[at] = state
        return self._named(reshaped(self._named(concatenated(states, 0)), self._value.shape))

    @property
    def _step(self) -> _Step:
        if self._cells.kind == "LSTM":
            return self._lstm
        return self._gru_reset_first if self._cells.reset_first else self._gru

    def _lstm(self, fed: Value, state: Value, memory: Value) -> tuple[Value, Value]:
        sums = self._function("add", fed, self._sums(state, 1))
        let_in, forget, let_out = (self._function("sigmoid", self._gate(sums, gate)) for gate in range(3))
        fresh = self._function("tanh", self._gate(sums, 3))
        kept, taken = self._function("multiply", forget, memory), self._function("multiply", let_in, fresh)
        memory = self._function("add", kept, taken)
        return memory, self._function("multiply", let_out, self._function("tanh", memory))

    def _gru(self, fed: Value, state: Value, memory: Value) -> tuple[Value, Value]:
        update, reset, back = self._gru_gates(fed, self._sums(state, 1))
        return self._between(fed, self._function("multiply", reset, back), update, memory)

    def _gru_reset_first(self, fed: Value, state: Value, memory: Value) -> tuple[Value, Value]:
        update, reset, _ = self._gru_gates(fed, self._sums(state, 1, _BEFORE_CANDIDATE))
        left = self._sums(self._function("multiply", reset, state), 1, _CANDIDATE)
        return self._between(fed, left, update, memory)

    def _gru_gates(self, fed: Value, back: Value) -> tuple[Value, Value, Value]:
        """The update and the reset gate, and the last gate's sums over states."""
        totals = (self._function("add", self._gate(fed, gate), self._gate(back, gate)) for gate in range(2))
        update, reset = (self._function("sigmoid", total) for total in totals)
        return update, reset, self._gate(back, back.shape[1] // self._cells.units - 1)

    def _between(self, fed: Value, left: Value, update: Value, memory: Value) -> tuple[Value, Value]:
        """States of a GRU after a step, twice; `left` is what the candidate remembers."""
        fresh = self._function("tanh", self._function("add", self._gate(fed, 2), left))
        apart = self._function("multiply", update, self._function("subtract", memory, fresh))
        state = self._function("add", fresh, apart)
        return state, state

    def _sums(self, vectors: Value, part: int, gates: slice = _ALL) -> Value:
        """The sums of gates over inputs (part 0) or states (1), side by side, with their biases."""
        return self._named(computed(RealProduct(), vectors, *self._numbers(part, gates), exact=False))

    def _numbers(self, part: int, gates: slice) -> tuple[Value, Value]:
        """The weights and the biases of gates, the same tensors for all steps."""
        weights = (self._cells.input_weights, self._cells.state_weights)[part][gates]
        matrix = np.ascontiguousarray(weights.reshape(-1, weights.shape[2]).T)
        made = constant(matrix), constant(self._cells.biases[part, gates].reshape(-1))
        return self._constants.setdefault((part, len(weights)), made)

    def _gate(self, sums: Value, gate: int) -> Value:
        units = self._cells.units
        return self._named(cut(sums, 1, gate * units, (gate + 1) * units))

    def _function(self, name: str, *operands: Value) -> Value:
        return self._named(computed(RealFunction(function=name), *operands, exact=False))

    def _named(self, made: Value) -> Value:
        return made if made.source else replace(made, source=self._value.source)
