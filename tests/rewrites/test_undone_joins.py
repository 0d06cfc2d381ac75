"""Slices of concatenations and concatenations of slices: texts before and after, and the same numbers as NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match.graph import moves
from match.graph.evaluate import evaluate
from match.graph.moves import Concatenate, Move
from match.graph.text import arrays, parse, text
from match.graph.value import Graph, Value, computed
from match.ir.graph import Tensor
from match.rewrites.undone_joins import without_undone_joins

pytestmark = pytest.mark.unit

INPUTS = "v0: int8[1, 2, 6] = input('x')\nv1: int8[1, 2, 4] = input('y')\n"
JOINED = f"{INPUTS}v2: int8[1, 2, 10] = concatenate(v0, v1, axis=2)\n"


def cut(source: str, extent: int, columns: Sequence[int]) -> str:
    """The text of indices of the last axis."""
    return (
        f"move({source}, split=(1, 2, {extent}), columns=(None, None, int32({[*columns]})), axes=(0, 1, 2), "
        f"shape=(1, 2, {len(columns)}))"
    )


@pytest.mark.parametrize(
    ("columns", "after"),
    [
        (range(6), "return v0\n"),
        (range(6, 10), "return v1\n"),
        ([7, 8], f"v2: int8[1, 2, 2] = {cut('v1', 4, [1, 2])}.of('part')\nreturn v2\n"),
        ([5, 0, 5], f"v2: int8[1, 2, 3] = {cut('v0', 6, [5, 0, 5])}.of('part')\nreturn v2\n"),
    ],
)
def test_what_is_taken_of_one_part_is_taken_there(columns: Sequence[int], after: str) -> None:
    before = f"{JOINED}v3: int8[1, 2, {len(columns)}] = {cut('v2', 10, columns)}.of('part')\nreturn v3\n"
    assert text(without_undone_joins(parse(before))) == INPUTS + after


def test_parts_of_parts_are_taken_of_the_innermost() -> None:
    before = f"{JOINED}v3: int8[1, 2, 14] = concatenate(v1, v2, axis=2)\n"
    before += f"v4: int8[1, 2, 2] = {cut('v3', 14, [11, 13])}\nreturn v4\n"
    after = f"{INPUTS}v2: int8[1, 2, 2] = {cut('v1', 4, [1, 3])}\nreturn v2\n"
    assert text(without_undone_joins(parse(before))) == after


@pytest.mark.parametrize("columns", [[5, 6], [0, moves.FILL]])
def test_what_is_of_several_parts_or_filled_stays(columns: list[int]) -> None:
    before = f"{JOINED}v3: int8[1, 2, 2] = {cut('v2', 10, columns)}\nreturn v3\n"
    assert text(without_undone_joins(parse(before))) == before


HALVES = f"{INPUTS}v2: int8[1, 2, 3] = {cut('v0', 6, [0, 1, 2])}\nv3: int8[1, 2, 3] = {cut('v0', 6, [3, 4, 5])}\n"


def test_a_tensor_that_is_put_together_again_was_never_cut() -> None:
    """Also among others, as blocks hand on a map and what they made of its halves."""
    before = f"{HALVES}v4: int8[1, 2, 10] = concatenate(v2, v3, v1, axis=2).of('all')\nreturn v4\n"
    assert text(without_undone_joins(parse(before))) == (
        f"{INPUTS}v2: int8[1, 2, 10] = concatenate(v0, v1, axis=2).of('all')\nreturn v2\n"
    )
    alone = f"{HALVES}v4: int8[1, 2, 6] = concatenate(v2, v3, axis=2)\nreturn v4\n"
    assert text(without_undone_joins(parse(alone))) == f"{INPUTS}return v0\n"


@pytest.mark.parametrize("operands", ["v3, v2", "v2, v1, v3", "v3, v3", "v2, v1"])
def test_other_orders_and_less_than_all_stay(operands: str) -> None:
    whole = 3 * operands.count(",") + 3 + operands.count("v1")
    before = parse(f"{HALVES}v4: int8[1, 2, {whole}] = concatenate({operands}, axis=2)\nreturn v4\n")
    (after,) = without_undone_joins(before).outputs
    assert after.inputs == before.outputs[0].inputs


@pytest.mark.parametrize(
    ("tensor", "joined", "fields"),
    [
        ("4, 2", "4, 2", "split=(4, 2), columns=(int32({}), None), axes=(1, 0), shape=(2, 2)"),
        ("4, 2", "8, 1", "split=(4, 2), columns=(int32({}), None), axes=(0, 1), shape=(4, 1)"),
        ("4, 2", "4, 2", "split=(4, 2), columns=(int32({}), int32([1, 0])), axes=(0, 1), shape=(2, 2)"),
        ("4, 2, 3", "4, 6", "split=(4, 6), columns=(int32({}), None), axes=(0, 1), shape=(2, 6)"),
    ],
    ids=["turned", "in another shape", "of two axes", "of joined axes"],
)
def test_halves_that_are_also_moved_stay(tensor: str, joined: str, fields: str) -> None:
    half = fields.rpartition("(")[2].rstrip(")")
    before = f"v0: int8[{tensor}] = input('x')\n"
    for number, rows in enumerate(("[0, 1]", "[2, 3]"), 1):
        before += f"v{number}: int8[{half}] = move(v0, {fields.format(rows)})\n"
    before += f"v3: int8[{joined}] = concatenate(v1, v2, axis=0)\nreturn v3\n"
    assert text(without_undone_joins(parse(before))) == before


def test_a_part_that_is_turned_is_turned_alone() -> None:
    inputs = "v0: int8[2, 2] = input('x')\nv1: int8[2, 2] = input('y')\n"
    before = f"{inputs}v2: int8[2, 4] = concatenate(v0, v1, axis=1)\n"
    before += "v3: int8[2, 2] = move(v2, split=(2, 4), columns=(None, int32([2, 3])), axes=(1, 0), shape=(2, 2))\n"
    after = "v2: int8[2, 2] = move(v1, split=(2, 2), columns=(None, None), axes=(1, 0), shape=(2, 2))\nreturn v2\n"
    assert text(without_undone_joins(parse(f"{before}return v3\n"))) == inputs + after


def tables(second: int) -> tuple[Graph, Graph]:
    """Halves, each through a table, and what is made of them."""
    more = np.arange(-128, 128) + 1
    before = parse(
        f'{HALVES}v4: int8[1, 2, 3] = lookup(v2, outputs=int64((256,), "first"), dtype="int8").of("all")\n'
        'v5: int8[1, 2, 3] = lookup(v3, outputs=int64((256,), "second"), dtype="int8").of(exact=False)\n'
        "v6: int8[1, 2, 10] = concatenate(v4, v5, v1, axis=2)\nreturn v6\n",
        {"first": np.minimum(more, 127), "second": np.minimum(more, second)},
    )
    return before, without_undone_joins(before)


def test_one_table_of_all_parts_is_one_of_the_tensor() -> None:
    """It is exact where all are."""
    before, after = tables(127)
    (table,) = arrays(after)
    assert text(after) == (
        f"{INPUTS}v2: int8[1, 2, 6] = lookup(v0, outputs=int64((256,), \"{table}\"), dtype='int8')"
        ".of('all', exact=False)\n"
        "v3: int8[1, 2, 10] = concatenate(v2, v1, axis=2)\nreturn v3\n"
    )
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-128, 128, (1, 2, extent)).astype(np.int8) for extent in (6, 4))
    expected = np.concatenate([np.minimum(x.astype(int) + 1, 127), y], 2)
    assert np.array_equal(evaluate(after, [x, y])[0], expected)
    assert np.array_equal(evaluate(before, [x, y])[0], expected)


def test_two_tables_stay() -> None:
    before, after = tables(100)
    assert text(after) == text(before)


Made = tuple[Value, Callable[[np.ndarray], np.ndarray]]
"""A tensor, and NumPy's function of the network's input."""


@st.composite
def networks(draw: st.DrawFn) -> Made:
    """Moves and concatenations of a tensor (3, 4) and of what was made of it before."""
    x = Value(Tensor((3, 4), "int8"), source="x")
    made: list[Made] = [(x, lambda values: values)]
    for _ in range(draw(st.integers(2, 7))):
        axis, kind = draw(st.integers(0, 1)), draw(st.sampled_from(["halves", "moved", "joined"]))
        if kind == "joined":
            made.append(_joined(draw, axis, made))
        elif kind == "moved":
            made.append(_moved(draw, *draw(st.sampled_from(made))))
        else:
            made += _halves(draw, axis, *draw(st.sampled_from(made)))
    return made[-1]


def _halves(draw: st.DrawFn, axis: int, value: Value, by_numpy: Callable[[np.ndarray], np.ndarray]) -> list[Made]:
    """The tensor in two, if it is long enough."""
    extent = value.shape[axis]
    place = draw(st.integers(1, max(1, extent - 1)))
    parts = [np.arange(place, dtype=np.int32), np.arange(place, extent, dtype=np.int32)]
    return [
        (
            computed(moves.take(value.tensor, [columns if axis == own else None for own in (0, 1)]), value),
            lambda values, columns=columns: by_numpy(values).take(columns, axis),
        )
        for columns in parts
        if columns.size
    ]


def _moved(draw: st.DrawFn, value: Value, by_numpy: Callable[[np.ndarray], np.ndarray]) -> Made:
    """Some indices of axes that are the tensor's or others, which may change places, joined or not."""
    split, axes = draw(st.sampled_from([value.shape, value.shape[::-1]])), tuple(draw(st.permutations([0, 1])))
    some = [draw(st.none() | st.lists(st.integers(0, extent - 1), min_size=1, max_size=4)) for extent in split]
    columns = [None if one is None else np.array(one, np.int32) for one in some]
    taken = np.ix_(*(np.arange(extent) if one is None else one for one, extent in zip(columns, split, strict=True)))
    shape = np.empty(split)[taken].transpose(axes).shape
    shape = draw(st.sampled_from([shape, shape[::-1]]))
    move = Move(split=split, columns=tuple(columns), axes=axes, shape=shape)
    return computed(move, value), lambda values: by_numpy(values).reshape(split)[taken].transpose(axes).reshape(shape)


def _joined(draw: st.DrawFn, axis: int, made: Sequence[Made]) -> Made:
    """Tensors that are as long along the other axis, side by side."""
    (first, _) = draw(st.sampled_from(made))
    fitting = [one for one in made if one[0].shape[1 - axis] == first.shape[1 - axis]]
    chosen = fitting[-3:] if draw(st.booleans()) else draw(st.lists(st.sampled_from(fitting), min_size=1, max_size=3))
    together = computed(Concatenate(axis=axis), *(value for value, _ in chosen))
    return together, lambda values: np.concatenate([by_numpy(values) for _, by_numpy in chosen], axis)


@given(networks())
def test_the_values_are_the_same(made: Made) -> None:
    value, by_numpy = made
    x = next(one for one in Graph((), (value,)).values if one.operator is None)
    before = Graph((x,), (value,))
    after = without_undone_joins(before)
    values = np.arange(12).astype(np.int8).reshape(3, 4)
    assert np.array_equal(evaluate(after, [values])[0], by_numpy(values))
    assert moved(after) <= moved(before)


def moved(graph: Graph) -> int:
    """Elements that slices and concatenations write."""
    return sum(value.tensor.elements for value in graph.values if isinstance(value.operator, (Move, Concatenate)))
