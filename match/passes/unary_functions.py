"""Functions of one value: what Relay's elementwise operators compute, in NumPy and float32."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from match.arithmetic.interface import Float32Array
from match.relay import relay
from match.relay.rewrite import is_call, operator_name

Function = Callable[[Float32Array], Float32Array]


def _relu(x: Float32Array) -> Float32Array:
    return np.maximum(x, np.float32(0))


def _sigmoid(x: Float32Array) -> Float32Array:
    return np.float32(1) / (np.float32(1) + np.exp(-x))


_FUNCTIONS: dict[str, Function] = {
    "nn.relu": _relu,
    "sigmoid": _sigmoid,
    "tanh": np.tanh,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "negative": np.negative,
}


def unary_chain(expr: relay.Expr) -> tuple[relay.Expr, Function | None]:
    """What the functions around `expr` are applied to, and all of them as one; None where there are none."""
    chain: list[Function] = []
    while is_call(expr, "clip", "nn.leaky_relu", *_FUNCTIONS):
        chain.append(_function(expr))
        expr = expr.args[0]

    def composed(x: Float32Array) -> Float32Array:
        for function in reversed(chain):
            x = function(x)
        return x

    return expr, composed if chain else None


def _function(call: relay.Call) -> Function:
    if is_call(call, "clip"):
        low, high = np.float32(call.attrs.a_min), np.float32(call.attrs.a_max)
        return lambda x: np.clip(x, low, high)
    if is_call(call, "nn.leaky_relu"):
        slope = np.float32(call.attrs.alpha)
        return lambda x: np.where(x < 0, x * slope, x)
    return _FUNCTIONS[operator_name(call)]
