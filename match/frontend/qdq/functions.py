"""ONNX's functions of each element, written in those that the graph has."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

import numpy as np

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.graph.constants import numbers_of
from match.graph.integers import TYPES, Clip
from match.graph.make import arithmetic, constant
from match.graph.real_functions import number, real, sloped, truth
from match.graph.reals import REAL, RealClip
from match.graph.value import Value, computed

_UNARY = MappingProxyType(
    {
        "Abs": "abs",
        "Acos": "acos",
        "Acosh": "acosh",
        "Asin": "asin",
        "Asinh": "asinh",
        "Atan": "atan",
        "Atanh": "atanh",
        "Ceil": "ceil",
        "Cos": "cos",
        "Cosh": "cosh",
        "Erf": "erf",
        "Exp": "exp",
        "Floor": "floor",
        "Log": "log",
        "Neg": "negative",
        "Round": "round_half_to_even",
        "Sigmoid": "sigmoid",
        "Sign": "sign",
        "Sin": "sin",
        "Sinh": "sinh",
        "Sqrt": "sqrt",
        "Tan": "tan",
        "Tanh": "tanh",
    }
)
_BINARY = MappingProxyType(
    {
        "Add": "add",
        "Div": "divide",
        "Mod": "mod",
        "Mul": "multiply",
        "Pow": "power",
        "PRelu": "prelu",
        "Sub": "subtract",
    }
)
_JOINED = MappingProxyType({"Max": "maximum", "Min": "minimum", "Sum": "add"})

_Function = Callable[[Any, Value], Value]
"""Makes a function of a tensor, with the attributes of an operator."""


def _relu(x: Value) -> Value:
    return computed(RealClip(low=0.0, high=math.inf), x)


def _hard_sigmoid(alpha: float, beta: float, x: Value) -> Value:
    moved = real("add", real("multiply", x, number(alpha)), number(beta))
    return computed(RealClip(low=0.0, high=1.0), moved)


def _elu(slope: float, x: Value) -> Value:
    below = _relu(real("subtract", number(1), real("exp", x)))
    return real("add", real("multiply", number(-slope), below), _relu(x))


def elu(node: Any, x: Value) -> Value:
    """Elu."""
    return _elu(attribute_of(node, "alpha", 1.0), x)


def selu(node: Any, x: Value) -> Value:
    """Selu."""
    slope = attribute_of(node, "alpha", 1.67326319217681884765625)
    return real("multiply", number(attribute_of(node, "gamma", 1.05070102214813232421875)), _elu(slope, x))


def celu(node: Any, x: Value) -> Value:
    """Celu."""
    slope = number(attribute_of(node, "alpha", 1.0))
    below = real("multiply", slope, real("subtract", real("exp", real("divide", x, slope)), number(1)))
    return real("add", real("maximum", number(0), x), real("minimum", number(0), below))


def hard_sigmoid(node: Any, x: Value) -> Value:
    """HardSigmoid."""
    return _hard_sigmoid(attribute_of(node, "alpha", 0.2), attribute_of(node, "beta", 0.5), x)


def hard_swish(_node: Any, x: Value) -> Value:
    """HardSwish."""
    return real("multiply", x, _hard_sigmoid(1 / 6, 0.5, x))


def sigmoid(_node: Any, x: Value) -> Value:
    """Sigmoid."""
    return real("sigmoid", x)


def leaky_relu(node: Any, x: Value) -> Value:
    """LeakyRelu."""
    return sloped(x, number(attribute_of(node, "alpha", 0.01)))


def thresholded_relu(node: Any, x: Value) -> Value:
    """ThresholdedRelu."""
    above = truth("greater", x, number(attribute_of(node, "alpha", 1.0)))
    return real("where", above, x, number(0))


def shrink(node: Any, x: Value) -> Value:
    """Shrink."""
    limit, bias = attribute_of(node, "lambd", 0.5), number(attribute_of(node, "bias", 0.0))
    below = truth("less", x, number(-limit))
    above = truth("greater", x, number(limit))
    lower = real("where", below, real("add", x, bias), number(0))
    return real("add", lower, real("where", above, real("subtract", x, bias), number(0)))


def softplus(_node: Any, x: Value) -> Value:
    """Softplus."""
    return real("log", real("add", real("exp", x), number(1)))


def softsign(_node: Any, x: Value) -> Value:
    """Softsign, as onnxruntime computes it: with a reciprocal."""
    return real("multiply", real("divide", number(1), real("add", number(1), real("abs", x))), x)


def mish(_node: Any, x: Value) -> Value:
    """Mish."""
    return real("multiply", x, real("tanh", real("log", real("add", number(1), real("exp", x)))))


def reciprocal(_node: Any, x: Value) -> Value:
    """Reciprocal."""
    return real("divide", number(1), x)


def gelu(node: Any, x: Value) -> Value:
    """Gelu, with the error function or, approximately, with tanh."""
    if attribute_of(node, "approximate", b"none") == b"tanh":
        cubic = real("multiply", number(0.044715), real("multiply", x, real("multiply", x, x)))
        share = real("tanh", real("multiply", number(math.sqrt(2 / math.pi)), real("add", x, cubic)))
    else:
        share = real("erf", real("multiply", number(math.sqrt(0.5)), x))
    return real("multiply", real("multiply", number(0.5), x), real("add", share, number(1)))


def _swish(factor: float, x: Value) -> Value:
    inside = x if factor == 1 else real("multiply", number(factor), x)
    return real("multiply", x, real("sigmoid", inside))


def swish(node: Any, x: Value) -> Value:
    """Swish."""
    return _swish(attribute_of(node, "alpha", 1.0), x)


def quick_gelu(node: Any, x: Value) -> Value:
    """QuickGelu of onnxruntime."""
    return _swish(attribute_of(node, "alpha", 1.702), x)


def clip(read: QdqReader, node: Any) -> Value:
    """Clip."""
    x = read.input(node)
    if x.dtype != REAL:
        return _clipped_integers(read, node, x)
    ends = {"maximum": _bound(read, node, 1, "min"), "minimum": _bound(read, node, 2, "max")}
    low, high = (None if end is None else _number_of(end) for end in ends.values())
    if all(end is None or _number_of(end) is not None for end in ends.values()):
        return computed(RealClip(low=-math.inf if low is None else low, high=math.inf if high is None else high), x)
    for function, end in ends.items():
        x = x if end is None else real(function, x, end)
    return x


def _bound(read: QdqReader, node: Any, place: int, name: str) -> Value | None:
    """A bound of a Clip, which was an attribute once."""
    if read.has(node, place):
        return read.input(node, place)
    given = attribute_of(node, name, None)
    return None if given is None else number(given)


def _clipped_integers(read: QdqReader, node: Any, x: Value) -> Value:
    low, high = _bound(read, node, 1, "min"), _bound(read, node, 2, "max")
    if low is not None and high is not None:
        limits = int(read.array(node, 1).item()), int(read.array(node, 2).item())
        return computed(Clip(limits=limits, dtype=_integers(x).dtype), x)
    x = x if low is None else arithmetic("maximum", _integers(x), low)
    return x if high is None else arithmetic("minimum", _integers(x), high)


def relu(read: QdqReader, node: Any) -> Value:
    """Relu."""
    return _relu(_operand(read, node, 0))


def _of_one(function: _Function, read: QdqReader, node: Any) -> Value:
    return function(node, _operand(read, node, 0))


def _unary(read: QdqReader, node: Any) -> Value:
    function, x = _UNARY[node.op_type], read.input(node)
    if x.dtype == REAL:
        return real(function, x)
    if function not in ("abs", "negative"):
        raise Unread
    return arithmetic(function, _integers(x))


def _binary(read: QdqReader, node: Any) -> Value:
    a, b = read.input(node, 0), read.input(node, 1)
    if a.dtype != REAL and node.op_type in ("Add", "Mul", "Sub"):
        return arithmetic(_BINARY[node.op_type], _integers(a), _integers(b))
    if (a.dtype, b.dtype) != (REAL, REAL):
        raise Unread
    if node.op_type == "Mod":
        if not attribute_of(node, "fmod", 0):
            raise Unread
        return real("mod", a, b)
    if node.op_type == "PRelu":
        return sloped(a, b)
    if node.op_type == "Pow" and (exponent := _number_of(b)) is not None:
        return power(a, exponent)
    return real(_BINARY[node.op_type], a, b, exact=read.is_exact(node))


def power(x: Value, exponent: float) -> Value:
    """Powers, as onnxruntime computes them."""
    if exponent not in (1, 2, 3):
        return real("power", x, number(exponent))
    return reduce(partial(real, "multiply"), [x] * int(exponent))


def _joined(read: QdqReader, node: Any) -> Value:
    """Functions of several tensors, two by two."""
    operands = [read.input(node, place) for place in range(len(node.input))]
    if any(x.dtype != REAL for x in operands):
        return reduce(partial(arithmetic, _JOINED[node.op_type]), map(_integers, operands))
    return reduce(partial(_two, _JOINED[node.op_type]), operands)


def mean(read: QdqReader, node: Any) -> Value:
    """Mean of tensors, which are broadcast to each other."""
    operands = [_operand(read, node, place) for place in range(len(node.input))]
    total = reduce(partial(real, "add"), operands)
    share = float(np.float32(1) / np.float32(len(operands)))
    return total if len(operands) == 1 else real("multiply", total, number(share))


def batch_normalization(read: QdqReader, node: Any) -> Value:
    """BatchNormalization outside training, with constant parameters: a factor and an addend for each channel."""
    x = _operand(read, node, 0)
    along = [-1, *[1] * (len(x.shape) - 2)]
    gain, bias, mean, variance = (read.numbers(node, place).reshape(along) for place in (1, 2, 3, 4))
    factor = gain / np.sqrt(variance + np.float32(attribute_of(node, "epsilon", 1e-5)))
    return real("add", real("multiply", x, constant(factor)), constant(bias - mean * factor))


def _two(function: str, a: Value, b: Value) -> Value:
    """A sum or an extremum of two tensors; an extremum of a tensor and one number is a clip."""
    for x, other in ((a, b), (b, a)):
        bound = _number_of(other)
        if bound is not None and _number_of(x) is None and function != "add":
            low, high = (bound, math.inf) if function == "maximum" else (-math.inf, bound)
            return computed(RealClip(low=low, high=high), x)
    return real(function, a, b)


def _number_of(x: Value) -> float | None:
    """A constant of one number, which may be quantized; None for other tensors."""
    numbers = numbers_of(x)
    return float(numbers.item()) if numbers is not None and numbers.size == 1 else None


def _integers(x: Value) -> Value:
    """A tensor of integers of types that the graph computes with."""
    if x.dtype not in TYPES - {"bool"}:
        raise Unread
    return x


def _operand(read: QdqReader, node: Any, place: int) -> Value:
    """An input of real numbers."""
    x = read.input(node, place)
    if x.dtype != REAL:
        raise Unread
    return x


_OF_ONE: MappingProxyType[str, _Function] = MappingProxyType(
    {
        "Celu": celu,
        "Elu": elu,
        "Gelu": gelu,
        "HardSigmoid": hard_sigmoid,
        "HardSwish": hard_swish,
        "LeakyRelu": leaky_relu,
        "Mish": mish,
        "QuickGelu": quick_gelu,
        "Reciprocal": reciprocal,
        "Selu": selu,
        "Shrink": shrink,
        "Softplus": softplus,
        "Softsign": softsign,
        "Swish": swish,
        "ThresholdedRelu": thresholded_relu,
    }
)

HANDLERS: MappingProxyType[str, Handler] = MappingProxyType(
    {
        **dict.fromkeys(_UNARY, _unary),
        **dict.fromkeys(_BINARY, _binary),
        **dict.fromkeys(_JOINED, _joined),
        **{name: partial(_of_one, function) for name, function in _OF_ONE.items()},
        "BatchNormalization": batch_normalization,
        "Clip": clip,
        "Mean": mean,
        "Relu": relu,
    }
)
