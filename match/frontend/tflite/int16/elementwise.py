"""Operators of two tensors of 16 bits, element by element, with broadcasting."""

from __future__ import annotations

import numpy as np
import tflite

from match.arithmetic.tflite import quantize_multiplier
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.int16.quantization import of_input, of_output
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.graph.fixed_point import SquaredDistance
from match.graph.pairs import LEFT_SHIFT, Int16Addition, Int16Multiplication
from match.graph.value import Value, computed
from match.ir.dtypes import value_range


def add(read: TfliteReader, operator: FileOperator) -> Value:
    """ADD."""
    return _sum(read, operator, operator.options(tflite.AddOptions).FusedActivationFunction(), 1)


def subtract(read: TfliteReader, operator: FileOperator) -> Value:
    """SUB."""
    return _sum(read, operator, operator.options(tflite.SubOptions).FusedActivationFunction(), -1)


def _sum(read: TfliteReader, operator: FileOperator, activation: int, sign: int) -> Value:
    output = of_output(read, operator)
    scales = [np.float64(of_input(read, operator, position).scale) for position in (0, 1)]
    twice = 2 * max(scales)
    last = twice / (np.float64(1 << LEFT_SHIFT) * np.float64(output.scale))
    if last >= 1:
        raise read.error(
            operator, f"has an output with the scale {output.scale}, too fine for its inputs' scales; quantize it again"
        )
    factors = np.stack(quantize_multiplier([*(scale / twice for scale in scales), last]), axis=1)
    operands = read.value(operator), read.value(operator, 1)
    clip = integers.clip_of(read, operator, activation, output)
    return computed(Int16Addition(scales=factors, sign=sign, clip=clip), *operands)


def squared_difference(read: TfliteReader, operator: FileOperator) -> Value:
    """SQUARED_DIFFERENCE."""
    output = of_output(read, operator)
    scales = [np.float64(of_input(read, operator, position).scale) for position in (0, 1)]
    twice = 2 * max(scales)
    last = twice * twice / np.float64(output.scale)
    distance = SquaredDistance(
        scales=np.stack([integers.scale(factor) for factor in (*(scale / twice for scale in scales), last)]),
        zero=output.zero_point,
        clip=value_range(output.dtype),
        dtype=output.dtype,
    )
    return computed(distance, read.value(operator), read.value(operator, 1))


def multiply(read: TfliteReader, operator: FileOperator) -> Value:
    """MUL."""
    output, activation = of_output(read, operator), operator.options(tflite.MulOptions).FusedActivationFunction()
    scales = [np.float64(of_input(read, operator, position).scale) for position in (0, 1)]
    factor = scales[0] * scales[1] / np.float64(output.scale)
    clip = integers.clip_of(read, operator, activation, output)
    product = Int16Multiplication(requantization=integers.line(factor, clip))
    return computed(product, read.value(operator), read.value(operator, 1))


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "ADD": add,
        "SUB": subtract,
        "MUL": multiply,
        "SQUARED_DIFFERENCE": squared_difference,
    }
