"""LSTM layers in integers: a Relay operator for all steps, and the operators of each step that compute the same.

The arithmetic is that of TFLite Micro's kernel of UNIDIRECTIONAL_SEQUENCE_LSTM for 8 bits with a cell of 16. A gate's
sums over x and over the states of the step before become 16 bits each, in steps of 2**-12, and are added. The logistic
function and the hyperbolic tangent give 16 bits in steps of 2**-15. A cell has steps of a power of two. Before the
first step cells are 0 and states are the output's zero point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.arithmetic import recurrent
from match.arithmetic.tflite import multiply_by
from match.ir.requantization import Int64Array
from match.relay import LSTM, relay
from match.relay.fixed_point import alone, scaled
from match.relay.gates import FUNCTION_POWER, GATE_POWER, columns, logistic, narrow, tanh, tanh_shift
from match.relay.recurrent_layer import RecurrentLayer, read_operands

POWERS = -15, 0
"""Of two, from the least to the most, that a cell may have steps of."""

MOST = 32767
"""The largest 16-bit number: the limit of cells that are not clipped further."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Lstm(RecurrentLayer):
    """A layer of LSTM cells; gates are in the order input, forget, output, cell.

    scales: shape (10, 2): behind those of gates those of what a step adds to a cell, and of what it shows of a cell.
    power: a cell has steps of ``2**power``. limit: its largest magnitude.
    """

    power: int
    limit: int

    def build(self, x: relay.Expr) -> relay.Expr:
        """The operator, on another input."""
        return self.call(LSTM, x, np.array([self.power, self.limit]))

    def step(self, fed: relay.Expr, state: relay.Expr | None, memory: relay.Expr) -> tuple[relay.Expr, relay.Expr]:
        """Cells and states after a step."""
        units, sums = self.units, narrow(fed)
        if state is not None:  # before the first step all states are zero, and so are their sums
            sums = alone(narrow(relay.add(sums, narrow(self.sums(state, 1)))))
        gated = alone(logistic(columns(sums, 0, 3 * units)))
        let_in, forget, let_out = (columns(gated, gate * units, units) for gate in range(3))
        mantissa, exponent = np.array([1 << 30]), np.array([FUNCTION_POWER + 1])
        kept = alone(narrow(scaled(relay.multiply(forget, memory), mantissa, exponent)))
        fresh = relay.multiply(let_in, alone(tanh(columns(sums, 3 * units, units), GATE_POWER)))
        added = alone(narrow(scaled(fresh, *self.scales[-2])))
        memory = narrow(relay.add(kept, added))
        if self.limit < MOST:
            memory = relay.clip(memory, -self.limit, self.limit)
        memory = alone(memory)
        return memory, self.shown(relay.multiply(alone(tanh(memory, self.power)), let_out))

    def next(self, fed: Int64Array, state: Int64Array | None, memory: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Cells, and what they show."""
        sums = recurrent.narrow(fed)
        if state is not None:
            sums = recurrent.narrow(sums + recurrent.narrow(self.scaled_sums(state, 1)))
        let_in, forget, let_out = recurrent.logistic_in_16_bits(sums[:3])
        kept = recurrent.narrow(multiply_by(forget * memory, *np.array([1 << 30, FUNCTION_POWER + 1])))
        added = multiply_by(let_in * recurrent.tanh_in_16_bits(3 * sums[3]), *self.scales[-2])
        memory = recurrent.narrow(kept + recurrent.narrow(added)).clip(-self.limit - (self.limit == MOST), self.limit)
        left = tanh_shift(self.power)
        moved = 3 * memory << left if left >= 0 else (3 * memory + (1 << (-left - 1))) >> -left
        return memory, recurrent.tanh_in_16_bits(moved) * let_out


def read_lstm(expr: relay.Expr) -> Lstm | None:
    """The layer that a typed expression is."""
    read = read_operands(expr, LSTM)
    return None if read is None else Lstm(**read.common, power=int(read.own[0]), limit=int(read.own[1]))
