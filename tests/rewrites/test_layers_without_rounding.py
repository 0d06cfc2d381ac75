"""Layers that the reference computes in floating point are exact where float32 rounds nothing but their outputs."""

from __future__ import annotations

import numpy as np
import pytest

from match.graph.elements import Dequantize, Quantize
from match.graph.evaluate import evaluate
from match.graph.make import constant
from match.graph.reals import Levels, RealProduct
from match.graph.value import Graph, Value, computed
from match.ir.float_border import FloatQuantization
from match.ir.graph import Tensor
from match.rewrites.quantized_groups import with_quantized_groups

pytestmark = pytest.mark.unit

COLUMNS = 5


def product(depth: int, scale: float, *, weights: float = 2.0**-6, bias: float = 0.0) -> Graph:
    """Rows of uint8 times a matrix, in floating point, and a bias."""
    x = Value(Tensor((3, depth), "uint8"), source="x")
    levels = np.random.default_rng(2).integers(-127, 128, (depth, COLUMNS)).astype(np.int8)
    matrix = Levels(levels=levels, scales=np.array([weights], np.float32), zero_points=np.zeros(1, np.int64))
    real = computed(Dequantize(scale=np.float32(scale), zero_point=7), x)
    numbers = constant(np.full(COLUMNS, bias, np.float32))
    sums = computed(RealProduct(), real, computed(matrix), numbers, exact=False)
    function = FloatQuantization(np.float32(4), 120, "uint8", half_to_even=True)
    return Graph((x,), (computed(Quantize(function=function), sums),))


@pytest.mark.parametrize(
    ("depth", "scale", "bias", "exact"),
    [
        (24, 2.0**-5, 0.0, True),
        (24, 2.0**-5, 0.5, True),
        (24, 0.03, 0.0, False),  # a scale rounds
        (24, 2.0**-5, 2.0**-13, False),  # the bias is no multiple of a step
        (4096, 2.0**-5, 0.0, False),  # sums are beyond what float32 holds
    ],
)
def test_scales_that_are_powers_of_two(depth: int, scale: float, bias: float, exact: bool) -> None:
    graph = product(depth, scale, bias=bias)
    integers = with_quantized_groups(graph)
    assert all(value.exact for value in integers.values) == exact
    assert not any(value.dtype == "float32" for value in integers.values)
    x = np.random.default_rng(3).integers(0, 256, (3, depth)).astype(np.uint8)
    (expected,), (found,) = evaluate(graph, [x]), evaluate(integers, [x])
    assert np.abs(found.astype(int) - expected).max() <= (0 if exact else 1)
