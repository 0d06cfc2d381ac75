"""Floating point between DEQUANTIZE and QUANTIZE: functions of one value each, which become tables of 8-bit values.

A tensor of real numbers that is computed of 8-bit tensors value by value keeps how: a function may still follow, and
QUANTIZE is one. What reads the numbers themselves reads them from a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import tflite

from match.arithmetic.interface import Float32Array, QuantizedType
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import TfliteReader
from match.frontend.tflite.real import Function, Real
from match.frontend.tflite.tables import gaussian_error_unit, lookup
from match.ir.dtypes import value_range
from match.relay import relay


def dequantized(x: relay.Expr, inputs: QuantizedType) -> Real:
    """The real numbers that an 8-bit tensor stands for; multiplied in double precision, as TFLite Micro does."""
    values = (np.float64(inputs.scale) * (inputs.levels - inputs.zero_point)).astype(np.float32)
    return Real(lambda function: lookup(x, function(values), inputs))


def quantized(real: Real, output: QuantizedType) -> relay.Expr:
    """The integers that stand for real numbers: quotients are rounded half away from zero."""

    def rounded(values: Float32Array) -> npt.NDArray[np.number]:
        quotient = (values / output.scale).astype(np.float64)
        whole = np.nan_to_num(np.copysign(np.floor(np.abs(quotient) + 0.5), quotient))
        return np.clip(whole + output.zero_point, *value_range(output.dtype)).astype(output.dtype)

    return real.mapped(rounded)


def functions(operator: FileOperator) -> Callable[[Float32Array], Float32Array] | None:
    """What an operator of one real tensor computes, in float32; None for others."""
    zero = np.float32(0)
    if operator.name == "LEAKY_RELU":
        alpha = np.float32(operator.options(tflite.LeakyReluOptions).Alpha())
        return lambda x: np.where(x > 0, x, x * alpha)
    if operator.name == "GELU":
        return gaussian_error_unit(operator)
    known: Mapping[str, Callable[[Float32Array], Float32Array]] = {
        "NEG": np.negative,
        "ABS": np.abs,
        "SQUARE": np.square,
        "SQRT": _square_root,
        "RSQRT": _inverse_square_root,
        "FLOOR": np.floor,
        "CEIL": np.ceil,
        "RELU": lambda x: np.maximum(x, zero),
        "RELU6": lambda x: np.clip(x, zero, np.float32(6)),
        "HARD_SWISH": _hard_swish,
        "ELU": _in_double(lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x)),
        "EXP": _in_double(np.exp),
        "LOG": _in_double(lambda x: np.log(np.maximum(x, 0))),
        "TANH": _in_double(np.tanh),
        "SIN": _in_double(np.sin),
        "COS": _in_double(np.cos),
        "LOGISTIC": _logistic,
    }
    return known.get(operator.name)


def _square_root(x: Float32Array) -> Float32Array:
    return np.sqrt(np.maximum(x, np.float32(0)))


def _inverse_square_root(x: Float32Array) -> Float32Array:
    with np.errstate(divide="ignore"):
        return np.reciprocal(_square_root(x))


def _hard_swish(x: Float32Array) -> Float32Array:
    share: Float32Array = np.clip(x + np.float32(3), np.float32(0), np.float32(6))
    return x * share / np.float32(6)


def _logistic(x: Float32Array) -> Float32Array:
    """In float32, but for large numbers, where the kernel leaves steps out."""
    one, exp = np.float32(1), _in_double(np.exp)
    middle = one / (one + exp(-x))
    return np.where(x > np.float32(16.619047164916992188), one, np.where(x < -9, exp(x), middle))


def _in_double(
    function: Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]],
) -> Callable[[Float32Array], Float32Array]:
    """A function rounded to float32 once."""

    def rounded(x: Float32Array) -> Float32Array:
        with np.errstate(all="ignore"):
            return function(x.astype(np.float64)).astype(np.float32)

    return rounded


MOVES = frozenset(
    {"RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "CONCATENATION", "PACK", "SLICE", "STRIDED_SLICE", "TILE"}
    | {"GATHER", "REVERSE_V2", "RESIZE_NEAREST_NEIGHBOR", "SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "BROADCAST_TO"}
)
"""Operators that pass values on, of one output."""


def moved(
    read: TfliteReader, operator: FileOperator, handler: Callable[[TfliteReader, FileOperator], relay.Expr]
) -> Real:
    """Real numbers that an operator of `MOVES` passes on: it may as well pass on what becomes of them."""

    def mapped(function: Function) -> relay.Expr:
        expressions: dict[int, relay.Expr] = {}
        for number in operator.inputs:
            data = read.file.tensors[number].data
            if number in read.reals:
                expressions[number] = read.reals[number].mapped(function)
            elif data is not None and data.dtype == np.float32:
                values = function(data)
                expressions[number] = relay.const(values, str(values.dtype))
        return handler(read.with_expressions(expressions), operator)

    return Real(mapped)


def is_moved(read: TfliteReader, operator: FileOperator) -> bool:
    """Whether an operator of `MOVES` passes on real numbers, all constant or computed value by value."""
    numbers = [number for number in operator.inputs if read.file.tensors[number].dtype == "float32"]
    known = [number in read.reals or read.file.tensors[number].data is not None for number in numbers]
    return operator.name in MOVES and bool(numbers) and all(known)
