"""Gathers and moves in the C of the control core: what NumPy computes from their definitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from match.graph.evaluate import evaluate
from match.graph.gathers import Gather, GatherElements
from match.graph.moves import FILL, take
from match.graph.points import at_points, with_parts
from match.graph.value import Graph, Value, computed
from match.ir.graph import Tensor
from match.relay.execute import Executable
from match.relay.graph_writer import write_graph

pytestmark = pytest.mark.tvm

RNG = np.random.default_rng(4)
X = RNG.integers(-90, 90, (3, 5, 4)).astype(np.int8)

Arrays = Sequence[npt.NDArray[np.generic]]


def both(graph: Graph, arrays: Arrays) -> Arrays:
    """What NumPy computes of a graph, and what TVM does."""
    named = {f"x{place}": array for place, array in enumerate(arrays)}
    return [evaluate(graph, arrays)[0], Executable(write_graph(graph).module)(named)[0]]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_indices_from_the_end(axis: int) -> None:
    extent = X.shape[axis]
    indices = RNG.integers(-extent, extent, (2, 3))
    inputs = Value(Tensor(X.shape, "int8")), Value(Tensor(indices.shape, "int64"))
    graph = Graph(inputs, (computed(Gather(axis=axis, from_end=True), *inputs),))
    for found in both(graph, [X, indices]):
        np.testing.assert_array_equal(found, np.take(X, indices, axis))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_an_index_for_each_element(axis: int) -> None:
    extent = X.shape[axis]
    indices = RNG.integers(-extent, extent, X.shape)
    inputs = Value(Tensor(X.shape, "int8")), Value(Tensor(indices.shape, "int64"))
    for found in both(Graph(inputs, (computed(GatherElements(axis=axis), *inputs),)), [X, indices]):
        np.testing.assert_array_equal(found, np.take_along_axis(X, indices, axis))


@pytest.mark.parametrize("columns", [[0, FILL, 2, FILL, 1], [FILL, 4, FILL, 3, FILL], [2, FILL, FILL, 2]])
def test_what_fills_between_elements(columns: list[int]) -> None:
    x = Value(Tensor(X.shape, "int8"))
    moved = computed(take(x.tensor, [None, np.array(columns, np.int32), None], 7), x)
    expected = np.stack([np.full((3, 4), 7, np.int8) if one == FILL else X[:, one] for one in columns], axis=1)
    for found in both(Graph((x,), (moved,)), [X]):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("grid", [True, False])
def test_parts_at_points(*, grid: bool) -> None:
    rows, columns = RNG.integers(0, 3, (2, 2)), RNG.integers(0, 5, (3, 1))
    points = np.stack(np.broadcast_arrays(rows[:, :, None, None], columns), axis=-1)
    if not grid:
        points[1, 0, 2, 0, 0] = (points[1, 0, 2, 0, 0] + 1) % 3
    x = Value(Tensor(X.shape, "int8"))
    for found in both(Graph((x,), (at_points(x, points),)), [X]):
        np.testing.assert_array_equal(found, X[points[..., 0], points[..., 1]])


@pytest.mark.parametrize("grid", [True, False])
@pytest.mark.parametrize("columns", [[3], [1, 2, 3], [4, 0, 2], [0, 1], [2, 4, 3, 1, 0]])
def test_other_parts_at_points(columns: list[int], *, grid: bool) -> None:
    rows = RNG.permutation(3)[:2]
    points = np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)
    points = points if grid else RNG.permutation(points)[1:]
    others = RNG.integers(-99, 99, (len(points), *X.shape[2:])).astype(np.int8)
    expected = X.copy()
    expected[tuple(points.T)] = others
    inputs = Value(Tensor(X.shape, "int8")), Value(Tensor(others.shape, "int8"))
    shaped = points.reshape(2, -1, 2) if grid else points
    whole = with_parts(inputs[0], shaped, inputs[1])
    for found in both(Graph(inputs, (whole,)), [X, others]):
        np.testing.assert_array_equal(found, expected)
