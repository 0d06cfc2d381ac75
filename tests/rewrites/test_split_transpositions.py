"""Transpositions of many groups of axes: the same values from turns of two groups each, which modules take."""

from __future__ import annotations

import copy
import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match.ir.attributes import Transposition
from match.ir.layer import Op
from match.partitioning.pattern import Match
from match.relay import relay, tvm
from match.relay.objects import expressions, main_function
from match.relay.rewrite import is_call
from match.rewrites.split_transpositions import split_transpositions
from match.target.registry import get_target
from tests.layers_of import find
from tests.passes.running import executable
from tests.rewrites.through import rewritten

pytestmark = pytest.mark.tvm


def units(module: tvm.IRModule) -> list[int]:
    """Bytes of an element of each transposition that modules take."""
    found = [match.layer for match in find(module, ()) if isinstance(match, Match)]
    assert all(layer.op is Op.TRANSPOSE for layer in found)
    return [layer.get(Transposition).element_bytes for layer in found]


def transposed(extents: tuple[int, ...], order: tuple[int, ...], dtype: str = "int8") -> tvm.IRModule:
    x = relay.var("x", shape=extents, dtype=dtype)
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.transpose(x, order)))


def split(module: tvm.IRModule, target: str = "gap9") -> tvm.IRModule:
    """For modules with scratchpads."""
    chip = copy.copy(get_target(target))
    chip.modules = tuple(unit for unit in chip.modules if unit.memories)
    return rewritten(module, lambda graph: split_transpositions(graph, chip))


def count(module: tvm.IRModule) -> int:
    return sum(is_call(expr, "transpose") for expr in expressions(main_function(module)))


@st.composite
def permutations(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    extents = draw(st.lists(st.integers(1, 4), min_size=2, max_size=6))
    return tuple(extents), tuple(draw(st.permutations(range(len(extents)))))


@given(permutations())
def test_turns_do_what_one_transposition_does(case: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    extents, order = case
    values = np.arange(math.prod(extents)).astype(np.int8).reshape(extents)
    module = split(transposed(extents, order))
    assert np.array_equal(executable(module)({"x": values})[0], values.transpose(order))
    moved = [axis for axis in order if extents[axis] > 1]
    assert len(units(module)) == (0 if moved == sorted(moved) else count(module))


def swaps(order: tuple[int, ...]) -> int:
    """The fewest exchanges of neighbouring groups that sort it, by trying all."""
    reached, number = {order}, 0
    while tuple(sorted(order)) not in reached:
        places = list(itertools.combinations(range(len(order) + 1), 3))
        reached = {(*p[:a], *p[b:c], *p[a:b], *p[c:]) for p in reached for a, b, c in places}
        number += 1
    return number


@pytest.mark.parametrize(
    "order", [(1, 0), (2, 1, 0), (0, 2, 1), (2, 0, 3, 1), (3, 2, 1, 0), (1, 3, 0, 2, 4), (4, 3, 2, 1, 0)]
)
def test_there_are_no_fewer_turns(order: tuple[int, ...]) -> None:
    module = split(transposed((2, 3, 2, 3, 2)[: len(order)], order))
    assert count(module) == swaps(order)


def test_of_equally_many_turns_the_longest_elements_move() -> None:
    """Windows of a map, as transformers make them: of rows of channels, and of what is behind a group that stays."""
    module = split(transposed((4, 2, 3, 2, 16), (1, 3, 0, 2, 4)))
    assert sorted(units(module)) == [16, 3 * 2 * 16]


@pytest.mark.parametrize(
    ("extents", "dtype", "target"),
    [((2, 3, 4), "int32", "gap9"), ((2, 3, 4), "int8", "diana"), ((2, 2, 2, 2, 2, 2, 2), "int8", "gap9")],
)
def test_what_no_module_turns_and_what_has_too_many_groups_stays(
    extents: tuple[int, ...], dtype: str, target: str
) -> None:
    module = transposed(extents, tuple(range(len(extents)))[::-1], dtype)
    assert tvm.ir.structural_equal(split(module, target), module)
