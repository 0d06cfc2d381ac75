"""Floating point between DEQUANTIZE and QUANTIZE: functions of 8-bit values, which become tables.

A tensor of real numbers that is computed of 8-bit tensors value by value keeps how: a function may still follow, and
QUANTIZE is one. What reads the numbers themselves reads them from a table.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array, QuantizedType
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import Handler, TfliteReader, results_of
from match.frontend.tflite.real import Function, Real, Source, real_numbers
from match.graph.make import constant, lookup
from match.graph.value import Value
from match.ir.dtypes import value_range


def dequantized(x: Value, inputs: QuantizedType) -> Source:
    """The real numbers that an 8-bit tensor stands for; multiplied in double precision, as TFLite Micro does."""
    values = (np.float64(inputs.scale) * (inputs.levels - inputs.zero_point)).astype(np.float32)
    return Source(lambda function: lookup(x, function(values)))


def quantized(real: Real, output: QuantizedType) -> Value:
    """The integers that stand for real numbers: quotients are rounded half away from zero."""

    def rounded(values: Float32Array) -> npt.NDArray[np.number]:
        with np.errstate(over="ignore"):
            quotient = (values / output.scale).astype(np.float64)
        whole = np.nan_to_num(np.copysign(np.floor(np.abs(quotient) + 0.5), quotient))
        return np.clip(whole + output.zero_point, *value_range(output.dtype)).astype(output.dtype)

    return real.mapped(rounded)


MOVES = frozenset(
    {"RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "CONCATENATION", "PACK", "SLICE", "STRIDED_SLICE", "TILE"}
    | {"GATHER", "REVERSE_V2", "RESIZE_NEAREST_NEIGHBOR", "SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "BROADCAST_TO"}
    | {"SPLIT", "SPLIT_V", "UNPACK"}
)
"""Operators that pass values on."""


def moved(read: TfliteReader, operator: FileOperator, handler: Handler) -> tuple[Real, ...]:
    """Real numbers that an operator of `MOVES` passes on: it may as well pass on what becomes of them."""

    def mapped(place: int, function: Function) -> Value:
        known: dict[int, Value] = {}
        for number in operator.inputs:
            data = read.file.tensors[number].data
            if number in read.reals:
                known[number] = read.reals[number].mapped(function)
            elif data is not None and data.dtype == np.float32:
                known[number] = constant(function(data))
        return results_of(read.with_values(known), operator, handler)[place]

    return tuple(real_numbers(Source(partial(mapped, place))) for place in range(len(operator.outputs)))


def is_moved(read: TfliteReader, operator: FileOperator) -> bool:
    """Whether an operator of `MOVES` passes on real numbers, all constant or computed value by value."""
    numbers = [number for number in operator.inputs if read.file.tensors[number].dtype == "float32"]
    known = [number in read.reals or read.file.tensors[number].data is not None for number in numbers]
    return operator.name in MOVES and bool(numbers) and all(known)
