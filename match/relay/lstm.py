"""LSTM layers in integers: a Relay operator for all steps, and the operators of each step that compute the same.

The arithmetic is that of TFLite Micro's kernel of UNIDIRECTIONAL_SEQUENCE_LSTM for 8 bits with a cell of 16. A gate's
sums over x and over the states of the step before become 16 bits each, in steps of 2**-12, and are added. The logistic
function and the hyperbolic tangent give 16 bits in steps of 2**-15. A cell has steps of a power of two. Before the
first step cells are 0 and states are the output's zero point.
"""

from __future__ import annotations

import numpy as np

from match.graph.recurrent import FUNCTION_POWER, GATE_POWER, MOST, Lstm
from match.relay import relay
from match.relay.fixed_point import alone, scaled
from match.relay.gates import columns, logistic, narrow, tanh
from match.relay.recurrent_layer import Steps


class LstmSteps(Steps[Lstm]):
    """The steps of a layer of LSTM cells."""

    def step(self, fed: relay.Expr, state: relay.Expr | None, memory: relay.Expr) -> tuple[relay.Expr, relay.Expr]:
        """Cells and states after a step."""
        units, sums = self.layer.units, narrow(fed)
        if state is not None:  # before the first step all states are zero, and so are their sums
            sums = alone(narrow(relay.add(sums, narrow(self.sums(state, 1)))))
        gated = alone(logistic(columns(sums, 0, 3 * units)))
        let_in, forget, let_out = (columns(gated, gate * units, units) for gate in range(3))
        mantissa, exponent = np.array([1 << 30]), np.array([FUNCTION_POWER + 1])
        kept = alone(narrow(scaled(relay.multiply(forget, memory), mantissa, exponent)))
        fresh = relay.multiply(let_in, alone(tanh(columns(sums, 3 * units, units), GATE_POWER)))
        added = alone(narrow(scaled(fresh, *self.layer.scales[-2])))
        memory = narrow(relay.add(kept, added))
        limit = self.layer.limit
        if limit < MOST:
            memory = relay.clip(memory, -limit, limit)
        memory = alone(memory)
        return memory, self.shown(relay.multiply(alone(tanh(memory, self.layer.power)), let_out))
