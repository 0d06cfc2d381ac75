"""Maps with channels first computed with channels last: texts before and after, and the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from match.graph.evaluate import evaluate
from match.graph.moves import Move
from match.graph.text import parse, text
from match.graph.value import Graph
from match.rewrites.channels_last import with_channels_last

pytestmark = pytest.mark.unit

INPUT = "v0: int8[1, 2, 3, 4] = input('x')\n"
ALL = "columns=(None, None, None, None)"
FIRST = f"move(v0, split=(1, 2, 3, 4), {ALL}, axes=(0, 3, 1, 2), shape=(1, 4, 2, 3))"
TABLE = "outputs=int64(7, (256,)), dtype='int8'"


def after(source: str) -> Graph:
    """The graph that becomes of a text, with the same numbers."""
    before = parse(source)
    made = with_channels_last(before)
    arrays = [
        np.random.default_rng(number).integers(-128, 128, x.shape).astype(x.dtype)
        for number, x in enumerate(before.inputs)
    ]
    for one, other in zip(evaluate(before, arrays), evaluate(made, arrays), strict=True):
        assert np.array_equal(one, other)
    return made


def test_a_function_of_elements_is_between_no_transpositions() -> None:
    made = after(
        f"{INPUT}v1: int8[1, 4, 2, 3] = {FIRST}\nv2: int8[1, 4, 2, 3] = lookup(v1, {TABLE}).of('scaled')\n"
        f"v3: int8[1, 2, 3, 4] = move(v2, split=(1, 4, 2, 3), {ALL}, axes=(0, 2, 3, 1), shape=(1, 2, 3, 4))\n"
        "return v3\n"
    )
    assert text(made) == f"{INPUT}v1: int8[1, 2, 3, 4] = lookup(v0, {TABLE}).of('scaled')\nreturn v1\n"


def test_what_is_handed_out_is_transposed_before_it_is_dequantized() -> None:
    source = (
        f"{INPUT}v1: int8[1, 4, 2, 3] = {FIRST}\n"
        "v2: float32[1, 4, 2, 3] = dequantize(v1, scale=float32(0.5), zero_point=3)\nreturn v2\n"
    )
    assert text(after(source)) == source


def test_parts_are_side_by_side_along_the_channels() -> None:
    made = after(
        f"{INPUT}v1: int8[1, 4, 2, 3] = {FIRST}\nv2: int8[1, 8, 2, 3] = concatenate(v1, v1, axis=1)\n"
        f"v3: int8[1, 2, 3, 8] = move(v2, split=(1, 8, 2, 3), {ALL}, axes=(0, 2, 3, 1), shape=(1, 2, 3, 8))\n"
        "return v3\n"
    )
    assert text(made) == f"{INPUT}v1: int8[1, 2, 3, 8] = concatenate(v0, v0, axis=3)\nreturn v1\n"


def test_indices_are_along_the_axis_that_they_were_along() -> None:
    made = after(
        f"{INPUT}v1: int8[1, 4, 2, 3] = {FIRST}\n"
        "v2: int8[1, 3, 2, 3] = move(v1, split=(1, 4, 2, 3), columns=(None, int32([0, 3, -1]), None, None), "
        "axes=(0, 1, 2, 3), shape=(1, 3, 2, 3), fill=5)\n"
        f"v3: int8[1, 2, 3, 3] = move(v2, split=(1, 3, 2, 3), {ALL}, axes=(0, 2, 3, 1), shape=(1, 2, 3, 3))\n"
        "return v3\n"
    )
    assert text(made) == (
        f"{INPUT}v1: int8[1, 2, 3, 3] = move(v0, split=(1, 2, 3, 4), columns=(None, None, None, int32([0, 3, -1])), "
        "axes=(0, 1, 2, 3), shape=(1, 2, 3, 3), fill=5)\nreturn v1\n"
    )


def test_the_order_of_a_flattened_map_goes_into_the_weights() -> None:
    weights = np.arange(48).reshape(2, 24)
    line = "requantization=Requantization(multiplier=int64([1, 1]), bias=int64([0, 0]), shift=int64([4, 4]), "
    source = (
        f"{INPUT}v1: int8[1, 4, 2, 3] = {FIRST}\n"
        "v2: int8[1, 24] = move(v1, split=(1, 4, 2, 3), columns=(None, None, None, None), axes=(0, 1, 2, 3), "
        "shape=(1, 24))\n"
        f"v3: int8[1, 2] = dense(v2, {line}clip=(-128, 127)), dtype='int8', weights=int8((2, 24), \"weights\"))\n"
        "return v3\n"
    )
    graph = parse(source, {"weights": weights.astype(np.int8)})
    made = with_channels_last(graph)
    assert not any(isinstance(value.operator, Move) and value.operator.turns for value in made.values)
    x = np.random.default_rng(0).integers(-128, 128, (1, 2, 3, 4)).astype(np.int8)
    assert np.array_equal(evaluate(graph, [x])[0], evaluate(made, [x])[0])


def test_rows_of_a_sequence_are_those_of_a_map_of_one_row() -> None:
    made = after(
        "v0: int8[1, 1, 5, 4] = input('x')\n"
        f"v1: int8[1, 4, 1, 5] = move(v0, split=(1, 1, 5, 4), {ALL}, axes=(0, 3, 1, 2), shape=(1, 4, 1, 5))\n"
        f"v2: int8[1, 4, 5] = move(v1, split=(1, 4, 1, 5), {ALL}, axes=(0, 1, 2, 3), shape=(1, 4, 5))\n"
        f"v3: int8[1, 4, 5] = lookup(v2, {TABLE})\n"
        "v4: int8[1, 4, 1, 5] = move(v3, split=(1, 4, 5), columns=(None, None, None), axes=(0, 1, 2), "
        "shape=(1, 4, 1, 5))\n"
        f"v5: int8[1, 1, 5, 4] = move(v4, split=(1, 4, 1, 5), {ALL}, axes=(0, 2, 3, 1), shape=(1, 1, 5, 4))\n"
        "return v5\n"
    )
    assert text(made) == f"v0: int8[1, 1, 5, 4] = input('x')\nv1: int8[1, 1, 5, 4] = lookup(v0, {TABLE})\nreturn v1\n"


def test_a_tensor_is_turned_once_for_all_that_read_it() -> None:
    last = f"move(v0, split=(1, 2, 3, 4), {ALL}, axes=(0, 2, 3, 1), shape=(1, 3, 4, 2))"
    made = after(
        f"{INPUT}v1: int8[1, 3, 4, 2] = {last}\nv2: int8[1, 3, 4, 2] = {last}\n"
        f"v3: int8[1, 3, 4, 2] = lookup(v1, {TABLE})\nv4: int8[1, 3, 4, 2] = lookup(v2, {TABLE})\nreturn v3, v4\n"
    )
    assert sum(isinstance(value.operator, Move) for value in made.values) == 1


def test_a_sum_reads_what_a_layer_reads() -> None:
    """One transposition for both, of a tensor that is not known with channels last."""
    last = f"move(v0, split=(1, 2, 3, 4), {ALL}, axes=(0, 2, 3, 1), shape=(1, 3, 4, 2))"
    made = after(
        f"{INPUT}v1: int8[1, 3, 4, 2] = {last}\nv2: int8[1, 3, 4, 2] = lookup(v1, {TABLE})\n"
        f"v3: int8[1, 2, 3, 4] = move(v2, split=(1, 3, 4, 2), {ALL}, axes=(0, 3, 1, 2), shape=(1, 2, 3, 4))\n"
        "v4: int8[1, 2, 3, 4] = difference(v3, v0, dtype='int8')\n"
        f"v5: int8[1, 3, 4, 2] = move(v4, split=(1, 2, 3, 4), {ALL}, axes=(0, 2, 3, 1), shape=(1, 3, 4, 2))\n"
        "return v5\n"
    )
    assert sum(isinstance(value.operator, Move) for value in made.values) == 1


def test_a_sequence_is_turned() -> None:
    made = after(
        "v0: int8[2, 1, 5, 4] = input('x')\n"
        f"v1: int8[2, 4, 1, 5] = move(v0, split=(2, 1, 5, 4), {ALL}, axes=(0, 3, 1, 2), shape=(2, 4, 1, 5))\n"
        f"v2: int8[2, 4, 5] = move(v1, split=(2, 4, 1, 5), {ALL}, axes=(0, 1, 2, 3), shape=(2, 4, 5))\n"
        "v3: int8[5, 2, 4] = move(v2, split=(2, 4, 5), columns=(None, None, None), axes=(2, 0, 1), shape=(5, 2, 4))\n"
        "return v3\n"
    )
    assert sum(isinstance(value.operator, Move) and value.operator.turns for value in made.values) == 1


def test_channels_are_shuffled_where_they_are_last() -> None:
    none = "columns=(None, None, None, None, None)"
    made = after(
        f"{INPUT}v1: int8[1, 4, 2, 3] = {FIRST}\n"
        f"v2: int8[1, 2, 2, 2, 3] = move(v1, split=(1, 4, 2, 3), {ALL}, axes=(0, 1, 2, 3), shape=(1, 2, 2, 2, 3))\n"
        f"v3: int8[1, 2, 2, 2, 3] = move(v2, split=(1, 2, 2, 2, 3), {none}, axes=(0, 2, 1, 3, 4), "
        "shape=(1, 2, 2, 2, 3))\n"
        f"v4: int8[1, 4, 2, 3] = move(v3, split=(1, 2, 2, 2, 3), {none}, axes=(0, 1, 2, 3, 4), shape=(1, 4, 2, 3))\n"
        f"v5: int8[1, 2, 3, 4] = move(v4, split=(1, 4, 2, 3), {ALL}, axes=(0, 2, 3, 1), shape=(1, 2, 3, 4))\n"
        "return v5\n"
    )
    turned = [value.operator for value in made.values if isinstance(value.operator, Move) and value.operator.turns]
    assert [move.axes for move in turned] == [(0, 1, 2, 4, 3)]
