"""The logistic function and the hyperbolic tangent of 16 bits as Relay operators (`match.graph.elements.Gate`)."""

from __future__ import annotations

from match.graph.elements import Function, Gate
from match.ir.dtypes import value_range
from match.relay import gates, integer_form, relay
from match.relay.fixed_point import ALONE
from match.relay.integer_form import int64
from match.relay.read import Read
from match.relay.rewrite import dtype, is_call, reached, same, scalar


def int16_gate(gate: Gate, x: relay.Expr) -> relay.Expr:
    """The function of a tensor, int16."""
    place = relay.multiply(relay.cast(x, "int64"), int64(gate.multiplier))
    if gate.shift:
        place = relay.right_shift(relay.add(place, int64(1 << (gate.shift - 1))), int64(gate.shift))
    result = gates.logistic_in_table(place) if gate.function == "logistic" else gates.tanh_in_table(place)
    return integer_form.saturate(relay.cast(result, "int32"), value_range("int16"), "int16")


def read_int16_gate(root: relay.Expr) -> Read[Gate] | None:
    """Reads a function back from a typed expression. None unless `int16_gate` gives just this expression."""
    if not is_call(root, "cast") or dtype(root) != "int16":
        return None
    place, shift = reached(root, "cast", "clip", "cast", "right_shift", "where", "less", ALONE), 0
    if place is not None and is_call(place, "right_shift"):
        bits, place = scalar(place.args[1]), reached(place, "right_shift", "add")
        shift = 0 if bits is None else int(bits)
    multiplier = scalar(place.args[1]) if place is not None and is_call(place, "multiply") else None
    x = None if place is None else reached(place, "multiply", "cast")
    if x is None or multiplier is None or dtype(x) != "int16":
        return None
    functions: tuple[Function, ...] = ("logistic", "tanh")
    found = (Gate(function=one, multiplier=int(multiplier), shift=shift) for one in functions)
    return next((Read(gate, (x,)) for gate in found if same(root, int16_gate(gate, x))), None)
