"""Tensors in the layouts of modules, as TVM's C makes them, against NumPy; converted where layouts meet and once."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import match
from match.errors import TargetError
from match.graph.layouts import FromLayout, ToLayout
from match.graph.value import Value
from match.ir.graph import Tensor
from match.ir.layer import Axis, Component, Dim, Operand, Role
from match.mapping.storage import Storage, storage
from match.partitioning.layouts import Tensors
from match.relay import relay, tvm
from match.relay.layouts import from_layout, to_layout

pytestmark = pytest.mark.cc


def element(layout: Storage, row: int, column: int, channel: int) -> int:
    """Index of an element, from the definition."""
    place = [(row, column, channel)[axis] for axis in layout.order]
    group = layout.byte_group
    place[2] = place[2] // group * group + group - 1 - place[2] % group
    return (place[0] * layout.room[1] + place[1]) * layout.room[2] + place[2]


LAYOUTS = [
    *(Storage((3, width, 5), (2, 0, 1), (16, 3, 16), 4) for width in (1, 2, 3, 5, 6, 7, 13, 16)),
    Storage((2, 40, 3), (2, 0, 1), (3, 2, 48), 4),
    Storage((1, 2, 70), (0, 1, 2), (1, 2, 80), 4),
    Storage((1, 1, 10), (0, 1, 2), (1, 1, 16), 4),
    Storage((4, 3, 8), (2, 1, 0), (8, 3, 4)),
    Storage((4, 3, 7), (0, 1, 2), (4, 3, 8)),
]


def check(layout: Storage, tensor: np.ndarray, made: np.ndarray, array: np.ndarray, read: np.ndarray) -> None:
    for position in product(*(range(size) for size in layout.shape)):
        place = element(layout, *position)
        assert made.reshape(-1)[place] == tensor[position], (layout, position)
        assert read[position] == array.reshape(-1)[place], (layout, position)


def test_conversions_are_the_layouts_by_definition() -> None:
    """What is stored where there is room to spare may be anything, and is never read."""
    rng = np.random.default_rng(2)
    inputs: dict[str, np.ndarray] = {}
    variables, fields = [], []
    for n, layout in enumerate(LAYOUTS):
        x = relay.var(f"x{n}", shape=(1, *layout.shape), dtype="int8")
        y = relay.var(f"y{n}", shape=layout.room, dtype="int8")
        variables += [x, y]
        fields += [to_layout(x, layout), from_layout(y, layout, (1, *layout.shape))]
        inputs[f"x{n}"] = rng.integers(-128, 128, (1, *layout.shape)).astype(np.int8)
        inputs[f"y{n}"] = rng.integers(-128, 128, layout.room).astype(np.int8)
    module = tvm.IRModule.from_expr(relay.Function(variables, relay.Tuple(fields)))
    outputs = list(match.compile(module, "diana", modules=[]).run(inputs, sanitize=True).values())
    for n, layout in enumerate(LAYOUTS):
        check(layout, inputs[f"x{n}"][0], outputs[2 * n], inputs[f"y{n}"], outputs[2 * n + 1][0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_operators_are_the_layouts_by_definition(layout: Storage) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(-128, 128, (1, *layout.shape)).astype(np.int8)
    y = rng.integers(-128, 128, layout.room).astype(np.int8)
    there, back = ToLayout(layout=layout), FromLayout(layout=layout, shape=x.shape)
    assert there.result(Tensor(x.shape, "int8")).shape == layout.room
    check(layout, x[0], there.compute(x), y, back.compute(y)[0])


def test_padding_before_a_conversion() -> None:
    """In one loop with a reversal TVM would find padding in the wrong columns."""
    layout = Storage((3, 8, 2), (2, 0, 1), (2, 3, 16), 4)
    x = relay.var("x", shape=(1, 3, 5, 2), dtype="int8")
    padded = relay.nn.pad(x, ((0, 0), (0, 0), (1, 2), (0, 0)), relay.const(9, "int8"))
    module = tvm.IRModule.from_expr(relay.Function([x], to_layout(padded, layout)))
    sample = np.random.default_rng(4).integers(-128, 128, (1, 3, 5, 2)).astype(np.int8)
    (made,) = match.compile(module, "diana", modules=[]).run({"x": sample}).values()
    wanted = np.pad(sample[0], ((0, 0), (1, 2), (0, 0)), constant_values=9)
    for position in product(*(range(size) for size in layout.shape)):
        assert made.reshape(-1)[element(layout, *position)] == wanted[position]


def as_it_is(number: int, value: Value, *, alone: bool) -> Value:
    """A conversion that nothing makes a step of."""
    del number, alone
    return value


def a_tensor() -> Value:
    return Value(Tensor((1, 4, 6, 5), "int8"))


PLANES = Storage((4, 6, 5), (2, 0, 1), (16, 4, 16), 4)
FEWER = Storage((4, 6, 5), (2, 0, 1), (5, 4, 16), 4)


def test_a_tensor_is_converted_once_for_each_layout() -> None:
    tensors = Tensors(as_it_is)
    x = a_tensor()
    tensors.put(x, x)
    layout, first = tensors.stored(x, PLANES)
    assert layout == PLANES
    assert tensors.stored(x, PLANES)[1] is first
    assert tensors.stored(x, FEWER) == (PLANES, first), "more room than asked for"
    assert tensors.plain(x) is x
    assert [conversion.elements for conversion in tensors.conversions] == [16 * 4 * 16]


def test_less_room_than_asked_for_is_another_layout() -> None:
    tensors = Tensors(as_it_is)
    x = a_tensor()
    tensors.put(x, x)
    tensors.stored(x, FEWER)
    assert tensors.stored(x, PLANES)[0] == PLANES
    assert len(tensors.conversions) == 2


def test_announced_readers_share_the_layout_with_most_room() -> None:
    tensors = Tensors(as_it_is)
    x = a_tensor()
    tensors.put(x, x)
    tensors.will_want(x, FEWER)
    tensors.will_want(x, PLANES)
    layout, first = tensors.stored(x, FEWER)
    assert layout == PLANES
    assert tensors.stored(x, PLANES) == (PLANES, first)
    assert [conversion.elements for conversion in tensors.conversions] == [16 * 4 * 16]


def test_what_stays_in_a_layout_is_not_converted() -> None:
    tensors = Tensors(as_it_is)
    x, value = a_tensor(), Value(Tensor(PLANES.room, "int8"))
    tensors.put(x, value, PLANES)
    assert tensors.stored(x, FEWER) == (PLANES, value)
    assert tensors.conversions == []
    assert tensors.plain(x) is tensors.plain(x)
    assert [conversion.elements for conversion in tensors.conversions] == [120]


def test_operands_that_are_no_activations() -> None:
    component = Component("input", (Axis(Dim.K, 4), Axis(Dim.C, 4), Axis(Dim.OX, 2)))
    with pytest.raises(TargetError, match="operand input is not an activation of rows, columns and channels"):
        storage(Operand("input", Role.INPUT, (component,)))


def test_what_can_be_read_as_it_is_stored() -> None:
    """More room along the slowest axis does no harm; along another one it moves what follows."""
    stored = Storage((2, 3, 5), (2, 0, 1), (16, 2, 16), 4)
    assert stored.holds(stored)
    assert stored.holds(Storage((2, 3, 5), (2, 0, 1), (8, 2, 16), 4))
    for other in (
        Storage((2, 3, 5), (2, 0, 1), (32, 2, 16), 4),
        Storage((2, 3, 5), (2, 0, 1), (16, 2, 4), 4),
        Storage((2, 3, 5), (2, 0, 1), (16, 2, 16), 1),
        Storage((2, 3, 5), (0, 1, 2), (16, 2, 16), 4),
    ):
        assert not stored.holds(other)
