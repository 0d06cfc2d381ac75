"""Functions of each element of real numbers, step by step, in NumPy.

The result of each step in floating point is rounded to float32, as in a runtime that executes one operator after the
other. Each runtime approximates exponentials, logarithms and the like in its own way, and differs from NumPy in the
last bits: the result of a runtime lies between the two numbers that `ElementFunction.bounds` returns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array

Values = npt.NDArray[Any]
Ends = tuple[Values, Values]
"""The smallest and the largest numbers that values can be."""

_APPROXIMATION = 8
"""Units in the last place by which approximations may differ; onnxruntime's and NumPy's differ by 4 at most."""

_ROUNDED = frozenset({"add", "subtract", "multiply", "divide", "sqrt", "leaky_relu"})
"""Functions whose last bit may differ beside an approximation: a runtime may compute all of them as one function."""

_SIGMOID = 2.0**-21
"""The error of onnxruntime's logistic function: near 0 it is no smaller."""


def _relu(x: Float32Array) -> Float32Array:
    return np.maximum(x, np.float32(0))


def _sigmoid(x: Float32Array) -> Float32Array:
    return np.float32(1) / (np.float32(1) + np.exp(-x))


def _erf(x: Float32Array) -> Float32Array:
    return np.array([math.erf(float(value)) for value in x.reshape(-1)], np.float32).reshape(x.shape)


def _clip(x: Values, low: float, high: float) -> Values:
    return np.clip(x, x.dtype.type(low), x.dtype.type(high))


def _leaky_relu(x: Float32Array, slope: float) -> Float32Array:
    return x * np.where(x < 0, np.float32(slope), np.float32(1))


APPROXIMATED: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
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
"""Functions that each runtime approximates in a way of its own."""

OF_ANY_TYPE: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
    dict[str, Callable[..., Any]](
        {
            "abs": np.abs,
            "negative": np.negative,
            "add": np.add,
            "subtract": np.subtract,
            "multiply": np.multiply,
            "maximum": np.maximum,
            "minimum": np.minimum,
            "equal": np.equal,
            "not_equal": np.not_equal,
            "less": np.less,
            "less_equal": np.less_equal,
            "greater": np.greater,
            "greater_equal": np.greater_equal,
            "logical_and": np.logical_and,
            "logical_or": np.logical_or,
            "logical_not": np.logical_not,
            "where": np.where,
            "cast": np.asarray,
        }
    )
)
"""Functions that NumPy has for integers and real numbers alike."""

