"""Functions of each element: what Relay's operators compute of it, in NumPy.

The result of each operator in floating point is rounded to float32, as in a runtime that executes one operator after
the other. Each runtime approximates exponentials, logarithms and the like in its own way, and differs from NumPy in the
last bits: the result of a runtime lies between the two numbers that `ElementFunction.bounds` returns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array
from match.graph.integers import OF_ANY_TYPE
from match.relay import relay
from match.relay.objects import operands
from match.relay.qnn import real_constant
from match.relay.rewrite import dtype, is_call, operator_name, shape

_Source = TypeVar("_Source")

Values = npt.NDArray[Any]
Ends = tuple[Values, Values]
"""The smallest and the largest numbers that values can be."""

_APPROXIMATION = 8
"""Units in the last place by which approximations may differ; onnxruntime's and NumPy's differ by 4 at most."""

_ROUNDED = frozenset({"add", "subtract", "multiply", "divide", "sqrt", "nn.leaky_relu"})
"""Operators whose last bit may differ beside an approximation: a runtime may compute all of them as one function."""

_SIGMOID = 2.0**-21
"""The error of onnxruntime's logistic function: near 0 it is no smaller."""


def _relu(x: Float32Array) -> Float32Array:
    return np.maximum(x, np.float32(0))


def _sigmoid(x: Float32Array) -> Float32Array:
    return np.float32(1) / (np.float32(1) + np.exp(-x))


def _erf(x: Float32Array) -> Float32Array:
    return np.array([math.erf(float(value)) for value in x.reshape(-1)], np.float32).reshape(x.shape)


_APPROXIMATED: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
    {
        "sigmoid": _sigmoid,
        "erf": _erf,
        "tanh": np.tanh,
        "exp": np.exp,
        "log": np.log,
        "sin": np.sin,
        "cos": np.cos,
        "tan": np.tan,
        "asin": np.arcsin,
        "acos": np.arccos,
        "atan": np.arctan,
        "sinh": np.sinh,
        "cosh": np.cosh,
        "asinh": np.arcsinh,
        "acosh": np.arccosh,
        "atanh": np.arctanh,
        "power": np.power,
    }
)

_EXACT: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
    dict[str, Callable[..., Any]](
        {
            **OF_ANY_TYPE,
            "nn.relu": _relu,
            "sqrt": np.sqrt,
            "floor": np.floor,
            "ceil": np.ceil,
            "sign": np.sign,
            "divide": np.divide,
            "mod": np.fmod,
            "floor_mod": np.mod,
            "logical_xor": np.logical_xor,
            "isnan": np.isnan,
            "isinf": np.isinf,
            "isfinite": np.isfinite,
            "copy": np.asarray,
            "zeros_like": np.zeros_like,
            "ones_like": np.ones_like,
            "full_like": np.full_like,
        }
    )
)

_FUNCTIONS = MappingProxyType({**_EXACT, **_APPROXIMATED})

ELEMENTWISE = frozenset({"clip", "nn.leaky_relu", *_FUNCTIONS})
"""Operators whose elements depend on the elements of their operands at the same place."""


@dataclass(frozen=True, eq=False)
class ElementFunction:
    """Operators that compute each element of a tensor of the elements of others at the same place, and of constants.

    order: the operators; each comes after those that it reads, and the last one gives the result.
    sources: the tensors.
    constants: of shape () or, with a number for each channel, (channels, 1).
    axis: that of the channels; None if all constants are single numbers.
    """

    order: tuple[relay.Call, ...]
    sources: tuple[relay.Expr, ...]
    constants: Mapping[relay.Expr, Values]
    axis: int | None

    @cached_property
    def approximated(self) -> bool:
        """Whether an operator is among them that each runtime approximates in a way of its own."""
        return any(is_call(call, *_APPROXIMATED) for call in self.order)

    def __call__(self, *x: Float32Array) -> Float32Array:
        """The results for values of the sources; with constants of channels from (n,) to (channels, n)."""
        values: dict[relay.Expr, Values] = {**self.constants, **dict(zip(self.sources, x, strict=True))}
        with np.errstate(all="ignore"):
            for call in self.order:
                values[call] = _applied(call, [values[operand] for operand in call.args])
        return self._spread(values[self.order[-1]], x)

    def bounds(self, *x: Float32Array) -> Ends:
        """The smallest and the largest results that a runtime may have, of shapes as the results have.

        Numbers differ so little that an operator's extremes are at the ends of its operands' ranges; there, it may be
        off by some units in the last place.
        """
        known = {**self.constants, **dict(zip(self.sources, x, strict=True))}
        values: dict[relay.Expr, Ends] = {expr: (value, value) for expr, value in known.items()}
        with np.errstate(all="ignore"):
            for call in self.order:
                arguments = [values[operand] for operand in call.args]
                corners = np.stack(np.broadcast_arrays(*(_applied(call, list(ends)) for ends in _corners(arguments))))
                values[call] = _widened(call, arguments, corners)
        low, high = values[self.order[-1]]
        return self._spread(low, x), self._spread(high, x)

    def _spread(self, result: Values, x: Sequence[Float32Array]) -> Float32Array:
        extents = np.broadcast_shapes(result.shape, *(tensor.shape for tensor in x))
        return np.broadcast_to(np.asarray(result, np.float32), extents)


