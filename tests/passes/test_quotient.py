"""Divisions of two activations, as ONNX writes them, against onnxruntime: a line for each divisor."""

from __future__ import annotations

import numpy as np
import pytest

from match.ir.layer import Op
from tests.passes.one_operator import distances, integers, references
from tests.passes.two_operands import Shapes, pairs, quantized_pair

pytestmark = pytest.mark.tvm

CASES = {
    "of attention": ((0.020818, 0.049233, 0.0047213), (140, 0, 120)),
    "not negative": ((0.0039216, 0.05552, 0.00029762), (0, 0, 0)),
    "divisors of both signs": ((0.031337, 0.027182, 0.051413), (120, 127, 128)),
    "two outputs": ((0.031337, 0.027182, 1.7), (120, 99, 254)),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("case", CASES)
def test_all_pairs(case: str, dtype: str) -> None:
    """Also of divisors that are 0: the lowest or the highest output, and the lowest for 0 / 0."""
    scales, zeros = CASES[case]
    model = quantized_pair(["Div"], dtype, scales, zeros)
    module = integers(model)
    assert references(module, Op.LOOKUP_LINE) == [True]
    assert not distances(model, module, pairs(scales, zeros)).any()


@pytest.mark.parametrize(
    "shapes",
    [
        ((1, 2, 64, 8), (1, 2, 64, 1)),
        ((1, 16, 4, 18), (1, 1, 4, 18)),
        ((1, 1, 1, 7), (1, 5, 6, 1)),
    ],
)
def test_broadcasting(shapes: Shapes) -> None:
    scales, zeros = CASES["of attention"]
    model = quantized_pair(["Div"], "uint8", scales, zeros, shapes)
    module = integers(model)
    assert references(module, Op.LOOKUP_LINE) == [True]
    rng = np.random.default_rng(2)
    feed = {name: rng.uniform(-3, 6, extents).astype(np.float32) for name, extents in zip("ab", shapes, strict=True)}
    assert not distances(model, module, feed).any()


def test_a_function_of_a_quotient_by_0() -> None:
    """A line, too; in the middle of all pairs divisors are 0, so that nothing has a slope there."""
    scales, zeros = CASES["divisors of both signs"]
    model = quantized_pair(["Div", "Neg"], "uint8", scales, zeros)
    module = integers(model)
    assert references(module, Op.LOOKUP_LINE) == [True]
    assert not distances(model, module, pairs(scales, zeros)).any()


def test_a_pixel_is_no_dividend_of_a_map() -> None:
    """It would be another line of each dividend; there is no layer for that order, but the integers are the same."""
    scales, zeros = CASES["of attention"]
    model = quantized_pair(["Div"], "uint8", scales, zeros, ((1, 1, 1, 7), (1, 5, 6, 7)))
    module = integers(model)
    assert references(module, Op.LOOKUP_LINE) == []
    rng = np.random.default_rng(2)
    feed = {"a": rng.uniform(-3, 3, (1, 1, 1, 7)), "b": rng.uniform(0, 12, (1, 5, 6, 7))}
    assert not distances(model, module, {name: x.astype(np.float32) for name, x in feed.items()}).any()


def test_halves_that_no_lines_have() -> None:
    """Every other dividend of a divisor is a half of an output's step, which goes to an even one: a table of pairs."""
    scales, zeros = (0.5, 0.25, 1.0), (120, 0, 100)
    model = quantized_pair(["Div"], "uint8", scales, zeros)
    module = integers(model)
    assert references(module, Op.LOOKUP_LINE) == []
    assert not distances(model, module, pairs(scales, zeros)).any()
