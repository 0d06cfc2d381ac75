"""Layers of several maps cut into layers of one map each compute the same."""

from __future__ import annotations

import numpy as np
import pytest

import match
from match.graph.evaluate import evaluate
from match.graph.integers import Elementwise
from match.graph.make import constant
from match.graph.maximum import Maximum
from match.graph.value import Graph, Value, computed
from match.ir.graph import Tensor
from match.ir.layer import Padding
from match.rewrites.split_batches import split_batches

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("shape", [(3, 4, 6, 2), (3, 4, 6, 1), (1, 4, 1, 2), (6, 2)])
def test_constants_of_each_map_and_of_all(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(4)
    x = Value(Tensor((3, 4, 6, 2), "uint8"), source="x")
    pooled = computed(Maximum(window=(1, 1), strides=(1, 1), padding=Padding(), dilation=(1, 1)), x)
    limits = constant(rng.integers(0, 256, shape).astype(np.uint8))
    larger = computed(Elementwise(function="maximum", dtype="uint8"), pooled, limits)
    last = computed(Maximum(window=(2, 2), strides=(2, 2), padding=Padding(), dilation=(1, 1)), larger)
    graph = Graph((x,), (last,))
    split = split_batches(graph, match.get_target("gap9"))
    assert sum(isinstance(value.operator, Elementwise) for value in split.values) == 3
    sample = rng.integers(0, 256, x.shape).astype(np.uint8)
    (found,), (expected,) = (evaluate(one, [sample]) for one in (split, graph))
    assert np.array_equal(found, expected)
