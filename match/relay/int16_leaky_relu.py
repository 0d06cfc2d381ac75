"""LeakyReLU of 16 bits as Relay operators (`match.graph.elements.LeakyRelu`)."""

from __future__ import annotations

from match.graph.elements import LeakyRelu
from match.ir.dtypes import value_range
from match.relay import integer_form, relay
from match.relay.fixed_point import scaled
from match.relay.integer_form import int64


def int16_leaky_relu(operator: LeakyRelu, x: relay.Expr) -> relay.Expr:
    """The function of a tensor, int16."""
    wide = relay.cast(x, "int64")
    above, below = (scaled(wide, *scale) for scale in operator.scales)
    below = relay.negative(below) if operator.falls else below
    result = relay.where(relay.greater_equal(wide, int64(0)), above, below)
    return integer_form.saturate(relay.cast(result, "int32"), value_range("int16"), "int16")
