"""Functions of each element: what Relay's operators in floating point compute of it, in NumPy and float32.

Each operator is rounded to float32, as in a runtime that executes them one by one; sigmoid and erf are NumPy's formula
and the C library's, which a runtime's own approximation may miss by the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from match.arithmetic.interface import Float32Array
from match.relay import relay
from match.relay.rewrite import is_call, operands, operator_name, scalar

Function = Callable[..., Float32Array]


def _relu(x: Float32Array) -> Float32Array:
    return np.maximum(x, np.float32(0))


def _sigmoid(x: Float32Array) -> Float32Array:
    return np.float32(1) / (np.float32(1) + np.exp(-x))


def _erf(x: Float32Array) -> Float32Array:
    return np.array([math.erf(float(value)) for value in x.reshape(-1)], np.float32).reshape(x.shape)


_FUNCTIONS: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
    {
        "nn.relu": _relu,
        "sigmoid": _sigmoid,
        "erf": _erf,
        "tanh": np.tanh,
        "exp": np.exp,
        "log": np.log,
        "sqrt": np.sqrt,
        "sin": np.sin,
        "cos": np.cos,
        "atan": np.arctan,
        "sinh": np.sinh,
        "cosh": np.cosh,
        "floor": np.floor,
        "ceil": np.ceil,
        "sign": np.sign,
        "abs": np.abs,
        "negative": np.negative,
        "add": np.add,
        "subtract": np.subtract,
        "multiply": np.multiply,
        "divide": np.divide,
        "power": np.power,
        "maximum": np.maximum,
        "minimum": np.minimum,
    }
)


def function_of(expr: relay.Expr) -> tuple[tuple[relay.Expr, ...], Function] | None:
    """The tensors that operators compute `expr` of, element by element, and all the operators as one function of them.

    All else that they read are single numbers. None if `expr` is no such function.
    """
    order, sources = _operators(expr)
    if not sources or not order:
        return None

    def function(*x: Float32Array) -> Float32Array:
        values: dict[relay.Expr, Any] = dict(zip(sources, x, strict=True))
        with np.errstate(all="ignore"):
            for call in order:
                arguments = [values[operand] if operand in values else scalar(operand) for operand in call.args]
                values[call] = np.asarray(_applied(call, arguments), np.float32)
        return np.broadcast_to(values[order[-1]], np.broadcast_shapes(*(tensor.shape for tensor in x)))

    return tuple(sources), function


def _operators(expr: relay.Expr) -> tuple[list[relay.Call], list[relay.Expr]]:
    """The functions that end in `expr`, in order of computation, and what they read beside single numbers."""
    order: list[relay.Call] = []
    sources: list[relay.Expr] = []
    seen: set[relay.Expr] = set()
    pending = [(expr, False)]
    while pending:
        current, complete = pending.pop()
        if complete and isinstance(current, relay.Call):
            order.append(current)
        elif current not in seen:
            seen.add(current)
            if is_call(current, "clip", "nn.leaky_relu", *_FUNCTIONS):
                pending += [(current, True), *((operand, False) for operand in operands(current))]
            elif scalar(current) is None:
                sources.append(current)
    return order, sources


def _applied(call: relay.Call, arguments: list[Any]) -> Any:
    x = arguments[0]
    if is_call(call, "clip"):
        return np.clip(x, np.float32(call.attrs.a_min), np.float32(call.attrs.a_max))
    if is_call(call, "nn.leaky_relu"):
        slope: Float32Array = np.where(x < 0, np.float32(call.attrs.alpha), np.float32(1))
        return x * slope
    return _FUNCTIONS[operator_name(call)](*arguments)
