"""ONNX's functions of each element, written in those that the graph has."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, reduce
from types import MappingProxyType
from typing import Any

from match.frontend.onnx_graph import attribute_of
from match.frontend.qdq.reader import Handler, QdqReader, Unread
from match.graph.constants import numbers_of
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
    """Clip between constants."""
    low, high = (
        _one_number(read, node, place) if read.has(node, place) else attribute_of(node, name, end)
        for place, name, end in ((1, "min", -math.inf), (2, "max", math.inf))
    )
    if low > high:
        raise Unread
    return computed(RealClip(low=low, high=high), _operand(read, node, 0))


def _one_number(read: QdqReader, node: Any, place: int) -> float:
    found = _number_of(read.input(node, place))
    if found is None:
        raise Unread
    return found


def relu(read: QdqReader, node: Any) -> Value:
    """Relu."""
    return _relu(_operand(read, node, 0))


def _of_one(function: _Function, read: QdqReader, node: Any) -> Value:
    return function(node, _operand(read, node, 0))


def _unary(read: QdqReader, node: Any) -> Value:
    return real(_UNARY[node.op_type], _operand(read, node, 0))


def _binary(read: QdqReader, node: Any) -> Value:
    a, b = _operand(read, node, 0), _operand(read, node, 1)
    if node.op_type == "Mod":
        if not attribute_of(node, "fmod", 0):
            raise Unread
        return real("mod", a, b)
    if node.op_type == "PRelu":
        return sloped(a, b)
    if node.op_type == "Pow" and (exponent := _number_of(b)) in (2, 3):  # as onnxruntime computes them
        square = real("multiply", a, a)
        return square if exponent == 2 else real("multiply", square, a)
    return real(_BINARY[node.op_type], a, b, exact=read.is_exact(node))


def _joined(read: QdqReader, node: Any) -> Value:
    """Functions of several tensors, two by two."""
    operands = [_operand(read, node, place) for place in range(len(node.input))]
    return reduce(partial(_two, _JOINED[node.op_type]), operands)


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
        "Clip": clip,
        "Relu": relu,
    }
)
