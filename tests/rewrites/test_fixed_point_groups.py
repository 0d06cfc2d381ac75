"""Functions of real numbers between dequantize and quantize in TFLite Micro's integers, and what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from match.arithmetic import tflite_functions
from match.arithmetic.interface import QuantizedType
from match.graph.elements import Dequantize, Lookup, Quantize
from match.graph.make import constant
from match.graph.reals import REAL, RealClip, RealFunction
from match.graph.rows import LONGEST_ROW, RealSoftmax, Softmax
from match.graph.text import text
from match.graph.value import Graph, Value, computed
from match.ir.float_border import FloatQuantization
from match.ir.graph import Tensor
from match.rewrites.fixed_point_groups import with_fixed_point_groups

pytestmark = pytest.mark.unit

X = QuantizedType(np.float32(0.0625), 5, "int8")
PROBABILITY = QuantizedType(np.float32(1 / 256), -128, "int8")
SYMMETRIC = QuantizedType(np.float32(1 / 128), 0, "int8")


def real(function: str, *operands: Value | float) -> Value:
    values = [x if isinstance(x, Value) else constant(np.float32(x)) for x in operands]
    return computed(RealFunction(function=function, dtype=REAL), *values)


def clipped(x: Value, low: float, high: float) -> Value:
    return computed(RealClip(low=low, high=high), x)


def softmax(x: Value, logarithm: bool = False) -> Value:
    return computed(RealSoftmax(logarithm=logarithm), x, exact=False)


def hard_swish(x: Value, most: float = 6) -> Value:
    return real("divide", real("multiply", x, clipped(real("add", x, 3), 0, most)), 6)


def group(build: Any, output: QuantizedType, width: int = 8) -> Graph:
    """A function of a dequantized tensor, quantized, called "y" in the model."""
    x = Value(Tensor((1, width), X.dtype), source="x")
    numbers = computed(Dequantize(scale=X.scale, zero_point=X.zero_point), x)
    function = FloatQuantization(output.scale, output.zero_point, output.dtype, half_to_even=False)
    return Graph((x,), (computed(Quantize(function=function), build(numbers), source="y"),))


@pytest.mark.parametrize(
    ("build", "output", "reference"),
    [
        (lambda x: real("sigmoid", x), PROBABILITY, tflite_functions.logistic),
        (lambda x: real("tanh", x), SYMMETRIC, tflite_functions.tanh),
        (hard_swish, X, tflite_functions.hard_swish),
    ],
)
def test_functions_of_elements_are_tables(build: Any, output: QuantizedType, reference: Any) -> None:
    graph = group(build, output)
    (made,) = with_fixed_point_groups(graph).outputs
    assert isinstance(made.operator, Lookup)
    assert made.inputs == graph.inputs
    assert (made.exact, made.source) == (True, "y")
    np.testing.assert_array_equal(made.operator.outputs, reference(X, output))


@pytest.mark.parametrize("beta", [1, 0.5])
def test_softmax_is_one_operator_on_integers(beta: float) -> None:
    graph = group(lambda x: softmax(x if beta == 1 else real("multiply", x, beta)), PROBABILITY)
    (made,) = with_fixed_point_groups(graph).outputs
    assert isinstance(made.operator, Softmax)
    assert made.inputs == graph.inputs
    assert (made.exact, made.source, made.operator.zero) == (True, "y", -128)
    expected = tflite_functions.exponentials(X.scale, np.float32(beta))
    np.testing.assert_array_equal(made.operator.exponentials, expected)


@pytest.mark.parametrize(
    ("build", "output", "width"),
    [
        (lambda x: real("sigmoid", x), SYMMETRIC, 8),
        (lambda x: real("exp", x), PROBABILITY, 8),
        (lambda x: hard_swish(x, 5), X, 8),
        (softmax, SYMMETRIC, 8),
        (softmax, PROBABILITY, LONGEST_ROW + 1),
        (lambda x: softmax(x, logarithm=True), PROBABILITY, 8),
        (lambda x: real("sigmoid", real("abs", x)), PROBABILITY, 8),
    ],
)
def test_what_tflite_micro_does_not_define_stays(build: Any, output: QuantizedType, width: int) -> None:
    graph = group(build, output, width)
    assert text(with_fixed_point_groups(graph)) == text(graph)