def function_of(expr: relay.Expr, source: relay.Expr | None = None) -> ElementFunction | None:
    """The operators that end in `expr` as a function of each element; None if they are no such function.

    A `source` is a tensor that they read, whatever computes it.
    """
    order, sources, numbers = _operators(expr, source)
    if not sources or not order:
        return None
    constants: dict[relay.Expr, Values] = {}
    axes: set[int] = set()
    for constant, array in numbers.items():
        longer = [axis for axis, extent in enumerate(array.shape, len(shape(expr)) - array.ndim) if extent > 1]
        if len(longer) > 1:
            return None
        axes.update(longer)
        constants[constant] = array.reshape((-1, 1) if longer else ())
    if len(axes) > 1:
        return None
    return ElementFunction(tuple(order), tuple(sources), constants, axes.pop() if axes else None)


def function_behind(
    expr: relay.Expr, read: Callable[[relay.Expr], _Source | None]
) -> tuple[_Source, ElementFunction] | None:
    """What `read` finds of the one tensor that an expression is a function of, element by element, and the function.

    All its constants are single numbers. The tensor nearest to the result comes first.
    """
    pending, seen = [expr], {expr}
    for one in pending:
        found = read(one)
        if found is not None:
            function = function_of(expr, one)
            if function is not None and function.sources == (one,) and function.axis is None:
                return found, function
        if is_call(one, *ELEMENTWISE):
            pending += [operand for operand in operands(one) if operand not in seen]
            seen.update(operands(one))
    return None


def _operators(
    expr: relay.Expr, source: relay.Expr | None
) -> tuple[list[relay.Call], list[relay.Expr], dict[relay.Expr, Values]]:
    """The functions that end in `expr`, in order of computation, the tensors and the constants that they read."""
    order: list[relay.Call] = []
    sources: list[relay.Expr] = []
    constants: dict[relay.Expr, Values] = {}
    seen: set[relay.Expr] = set()
    pending = [(expr, False)]
    while pending:
        current, complete = pending.pop()
        if complete and isinstance(current, relay.Call):
            order.append(current)
        elif current not in seen:
            seen.add(current)
            if current != source and is_call(current, *ELEMENTWISE):
                pending += [(current, True), *((operand, False) for operand in operands(current))]
            elif (values := real_constant(current)) is not None:
                constants[current] = values
            else:
                sources.append(current)
    return order, sources, constants


def _applied(call: relay.Call, arguments: list[Values]) -> Values:
    x = arguments[0]
    if is_call(call, "clip"):
        result = np.clip(x, x.dtype.type(call.attrs.a_min), x.dtype.type(call.attrs.a_max))
    elif is_call(call, "nn.leaky_relu"):
        result = x * np.where(x < 0, np.float32(call.attrs.alpha), np.float32(1))
    else:
        result = _FUNCTIONS[operator_name(call)](*arguments)
    return np.asarray(result).astype(dtype(call))


def _corners(arguments: Sequence[Ends]) -> list[tuple[Values, ...]]:
    """Every choice of an end of each range; values that are known have one."""
    return list(itertools.product(*((low,) if low is high else (low, high) for low, high in arguments)))


def _widened(call: relay.Call, arguments: Sequence[Ends], corners: Values) -> Ends:
    """The range of results at the corners and beside them: all numbers where some corners have none, and others do."""
    low, high = corners.min(axis=0), corners.max(axis=0)
    if not np.issubdtype(low.dtype, np.floating):
        return low, high
    uncertain = np.isnan(low) & ~np.isnan(corners).all(axis=0)
    below, above = (
        np.where(uncertain, sign * np.inf, end + sign * _error(call, arguments, end))
        for sign, end in ((-1, low), (1, high))
    )
    return below.astype(np.float32), above.astype(np.float32)


def _error(call: relay.Call, arguments: Sequence[Ends], result: Values) -> Values:
    """How far the result of another runtime may be; every runtime has a function's own value at 0."""
    units, least = int(is_call(call, *_ROUNDED)), 0.0
    if is_call(call, *_APPROXIMATED):
        units, least = _APPROXIMATION, _SIGMOID if is_call(call, "sigmoid") else 0.0
    error = np.where(np.isfinite(result), units * np.spacing(np.abs(result)) + least, 0)
    zero = len(arguments) == 1 and (arguments[0][0] == 0) & (arguments[0][1] == 0)
    return np.where(zero, 0, error)
