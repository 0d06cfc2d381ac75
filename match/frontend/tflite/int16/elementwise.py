"""Operators of two tensors of 16 bits, element by element, with broadcasting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import tflite

from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.int16.quantization import of_input, of_output
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.relay import relay
from match.relay.fixed_point import alone

_ADD_LEFT_SHIFT = 15
"""Bits by which both addends of an addition are shifted left before they are scaled."""


def add(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """ADD."""
    return _sum(read, operator, operator.options(tflite.AddOptions).FusedActivationFunction(), relay.add)


def subtract(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SUB."""
    return _sum(read, operator, operator.options(tflite.SubOptions).FusedActivationFunction(), relay.subtract)


def _sum(read: TfliteReader, operator: FileOperator, activation: int, build: Callable[..., relay.Expr]) -> relay.Expr:
    """Both operands in steps of twice the larger scale, added or subtracted, and scaled to the output."""
    output = of_output(read, operator)
    left, right, twice = _in_steps_of_the_larger(read, operator, _ADD_LEFT_SHIFT)
    last = twice / (np.float64(1 << _ADD_LEFT_SHIFT) * np.float64(output.scale))
    clip = integers.clip_of(read, operator, activation, output)
    return integers.narrowed(integers.scaled(build(left, right), last), output, clip)


def squared_difference(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """SQUARED_DIFFERENCE."""
    output = of_output(read, operator)
    left, right, twice = _in_steps_of_the_larger(read, operator, 0)
    distance = alone(relay.subtract(left, right))
    last = twice * twice / np.float64(output.scale)
    return integers.narrowed(integers.scaled(relay.multiply(distance, distance), last), output)


def _in_steps_of_the_larger(
    read: TfliteReader, operator: FileOperator, bits: int
) -> tuple[relay.Expr, relay.Expr, np.float64]:
    """Both operands, shifted left by bits, in steps of twice the larger scale, and that."""
    scales = [np.float64(of_input(read, operator, position).scale) for position in (0, 1)]
    twice = 2 * max(scales)
    left, right = (
        integers.scaled(integers.doubled(integers.wide(read.expr(operator, position)), bits), scale / twice)
        for position, scale in enumerate(scales)
    )
    return left, right, twice


def multiply(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """MUL."""
    output, activation = of_output(read, operator), operator.options(tflite.MulOptions).FusedActivationFunction()
    scales = [np.float64(of_input(read, operator, position).scale) for position in (0, 1)]
    factor = scales[0] * scales[1] / np.float64(output.scale)
    product = relay.multiply(*(integers.wide(read.expr(operator, position)) for position in (0, 1)))
    return integers.narrowed(
        integers.scaled(product, factor), output, integers.clip_of(read, operator, activation, output)
    )


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "ADD": add,
        "SUB": subtract,
        "MUL": multiply,
        "SQUARED_DIFFERENCE": squared_difference,
    }
