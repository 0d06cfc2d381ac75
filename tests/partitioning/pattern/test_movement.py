"""Operators that move values, as layers: what a layer says, in NumPy, is what the operator does."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match.ir.attributes import Gathering, Slice, Transposition
from match.ir.constants import GatheredColumns, InputTables
from match.ir.layer import Op
from match.partitioning.pattern import Match, Rejection
from match.relay import integer_form, relay, tvm
from tests.layer_data import data_of
from tests.layers_of import find

pytestmark = pytest.mark.tvm

EXAMPLES = settings(max_examples=60, deadline=None)
shapes = st.lists(st.integers(1, 4), min_size=2, max_size=5)


def found(output: Any) -> tuple[Match | Rejection, ...]:
    return find(relay.transform.InferType()(tvm.IRModule.from_expr(output)))


def numbered(shape: list[int]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return (np.arange(math.prod(shape)) % 251).astype(np.uint8).reshape(shape)


def sliced(match: Match, x: np.ndarray[Any, np.dtype[np.uint8]]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """What the layer of a slice says."""
    layer = match.layer
    start = layer.get(Slice).start
    return x.reshape(layer.oy, layer.ox, layer.get(Slice).channels)[..., start : start + layer.k]


@EXAMPLES
@given(st.data())
def test_transpose(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    axes = data.draw(st.permutations(range(len(shape))))
    x = numbered(shape)
    expected = x.transpose(axes)
    matches = found(relay.transpose(relay.var("x", shape=tuple(shape), dtype="uint8"), axes))
    moving = [axis for axis in axes if shape[axis] > 1]
    swapped = [[*moving[:at], moving[at + 1], moving[at], *moving[at + 2 :]] for at in range(len(moving) - 1)]
    assert bool(matches) >= (moving != sorted(moving) and sorted(moving) in swapped)
    for match in matches:
        assert isinstance(match, Match)
        layer = match.layer
        assert (layer.op, layer.iy, layer.ix) == (Op.TRANSPOSE, layer.oy, layer.ox)
        turned = x.reshape(layer.oy, layer.k, layer.ox, layer.get(Transposition).element_bytes).transpose(0, 2, 1, 3)
        assert np.array_equal(turned.reshape(expected.shape), expected)


def test_shuffle_is_one_transposition() -> None:
    x = relay.var("x", shape=(1, 4, 3, 10), dtype="uint8")
    turned = relay.transpose(relay.reshape(x, (1, 4, 3, 2, 5)), (0, 1, 2, 4, 3))
    (match,) = found(relay.reshape(turned, (1, 4, 3, 10)))
    assert isinstance(match, Match)
    assert (match.layer.oy, match.layer.ox, match.layer.k) == (12, 5, 2)


def test_a_transposition_may_be_reshaped_in_several_ways() -> None:
    """As are a tensor in front of it and what it makes: a reshape is free."""
    flat = relay.reshape(relay.var("x", shape=(1, 60), dtype="uint8"), (1, 12, 5))
    turned = relay.transpose(flat, (0, 2, 1))
    matches = found(relay.Tuple([relay.reshape(turned, (5, 12)), relay.reshape(turned, (60,)), flat]))
    assert [match.layer.op for match in matches if isinstance(match, Match)] == [Op.TRANSPOSE]
    assert len(matches) == 1


@EXAMPLES
@given(st.data())
def test_slice(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    axis = data.draw(st.integers(0, len(shape) - 1))
    begin = data.draw(st.integers(0, shape[axis] - 1))
    end = data.draw(st.integers(begin + 1, shape[axis]))
    x = numbered(shape)
    matches = found(relay.strided_slice(relay.var("x", shape=tuple(shape), dtype="uint8"), [begin], [end], axes=[axis]))
    assert len(matches) == (end - begin < shape[axis])
    for match in matches:
        assert isinstance(match, Match)
        expected = x.take(range(begin, end), axis)
        assert np.array_equal(sliced(match, x).reshape(expected.shape), expected)


@EXAMPLES
@given(st.data())
def test_concatenate(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    axis = data.draw(st.integers(0, len(shape) - 1))
    other = [*shape]
    other[axis] = data.draw(st.integers(1, 4))
    table = np.random.default_rng(0).permutation(256)
    a, b = (relay.var(name, shape=tuple(size), dtype="uint8") for name, size in (("a", shape), ("b", other)))
    (match,) = found(relay.concatenate([a, integer_form.lookup(b, table, "uint8", "uint8")], axis))
    assert isinstance(match, Match)
    layer, tables = match.layer, data_of(match.constants, InputTables).entries
    assert ([own.source for own in match.inputs], layer.op) == (["a", "b"], Op.CONCATENATE)
    x, y = numbered(shape), numbered(other)[..., ::-1]
    parts = [own[z].reshape(layer.oy, layer.ox, -1) for own, z in zip(tables, (x, y), strict=True)]
    assert parts[0].shape[2] == layer.input_channels
    expected = np.concatenate([x, table.astype(np.uint8)[y]], axis)
    assert np.array_equal(np.concatenate(parts, 2).reshape(expected.shape), expected)


def test_a_table_that_others_read_stays_a_layer() -> None:
    a, b = (relay.var(name, shape=(1, 2, 3, 4), dtype="uint8") for name in ("a", "b"))
    looked_up = integer_form.lookup(b, np.arange(256), "uint8", "uint8")
    layers = found(relay.Tuple([relay.concatenate([a, looked_up], 3), looked_up]))
    assert [layer.layer.op for layer in layers if isinstance(layer, Match)] == [Op.LOOKUP, Op.CONCATENATE]


@pytest.mark.parametrize("real", [False, True])
def test_a_concatenation_is_as_exact_as_its_tables(real: bool) -> None:
    a, b = (relay.var(name, shape=(1, 2, 3, 4), dtype="uint8") for name in ("a", "b"))
    looked_up = integer_form.lookup(b, np.arange(256)[::-1], "uint8", "uint8", real=real)
    (layer,) = found(relay.concatenate([a, looked_up], 3))
    assert isinstance(layer, Match)
    assert len(layer.covered) == 2
    assert layer.reference != real


def test_three_tensors_are_paired_before() -> None:
    x = relay.var("x", shape=(1, 2, 3, 4), dtype="uint8")
    assert not found(relay.concatenate([x, x, x], 3))


def gathered(match: Match | Rejection, x: np.ndarray[Any, np.dtype[np.uint8]]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """What a layer says of its columns, in NumPy."""
    assert isinstance(match, Match)
    layer, columns = match.layer, data_of(match.constants, GatheredColumns).entries
    assert layer.op is Op.GATHER
    assert layer.iy == layer.oy
    assert layer.get(Gathering).runs == len(
        [at for at in range(layer.ox) if at == 0 or columns[at] != columns[at - 1] + (columns[at - 1] >= 0)]
    )
    matrix = x.reshape(layer.oy, layer.ix, layer.k)
    return np.where(columns[:, None] < 0, np.uint8(layer.pad_value), matrix[:, columns])


@EXAMPLES
@given(st.data())
def test_indices_of_an_axis(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    indices = data.draw(st.lists(st.integers(0, shape[axis] - 1), min_size=1, max_size=9))
    x = numbered(shape)
    taken = relay.take(relay.var("x", shape=tuple(shape), dtype="uint8"), relay.const(np.array(indices)), axis=axis)
    (match,) = found(taken)
    expected = x.take(indices, axis)
    neighbours = len(indices) < shape[axis] and np.all(np.diff(indices) == 1)
    assert isinstance(match, Match)
    assert match.layer.op is (Op.SLICE if neighbours else Op.GATHER)
    moved = sliced(match, x) if neighbours else gathered(match, x)
    assert np.array_equal(moved.reshape(expected.shape), expected)


@EXAMPLES
@given(st.data())
def test_padding_of_an_axis(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    axis, value = data.draw(st.integers(0, len(shape) - 1)), data.draw(st.integers(0, 255))
    width = data.draw(st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(any))
    widths = [width if own == axis else (0, 0) for own in range(len(shape))]
    x = numbered(shape)
    padded = relay.nn.pad(relay.var("x", shape=tuple(shape), dtype="uint8"), widths, relay.const(value, "uint8"))
    (match,) = found(padded)
    expected = np.pad(x, widths, constant_values=value)
    assert np.array_equal(gathered(match, x).reshape(expected.shape), expected)


@EXAMPLES
@given(st.data())
def test_slices_with_steps(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    axis, step = data.draw(st.integers(0, len(shape) - 1)), data.draw(st.sampled_from([-2, -1, 2, 3]))
    begin = data.draw(st.integers(0, shape[axis] - 1))
    end = -shape[axis] - 1 if step < 0 else shape[axis]
    x = numbered(shape)
    variable = relay.var("x", shape=tuple(shape), dtype="uint8")
    matches = found(relay.strided_slice(variable, [begin], [end], [step], axes=[axis]))
    whole = tuple(slice(begin, None, step) if own == axis else slice(None) for own in range(len(shape)))
    for match in matches:
        if isinstance(match, Match) and match.layer.op is Op.GATHER:
            assert np.array_equal(gathered(match, x).reshape(x[whole].shape), x[whole])
    assert matches or x[whole].shape == x.shape


@pytest.mark.parametrize("mode", ["edge", "reflect"])
def test_padding_with_the_tensors_own_elements(mode: Any) -> None:
    x = numbered([3, 4])
    padded = relay.nn.pad(relay.var("x", shape=(3, 4), dtype="uint8"), ((2, 1), (0, 0)), relay.const(3, "uint8"), mode)
    (match,) = found(padded)
    expected = np.pad(x, ((2, 1), (0, 0)), mode)
    assert np.array_equal(gathered(match, x).reshape(expected.shape), expected)


def test_what_is_no_gather() -> None:
    """Two axes at once, what a network computes indices of, and what is wider."""
    x, wide = relay.var("x", shape=(3, 4), dtype="uint8"), relay.var("x", shape=(3, 4), dtype="int32")
    chosen = relay.const(np.array([1, 0]))
    assert not found(relay.nn.pad(x, ((1, 0), (0, 1)), relay.const(3, "uint8")))
    assert not found(relay.take(x, relay.var("y", shape=(2,), dtype="int32"), axis=0))
    assert not found(relay.take(wide, chosen, axis=1))
    assert not found(relay.take(x, relay.const(np.array([1, 7])), axis=1))
    assert not found(relay.strided_slice(x, [0, 0], [3, 4], [2, 2]))
