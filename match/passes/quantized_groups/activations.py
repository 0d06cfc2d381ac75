"""Activations in front of a quantize, which clip its outputs."""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.ir.dtypes import value_range
from match.relay import relay
from match.relay.rewrite import is_call, scalar


def without_activations(expr: relay.Expr, output: QuantizedType) -> tuple[relay.Expr, tuple[int, int]]:
    """An expression without the activations around it, and the output values that they leave."""
    low, high = value_range(output.dtype)
    while True:
        if is_call(expr, "nn.relu"):
            bounds = 0.0, np.inf
        elif is_call(expr, "clip"):
            bounds = float(expr.attrs.a_min), float(expr.attrs.a_max)
        elif is_call(expr, "maximum") and (least := scalar(expr.args[1])) is not None:
            bounds = float(least), np.inf
        elif is_call(expr, "minimum") and (most := scalar(expr.args[1])) is not None:
            bounds = -np.inf, float(most)
        else:
            return expr, (low, high)
        first, last = (
            int(np.clip(np.rint(np.float32(bound) / output.scale) + output.zero_point, low, high)) for bound in bounds
        )
        low, high = max(low, first), min(high, last)
        expr = expr.args[0]
