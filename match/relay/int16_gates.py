"""The logistic function and the hyperbolic tangent of 16 bits as Relay operators (`match.graph.elements.Gate`)."""

from __future__ import annotations

from match.graph.elements import Gate
from match.ir.dtypes import value_range
from match.relay import gates, integer_form, relay
from match.relay.integer_form import int64


def int16_gate(gate: Gate, x: relay.Expr) -> relay.Expr:
    """The function of a tensor, int16."""
    place = relay.multiply(relay.cast(x, "int64"), int64(gate.multiplier))
    if gate.shift:
        place = relay.right_shift(relay.add(place, int64(1 << (gate.shift - 1))), int64(gate.shift))
    result = gates.logistic_in_table(place) if gate.function == "logistic" else gates.tanh_in_table(place)
    return integer_form.saturate(relay.cast(result, "int32"), value_range("int16"), "int16")
