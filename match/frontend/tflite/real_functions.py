"""Operators of real numbers that are functions of one 8-bit tensor, in TFLite Micro's float32."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import tflite

from match.arithmetic.interface import Float32Array
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import TfliteReader
from match.frontend.tflite.real import Function, Numbers, Real
from match.frontend.tflite.tables import gaussian_error_unit

_OfTwo = Callable[[Numbers, Numbers], Numbers]

_OfMany = Callable[..., Numbers]
"""A function of as many values as the operator has inputs, element by element."""

_ARITHMETIC: Mapping[str, tuple[_OfTwo, Callable[[], Any]]] = MappingProxyType(
    {
        "ADD": (np.add, tflite.AddOptions),
        "SUB": (np.subtract, tflite.SubOptions),
        "MUL": (np.multiply, tflite.MulOptions),
        "DIV": (np.divide, tflite.DivOptions),
    }
)
"""Operators that can have a fused activation."""

_ZERO, _ONE = np.float32(0), np.float32(1)

_HIGHEST = np.finfo(np.float32).max

_RANGES: Mapping[int, tuple[np.float32, np.float32]] = MappingProxyType(
    {
        tflite.ActivationFunctionType.NONE: (-_HIGHEST, _HIGHEST),
        tflite.ActivationFunctionType.RELU: (np.float32(0), _HIGHEST),
        tflite.ActivationFunctionType.RELU_N1_TO_1: (np.float32(-1), np.float32(1)),
        tflite.ActivationFunctionType.RELU6: (np.float32(0), np.float32(6)),
    }
)
"""What kernels clip to for a fused activation; without one they leave no infinity either."""


def computed(read: TfliteReader, operator: FileOperator) -> Real | None:
    """An operator's output if its inputs are functions of one source or constants of one number; None for others."""
    function = _function(operator)
    if function is None:
        return None
    sides: list[Function] = []
    for number in operator.inputs:
        data = read.file.tensors[number].data if number >= 0 else None
        if number in read.reals:
            sides.append(read.reals[number].values)
        elif data is not None and data.size == 1 and str(data.dtype) in ("float32", "bool"):
            sides.append(_constant(data))
        else:
            return None
    known = [number for number in operator.inputs if number in read.reals]
    sources = [read.reals[number].source for number in known]
    if not sources or any(source is not sources[0] for source in sources):
        return None
    if any(read.file.tensors[number].shape != read.output(operator).shape for number in known):
        return None

    def values(x: Float32Array) -> Numbers:
        with np.errstate(all="ignore"):
            return function(*(side(x) for side in sides))

    return Real(sources[0], values)


def is_known(operator: FileOperator) -> bool:
    """Whether this module knows what the operator computes of real numbers."""
    return _function(operator) is not None


def _constant(data: Numbers) -> Function:
    """One number at every place."""
    return lambda x: np.full_like(x, data.reshape(-1)[0], data.dtype)


def _function(operator: FileOperator) -> _OfMany | None:
    """The function that an operator computes of real numbers and truth values; None for other operators."""
    if operator.name == "LEAKY_RELU":
        return _leaky(np.float32(operator.options(tflite.LeakyReluOptions).Alpha()))
    if operator.name == "GELU":
        return gaussian_error_unit(operator)
    if operator.name in _ARITHMETIC:
        build, options = _ARITHMETIC[operator.name]
        low_high = _RANGES.get(operator.options(options).FusedActivationFunction())
        return None if low_high is None else _clipped(build, *low_high)
    return _OF_ONE.get(operator.name) or _OF_TWO.get(operator.name) or _OF_THREE.get(operator.name)


def _leaky(alpha: np.float32) -> Callable[[Numbers], Numbers]:
    return lambda x: np.where(x > 0, x, x * alpha)


def _clipped(build: _OfTwo, low: np.float32, high: np.float32) -> _OfTwo:
    return lambda x, y: np.clip(build(x, y), low, high)


def _in_double(
    function: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
) -> Callable[[Float32Array], Float32Array]:
    """A function rounded to float32 once."""
    return lambda x: function(x.astype(np.float64)).astype(np.float32)


_exp = _in_double(np.exp)
_square_root = _in_double(lambda x: np.sqrt(np.maximum(x, 0)))


def _logistic(x: Float32Array) -> Float32Array:
    """In float32, but for large numbers, where the kernel leaves steps out."""
    middle = _ONE / (_ONE + _exp(-x))
    return np.where(x > np.float32(16.619047164916992188), _ONE, np.where(x < -9, _exp(x), middle))


def _chosen(condition: Numbers, x: Numbers, y: Numbers) -> Numbers:
    return np.where(condition, x, y)


_OF_ONE: Mapping[str, Callable[[Numbers], Numbers]] = MappingProxyType(
    {
        "NEG": np.negative,
        "ABS": np.abs,
        "SQUARE": np.square,
        "SQRT": _square_root,
        "RSQRT": lambda x: _ONE / _square_root(x),
        "FLOOR": np.floor,
        "CEIL": np.ceil,
        "RELU": lambda x: np.maximum(x, _ZERO),
        "RELU6": lambda x: np.clip(x, _ZERO, np.float32(6)),
        "HARD_SWISH": lambda x: x * np.clip(x + np.float32(3), _ZERO, np.float32(6)) / np.float32(6),
        "ELU": _in_double(lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x)),
        "EXP": _exp,
        "LOG": _in_double(lambda x: np.log(np.maximum(x, 0))),
        "TANH": _in_double(np.tanh),
        "SIN": _in_double(np.sin),
        "COS": _in_double(np.cos),
        "LOGISTIC": _logistic,
        "LOGICAL_NOT": np.logical_not,
    }
)
"""Functions of operators of one tensor without options."""

_OF_TWO: Mapping[str, _OfTwo] = MappingProxyType(
    {
        "PRELU": lambda x, slope: np.where(x >= 0, x, x * slope),
        "MAXIMUM": lambda x, y: np.where(x > y, x, y),
        "MINIMUM": lambda x, y: np.where(x < y, x, y),
        "SQUARED_DIFFERENCE": lambda x, y: np.square(x - y),
        "EQUAL": np.equal,
        "NOT_EQUAL": np.not_equal,
        "GREATER": np.greater,
        "GREATER_EQUAL": np.greater_equal,
        "LESS": np.less,
        "LESS_EQUAL": np.less_equal,
        "LOGICAL_AND": np.logical_and,
        "LOGICAL_OR": np.logical_or,
    }
)
"""Functions of operators of two tensors without options."""

_OF_THREE: Mapping[str, Callable[[Numbers, Numbers, Numbers], Numbers]] = MappingProxyType(
    {"SELECT": _chosen, "SELECT_V2": _chosen}
)
"""Functions of operators of three tensors."""
