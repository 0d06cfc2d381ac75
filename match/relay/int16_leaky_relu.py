"""LeakyReLU of 16 bits as Relay operators (`match.graph.elements.LeakyRelu`)."""

from __future__ import annotations

import numpy as np

from match.graph.elements import LeakyRelu
from match.ir.dtypes import value_range
from match.relay import integer_form, relay
from match.relay.fixed_point import read_scaled, scaled
from match.relay.integer_form import int64
from match.relay.read import Read
from match.relay.rewrite import dtype, is_call, reached, same


def int16_leaky_relu(operator: LeakyRelu, x: relay.Expr) -> relay.Expr:
    """The function of a tensor, int16."""
    wide = relay.cast(x, "int64")
    above, below = (scaled(wide, *scale) for scale in operator.scales)
    below = relay.negative(below) if operator.falls else below
    result = relay.where(relay.greater_equal(wide, int64(0)), above, below)
    return integer_form.saturate(relay.cast(result, "int32"), value_range("int16"), "int16")


def read_int16_leaky_relu(root: relay.Expr) -> Read[LeakyRelu] | None:
    """Reads a function back from a typed expression. None unless `int16_leaky_relu` gives just this expression."""
    if not is_call(root, "cast") or dtype(root) != "int16":
        return None
    choice = reached(root, "cast", "clip", "cast")
    if choice is None or not is_call(choice, "where"):
        return None
    scales = [read_scaled(branch) for branch in choice.args[1:]]
    x = None if scales[0] is None else reached(scales[0][0], "cast")
    if x is None or dtype(x) != "int16":
        return None
    found = LeakyRelu(scales=np.array([scale[1:] for scale in scales if scale is not None], np.int64))
    return Read(found, (x,)) if len(found.scales) == 2 and same(root, int16_leaky_relu(found, x)) else None
