"""Functions of each element that Relay calls by QNN operators of their own become tables, as TVM makes them.

For most of these operators TVM's build has a table of NumPy's numbers, for `qnn.leaky_relu` fixed point.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from match.arithmetic.interface import Float32Array
from match.graph.make import lookup
from match.relay import relay, tvm
from match.relay.graph_reader import Fragment
from match.relay.qnn import quantization
from match.relay.rewrite import constant, dtype, is_8bit, is_call, operator_name, scalar


def _hardswish(x: Float32Array) -> Float32Array:
    return (x * np.clip(x + np.float32(3), 0, 6) / np.float32(6)).astype(np.float32)


def _erf(x: Float32Array) -> Float32Array:
    return np.array([math.erf(number) for number in x.tolist()], np.float32)


_FUNCTIONS: MappingProxyType[str, Callable[[Any], Any]] = MappingProxyType(
    {
        "qnn.sqrt": np.sqrt,
        "qnn.rsqrt": lambda x: 1 / np.sqrt(x),
        "qnn.exp": np.exp,
        "qnn.sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "qnn.hardswish": _hardswish,
        "qnn.tanh": np.tanh,
        "qnn.log": np.log,
        "qnn.abs": np.abs,
        "qnn.erf": _erf,
    }
)
"""As tvm.relay.qnn.op.legalizations has them."""

_LEAKY = "qnn.leaky_relu"


def read_function(call: relay.Call) -> Fragment | None:
    """A function of 8 bits whose scales and zero points are constants of one number; None for other calls."""
    if not is_call(call, *_FUNCTIONS, _LEAKY) or not is_8bit(call) or not is_8bit(call.args[0]):
        return None
    x, *parameters = call.args
    own = quantization(parameters[0], parameters[1], dtype(x))
    if own is None or any(scalar(parameter) is None for parameter in parameters[2:]):
        return None
    if is_call(call, _LEAKY):
        values = relay.const(own.levels.astype(own.dtype))
        outputs = _evaluated(relay.Call(call.op, [values, *parameters], call.attrs))
    else:
        with np.errstate(all="ignore"):
            numbers = _FUNCTIONS[operator_name(call)](own.numbers).astype(np.float32)
        outputs = _evaluated(relay.qnn.op.quantize(relay.const(numbers), *parameters[2:], out_dtype=dtype(call)))
    return Fragment((x,), partial(lookup, outputs=outputs))


def _evaluated(expr: relay.Expr) -> Any:
    """What TVM computes of a QNN operator on constants."""
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([], expr)))
    lowered = relay.qnn.transform.CanonicalizeOps()(module)
    outputs = constant(relay.transform.FoldConstantExpr(lowered["main"].body, lowered))
    assert outputs is not None, "constants alone"
    return outputs