_EXACT: MappingProxyType[str, Callable[..., Any]] = MappingProxyType(
    dict[str, Callable[..., Any]](
        {
            **OF_ANY_TYPE,
            "clip": _clip,
            "leaky_relu": _leaky_relu,
            "relu": _relu,
            "sqrt": np.sqrt,
            "floor": np.floor,
            "ceil": np.ceil,
            "round_half_to_even": np.rint,
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

FUNCTIONS: MappingProxyType[str, Callable[..., Any]] = MappingProxyType({**_EXACT, **APPROXIMATED})
"""The functions of steps. "clip" takes two limits as parameters, "leaky_relu" the slope of negative numbers."""


_TURNING = frozenset(
    {
        *("abs", "sin", "cos", "tan", "cosh", "power", "leaky_relu", "mod", "floor_mod"),
        *("equal", "not_equal", "logical_xor", "isnan", "isinf", "isfinite"),
    }
)
"""Functions that are not the least and the largest where an operand is: they rise here and fall there."""


@dataclass(frozen=True)
class Step:
    """One of `FUNCTIONS`, of what came before.

    operands: by number: the sources come first, then the constants, then the steps before. parameters: numbers that the
    function takes after its operands. dtype: the type of the result.
    """

    function: str
    operands: tuple[int, ...]
    parameters: tuple[float, ...]
    dtype: str

    def __call__(self, arguments: Sequence[Values]) -> Values:
        """The result of operands."""
        return np.asarray(FUNCTIONS[self.function](*arguments, *self.parameters)).astype(self.dtype)


@dataclass(frozen=True, eq=False)
class ElementFunction:
    """Steps that compute each element of a tensor of the elements of others at the same place, and of constants.

    sources: how many tensors.
    constants: of shape () or, with a number for each channel, (channels, 1).
    steps: the last one gives the result.
    axis: that of the channels; None if all constants are single numbers.
    """

    sources: int
    constants: tuple[Values, ...]
    steps: tuple[Step, ...]
    axis: int | None

    @cached_property
    def approximated(self) -> bool:
        """Whether a step is among them that each runtime approximates in a way of its own."""
        return any(step.function in APPROXIMATED for step in self.steps)

    @cached_property
    def turns(self) -> bool:
        """Whether a step may be the least or the largest between the ends of its operands' ranges."""
        return any(step.function in _TURNING for step in self.steps)

    def __call__(self, *x: Float32Array) -> Float32Array:
        """The results for values of the sources; with constants of channels from (n,) to (channels, n)."""
        values: list[Values] = [*x, *self.constants]
        with np.errstate(all="ignore"):
            for step in self.steps:
                values.append(step([values[operand] for operand in step.operands]))
        return self._spread(values[-1], x)

    def bounds(self, *x: Ends) -> Ends:
        """Two arrays of the results' shape: for each element the smallest and the largest result a runtime may give.

        x: the smallest and the largest numbers of each source, one array where they are known. An operator's extremes
        are taken to be at the ends of its operands' ranges: those of numbers that are known differ by little, others
        ask for a function that does not turn. At the ends a result may be off by some units in the last place.
        """
        values: list[Ends] = [*x, *((value, value) for value in self.constants)]
        with np.errstate(all="ignore"):
            for step in self.steps:
                arguments = [values[operand] for operand in step.operands]
                corners = np.stack(np.broadcast_arrays(*(step(ends) for ends in _corners(arguments))))
                values.append(_widened(step, arguments, corners))
        low, high = values[-1]
        sources = [least for least, _ in x]
        return self._spread(low, sources), self._spread(high, sources)

    def _spread(self, result: Values, x: Sequence[Float32Array]) -> Float32Array:
        extents = np.broadcast_shapes(result.shape, *(tensor.shape for tensor in x))
        return np.broadcast_to(np.asarray(result, np.float32), extents)


def _corners(arguments: Sequence[Ends]) -> list[tuple[Values, ...]]:
    """Every choice of an end of each range; values that are known have one."""
    return list(itertools.product(*((low,) if low is high else (low, high) for low, high in arguments)))


def _widened(step: Step, arguments: Sequence[Ends], corners: Values) -> Ends:
    """The range of results at the corners and beside them.

    It is all numbers where some corners have none, and others do, and where a divisor may be 0.
    """
    low, high = corners.min(axis=0), corners.max(axis=0)
    if not np.issubdtype(low.dtype, np.floating):
        return low, high
    uncertain = np.isnan(low) & ~np.isnan(corners).all(axis=0)
    if step.function == "divide":
        least, most = arguments[1]
        uncertain |= (least < 0) & (most > 0)
    below, above = (
        np.where(uncertain, sign * np.inf, end + sign * _error(step, arguments, end))
        for sign, end in ((-1, low), (1, high))
    )
    return below.astype(np.float32), above.astype(np.float32)


def _error(step: Step, arguments: Sequence[Ends], result: Values) -> Values:
    """How far the result of another runtime may be; every runtime has a function's own value at 0."""
    units, least = int(step.function in _ROUNDED), 0.0
    if step.function in APPROXIMATED:
        units, least = _APPROXIMATION, _SIGMOID if step.function == "sigmoid" else 0.0
    error = np.where(np.isfinite(result), units * np.spacing(np.abs(result)) + least, 0)
    zero = len(arguments) == 1 and (arguments[0][0] == 0) & (arguments[0][1] == 0)
    return np.where(zero, 0, error)
