"""GRU layers in integers: a Relay operator for all steps, and the operators of each step that compute the same.

Of an input x and the states h of the step before, a step computes::

    update    = logistic(Wz x + Rz h)
    reset     = logistic(Wr x + Rr h)
    candidate = tanh(Wn x + reset * (Rn h + b))
    h         = candidate + update * (h - candidate)

With `reset_first`, which is ONNX's default (`linear_before_reset` is 0), the candidate is::

    candidate = tanh(Wn x + Rn (reset * h) + b)

Each product with x and with h becomes a number in steps of 2**-12; their sums, and what the reset gate multiplies, are
clipped to 16 bits. The functions give 16 bits in steps of 2**-15, and so has h, which starts at 0. Products with a gate
are rounded half up. The products with weights read h, and reset * h, as the output has h, in 8 bits.
"""

from __future__ import annotations

from match.graph.recurrent import ALL_GATES, BEFORE_CANDIDATE, CANDIDATE, FUNCTION_POWER, GATE_POWER, Gru
from match.relay import relay
from match.relay.fixed_point import alone
from match.relay.gates import columns, logistic, narrow, tanh
from match.relay.integer_form import int64
from match.relay.recurrent_layer import Steps

_HALF = 1 << (-FUNCTION_POWER - 1)


class GruSteps(Steps[Gru]):
    """The steps of a layer of GRU cells."""

    def step(self, fed: relay.Expr, state: relay.Expr | None, memory: relay.Expr) -> tuple[relay.Expr, relay.Expr]:
        """States with 16 bits, and with 8, after a step."""
        units, reset_first = self.layer.units, self.layer.reset_first
        gates, remembered = columns(fed, 0, 2 * units), int64(self.layer.biases.reshape(1, -1))
        if state is not None:
            sums = self.sums(state, 1, BEFORE_CANDIDATE if reset_first else ALL_GATES)
            gates = relay.add(gates, columns(sums, 0, 2 * units))
            if not reset_first:
                remembered = relay.add(remembered, columns(sums, 2 * units, units))
        gated = alone(logistic(narrow(gates)))
        update, reset = (columns(gated, gate * units, units) for gate in range(2))
        if not reset_first:
            remembered = _of_one(relay.multiply(reset, narrow(remembered)))
        elif state is not None:
            left = self.shown(_of_one(relay.multiply(reset, memory)))
            remembered = relay.add(remembered, self.sums(left, 1, CANDIDATE))
        candidate = alone(narrow(relay.add(columns(fed, 2 * units, units), remembered)))
        fresh = alone(tanh(candidate, GATE_POWER))
        kept = _of_one(relay.multiply(update, relay.subtract(memory, fresh)))
        memory = alone(relay.add(fresh, kept))
        return memory, self.shown(memory)


def _of_one(product: relay.Expr) -> relay.Expr:
    """A product with a gate without the gate's bits, rounded half up."""
    return relay.right_shift(relay.add(product, int64(_HALF)), int64(-FUNCTION_POWER))
