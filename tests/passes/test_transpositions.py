"""Transpositions one behind the other, with reshapes between them: one of the factors of their axes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match.passes.transpositions import JoinTranspositions
from match.relay import relay, tvm
from match.relay.objects import expressions, main_function
from match.relay.rewrite import is_call
from tests.passes.running import executable

pytestmark = pytest.mark.tvm

Step = tuple[tuple[int, ...], tuple[int, ...]]
"""Extents to reshape to, and an order of axes to transpose to."""


def moved(first: tuple[int, ...], steps: list[Step]) -> tvm.IRModule:
    x = relay.var("x", shape=first, dtype="int8")
    body = x
    for extents, order in steps:
        body = relay.transpose(relay.reshape(body, extents), order)
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))


def by_numpy(values: np.ndarray, steps: list[Step]) -> np.ndarray:
    for extents, order in steps:
        values = values.reshape(extents).transpose(order)
    return values


def count(module: tvm.IRModule) -> int:
    return sum(is_call(expr, "transpose") for expr in expressions(main_function(module)))


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
    joined = JoinTranspositions()(moved(first, steps))
    assert np.array_equal(executable(joined)({"x": values})[0], by_numpy(values, steps))


@pytest.mark.parametrize(
    ("first", "steps"),
    [
        ((1, 8, 8, 16), [((1, 8, 8, 16), (0, 3, 1, 2)), ((1, 16, 4, 2, 4, 2), (0, 3, 5, 2, 4, 1))]),
        ((2, 3, 4), [((2, 3, 4), (2, 0, 1)), ((4, 6), (1, 0))]),
        ((6, 4), [((6, 4), (1, 0)), ((4, 2, 3), (1, 0, 2)), ((2, 2, 2, 3), (3, 2, 1, 0))]),
    ],
)
def test_one_is_left(first: tuple[int, ...], steps: list[Step]) -> None:
    """As a map of channels last is cut into windows."""
    assert count(JoinTranspositions()(moved(first, steps))) == 1


def test_axes_of_other_factors_stay_apart() -> None:
    module = moved((4, 6), [((4, 6), (1, 0)), ((4, 6), (1, 0))])
    assert count(JoinTranspositions()(module)) == 2


def test_what_others_read_is_read_by_both() -> None:
    x = relay.var("x", shape=(2, 3, 4), dtype="int8")
    turned = relay.transpose(x, (2, 0, 1))
    body = relay.Tuple([turned, relay.transpose(turned, (1, 0, 2))])
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
    assert tvm.ir.structural_equal(JoinTranspositions()(module), module)
