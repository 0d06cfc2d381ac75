"""Operators of two tensors of 16 bits, element by element, with broadcasting."""

from __future__ import annotations

import numpy as np
import tflite

from match.arithmetic.tflite import quantize_multiplier
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.int16.quantization import of_input, of_output
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.graph.pairs import LEFT_SHIFT, Int16Addition
from match.relay import relay
from match.relay.fixed_point import alone
from match.relay.int16_addition import int16_addition


def add(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """ADD."""
    return _sum(read, operator, operator.options(tflite.AddOptions).FusedActivationFunction(), 1)


def subtract(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SUB."""
    return _sum(read, operator, operator.options(tflite.SubOptions).FusedActivationFunction(), -1)


def _sum(read: TfliteReader, operator: FileOperator, activation: int, sign: int) -> relay.Expr:
    output = of_output(read, operator)
    scales = [np.float64(of_input(read, operator, position).scale) for position in (0, 1)]
    twice = 2 * max(scales)
    last = twice / (np.float64(1 << LEFT_SHIFT) * np.float64(output.scale))
    if last >= 1:
        raise read.error(
            operator, f"has an output with the scale {output.scale}, too fine for its inputs' scales; quantize it again"
        )
    factors = np.stack(quantize_multiplier([*(scale / twice for scale in scales), last]), axis=1)
    operands = read.expr(operator), read.expr(operator, 1)
    clip = integers.clip_of(read, operator, activation, output)
    return int16_addition(Int16Addition(scales=factors, sign=sign, clip=clip), *operands)


def squared_difference(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SQUARED_DIFFERENCE."""
    output = of_output(read, operator)
    scales = [np.float64(of_input(read, operator, position).scale) for position in (0, 1)]
    twice = 2 * max(scales)
    left, right = (
        integers.scaled(integers.wide(read.expr(operator, position)), scale / twice)
        for position, scale in enumerate(scales)
    )
    distance = alone(relay.subtract(left, right))
    last = twice * twice / np.float64(output.scale)
    return integers.narrowed(integers.scaled(relay.multiply(distance, distance), last), output)


def multiply(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """MUL."""
    output, activation = of_output(read, operator), operator.options(tflite.MulOptions).FusedActivationFunction()
    scales = [np.float64(of_input(read, operator, position).scale) for position in (0, 1)]
    factor = scales[0] * scales[1] / np.float64(output.scale)
    product = relay.multiply(*(relay.cast(read.expr(operator, position), "int32") for position in (0, 1)))
    return integers.requantized(product, factor, integers.clip_of(read, operator, activation, output))


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "ADD": add,
        "SUB": subtract,
        "MUL": multiply,
        "SQUARED_DIFFERENCE": squared_difference,
    }
