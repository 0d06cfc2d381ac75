"""Operands of two tensors are written out as far as layers need it, and no further."""

from __future__ import annotations

import numpy as np
import pytest

from match.graph.evaluate import evaluate
from match.graph.operator import Described, Known
from match.graph.pairs import Addition
from match.graph.value import Graph, Value, computed
from match.ir.graph import Tensor
from match.rewrites.repeated_operands import with_repeated_operands
from match.target.registry import get_target

pytestmark = pytest.mark.unit

WHOLE = (2, 6, 9, 7)
ADDITION = Addition(multipliers=(3, 2), bias=8, shift=4, clip=(-128, 127), dtype="int8")


@pytest.mark.parametrize(
    ("own", "written"),
    [
        ((2, 1, 9, 1), (2, 6, 9, 1)),  # repeated along the last axis by the layer
        ((1, 6, 1, 7), (1, 6, 9, 7)),  # along the first
        ((1, 1, 9, 1), (1, 1, 9, 7)),  # either would do: that has fewer elements
        ((2, 1, 1, 7), WHOLE),
        ((1, 1, 9, 7), (1, 1, 9, 7)),
        ((2, 6, 1, 1), (2, 6, 1, 1)),
        ((9, 1), (1, 1, 9, 7)),
        ((1, 1, 1, 1), (1, 1, 1, 1)),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_as_far_as_layers_need_it(own: tuple[int, ...], written: tuple[int, ...], *, first: bool) -> None:
    a, b = Value(Tensor(WHOLE, "int8"), source="a"), Value(Tensor(own, "int8"), source="b")
    graph = Graph((a, b), (computed(ADDITION, *((a, b) if first else (b, a))),))
    changed = with_repeated_operands(graph, get_target("gap9"))
    (output,) = changed.outputs
    assert output.inputs[first].shape == written
    assert output.operator is not None
    described = output.operator.layer(output.tensor, [Known(x.tensor) for x in output.inputs])
    assert isinstance(described, Described)
    rng = np.random.default_rng(1)
    arrays = [rng.integers(-128, 128, shape).astype(np.int8) for shape in (WHOLE, own)]
    assert np.array_equal(evaluate(changed, arrays)[0], evaluate(graph, arrays)[0])


def test_the_control_core_repeats_along_any_axes() -> None:
    a, b = Value(Tensor(WHOLE, "int8"), source="a"), Value(Tensor((2, 1, 1, 7), "int8"), source="b")
    graph = Graph((a, b), (computed(ADDITION, a, b),))
    assert with_repeated_operands(graph, get_target("gap9", modules=())) is graph
