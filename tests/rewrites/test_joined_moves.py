"""Moves one after the other: transpositions with reshapes between them become one, of the factors of their axes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match.graph import moves
from match.graph.evaluate import evaluate
from match.graph.integers import Elementwise
from match.graph.moves import Move
from match.graph.value import Graph, Value, computed
from match.ir.graph import Tensor
from match.rewrites.joined_moves import join_moves

pytestmark = pytest.mark.unit

Step = tuple[tuple[int, ...], tuple[int, ...]]
"""Extents to reshape to, and an order of axes to transpose to."""


def given_tensor(shape: tuple[int, ...], dtype: str = "int8") -> Value:
    return Value(Tensor(shape, dtype), source="x")


def reshaped(x: Value, shape: tuple[int, ...]) -> Value:
    return computed(moves.reshape(x.tensor, shape), x)


def transposed(x: Value, order: tuple[int, ...]) -> Value:
    return computed(moves.transpose(x.tensor, order), x)


def moved(first: tuple[int, ...], steps: list[Step]) -> Graph:
    x = y = given_tensor(first)
    for extents, order in steps:
        y = transposed(reshaped(y, extents), order)
    return Graph((x,), (y,))


def by_numpy(values: np.ndarray, steps: list[Step]) -> np.ndarray:
    for extents, order in steps:
        values = values.reshape(extents).transpose(order)
    return values


def turns(graph: Graph) -> int:
    return sum(isinstance(value.operator, Move) and value.operator.turns for value in graph.values)


def reshapes(graph: Graph) -> int:
    return sum(isinstance(value.operator, Move) and value.operator.keeps_order for value in graph.values)


@st.composite
def chains(draw: st.DrawFn) -> tuple[tuple[int, ...], list[Step]]:
    """Reshapes that join neighbouring axes or take them apart again, as they may be or not be products of the same."""
    extents = draw(st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=2, max_size=4))
    first, steps = tuple(extents), list[Step]()
    for _ in range(draw(st.integers(1, 3))):
        order = tuple(draw(st.permutations(range(len(extents)))))
        steps.append((tuple(extents), order))
        extents = [extents[axis] for axis in order]
        if draw(st.booleans()):
            place = draw(st.integers(0, len(extents) - 1))
            whole = extents[place]
            part = draw(st.sampled_from([part for part in range(1, whole + 1) if whole % part == 0]))
            extents[place : place + 1] = [part, whole // part]
        if len(extents) > 2 and draw(st.booleans()):
            place = draw(st.integers(0, len(extents) - 2))
            extents[place : place + 2] = [extents[place] * extents[place + 1]]
    return first, steps


@given(chains())
def test_the_values_are_the_same(case: tuple[tuple[int, ...], list[Step]]) -> None:
    first, steps = case
    values = np.arange(math.prod(first)).astype(np.int8).reshape(first)
    graph = moved(first, steps)
    assert np.array_equal(evaluate(join_moves(graph), [values])[0], by_numpy(values, steps))
    assert turns(join_moves(graph)) <= turns(graph)


@pytest.mark.parametrize(
    ("first", "steps", "left"),
    [
        ((1, 8, 8, 16), [((1, 8, 8, 16), (0, 3, 1, 2)), ((1, 16, 4, 2, 4, 2), (0, 3, 5, 2, 4, 1))], 1),
        ((2, 3, 4), [((2, 3, 4), (2, 0, 1)), ((4, 6), (1, 0))], 0),
        ((6, 4), [((6, 4), (1, 0)), ((4, 2, 3), (1, 0, 2)), ((2, 2, 2, 3), (3, 2, 1, 0))], 1),
    ],
)
def test_at_most_one_is_left(first: tuple[int, ...], steps: list[Step], left: int) -> None:
    """As a map of channels last is cut into windows; or none, where the second undoes the first."""
    assert turns(join_moves(moved(first, steps))) == left


def test_axes_of_other_factors_stay_apart() -> None:
    assert turns(join_moves(moved((4, 6), [((4, 6), (1, 0)), ((4, 6), (1, 0))]))) == 2


def test_what_others_read_is_read_by_both() -> None:
    x = given_tensor((2, 3, 4))
    turned = transposed(x, (2, 0, 1))
    graph = join_moves(Graph((x,), (turned, transposed(turned, (1, 0, 2)))))
    assert graph.outputs[0] is turned
    assert graph.outputs[1].inputs == (turned,)


def test_idle_reshapes_go() -> None:
    x = given_tensor((1, 4, 4, 3))
    flat = reshaped(reshaped(reshaped(x, (1, 16, 3)), (1, 48)), (48,))
    graph = join_moves(Graph((x,), (flat, reshaped(flat, (1, 4, 4, 3)))))
    assert reshapes(graph) == 1
    assert graph.outputs[0].inputs == (x,)
    assert graph.outputs[1] is x


def test_transpositions_that_move_nothing_are_reshapes() -> None:
    """Extents of 1 change their places, or others do, too."""
    x = given_tensor((1, 7, 1, 5))
    idle, whole = transposed(x, (0, 2, 1, 3)), transposed(x, (3, 2, 1, 0))
    graph = join_moves(Graph((x,), (idle, reshaped(idle, (7, 5)), whole)))
    assert (turns(graph), reshapes(graph)) == (1, 2)


def extremum(name: str, *operands: Value) -> Value:
    return computed(Elementwise(function=name, dtype="int8"), *operands)


def test_extrema_of_a_tensor_and_itself_go() -> None:
    """In whatever shapes; not so those of one that is broadcast."""
    x, y = given_tensor((2, 5)), given_tensor((2, 5))
    flat = reshaped(x, (1, 10))
    graph = join_moves(
        Graph(
            (x, y),
            (
                extremum("minimum", flat, reshaped(x, (10,))),
                extremum("maximum", x, x),
                extremum("maximum", x, reshaped(x, (2, 1, 5))),
                extremum("maximum", x, y),
            ),
        )
    )
    assert graph.outputs[0].inputs == (x,)
    assert graph.outputs[0].shape == (1, 10)
    assert graph.outputs[1] is x
    assert [isinstance(value.operator, Elementwise) for value in graph.outputs] == [False, False, True, True]


def test_names_and_exactness_stay() -> None:
    """Those of the operator whose place another one takes."""
    x = given_tensor((2, 3, 4))
    last = replace(transposed(transposed(x, (2, 0, 1)), (1, 0, 2)), source="last", exact=False)
    (found,) = join_moves(Graph((x,), (last,))).outputs
    assert (found.source, found.exact, found.shape) == ("last", False, last.shape)
