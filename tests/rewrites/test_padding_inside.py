"""Padding in front of a convolution as its own: where it goes in, and where it stays."""

from __future__ import annotations

import numpy as np
import pytest

from match.graph.evaluate import evaluate
from match.graph.make import padded, reshaped
from match.graph.moves import Move
from match.graph.sums import Convolution
from match.graph.value import Graph, Value, computed
from match.ir.graph import Tensor
from match.ir.layer import Padding
from match.ir.requantization import Requantization
from match.rewrites.padding_inside import with_padding_inside

pytestmark = pytest.mark.unit

ZERO = 7


def convolved(x: Value, fill: int = ZERO, padding: Padding = Padding(), size: tuple[int, int] = (3, 3)) -> Value:
    rng = np.random.default_rng(1)
    ones = np.ones(2, np.int64)
    convolution = Convolution(
        weights=rng.integers(-9, 9, (*size, x.shape[3], 2)).astype(np.int8),
        requantization=Requantization(ones, 512 * ones, 10 * ones, (-128, 127)),
        dtype="int8",
        strides=(1, 1),
        padding=padding,
        dilation=(1, 1),
        groups=1,
        pad_value=fill,
        kernel_layout="HWIO",
    )
    return computed(convolution, x)


def result(x: Value, end: Value) -> Convolution:
    """The convolution after the rewrite, whose outputs are those before."""
    before = Graph((x,), (end,))
    after = with_padding_inside(before)
    values = np.random.default_rng(2).integers(-128, 128, x.shape).astype(np.int8)
    (one,), (other,) = evaluate(before, [values]), evaluate(after, [values])
    assert np.array_equal(one, other)
    for value in after.values:
        if value.operator is not None:
            assert value.tensor == value.operator.result(*(source.tensor for source in value.inputs))
    assert isinstance(after.outputs[0].operator, Convolution)
    return after.outputs[0].operator


def moved(x: Value, end: Value) -> bool:
    """Whether the padding is gone."""
    return not any(
        isinstance(value.operator, Move) and value.operator.padding_value is not None
        for value in with_padding_inside(Graph((x,), (end,))).values
    )


@pytest.fixture
def x() -> Value:
    return Value(Tensor((1, 5, 6, 4), "int8"), source="x")


def test_it_is_added_to_the_convolutions_own(x: Value) -> None:
    end = convolved(padded(x, [(0, 0), (1, 0), (0, 1), (0, 0)], ZERO), padding=Padding(0, 1, 1, 0))
    assert result(x, end).padding == Padding(1, 1, 1, 1)
    assert moved(x, end)


def test_several_in_a_row(x: Value) -> None:
    inner = padded(x, [(0, 0), (1, 0), (0, 0), (0, 0)], ZERO)
    end = convolved(padded(inner, [(0, 0), (0, 0), (0, 1), (0, 0)], ZERO))
    assert result(x, end).padding == Padding(1, 0, 0, 1)


def test_a_sequence_that_becomes_a_map_of_one_row() -> None:
    x = Value(Tensor((1, 9, 4), "int8"), source="x")
    end = convolved(reshaped(padded(x, [(0, 0), (2, 0), (0, 0)], ZERO), (1, 1, 11, 4)), size=(1, 3))
    assert result(x, end).padding == Padding(0, 2, 0, 0)
    assert moved(x, end)


@pytest.mark.parametrize(
    "widths",
    [[(0, 0), (0, 0), (0, 0), (1, 0)], [(0, 0), (3, 0), (0, 0), (0, 0)]],
    ids=["channels", "a window in padding alone"],
)
def test_other_padding_stays(x: Value, widths: list[tuple[int, int]]) -> None:
    end = convolved(padded(x, widths, ZERO))
    assert result(x, end).padding == Padding()
    assert not moved(x, end)


def test_another_number_than_the_convolutions_stays(x: Value) -> None:
    end = convolved(padded(x, [(0, 0), (1, 0), (0, 0), (0, 0)], 0), padding=Padding(0, 1, 0, 0))
    assert result(x, end).padding == Padding(0, 1, 0, 0)
    assert not moved(x, end)
