"""`tile` and padding as indices of one axis: what NumPy makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from match.relay import integer_form, relay, tvm
from match.relay.graph import post_order
from match.relay.rewrite import operator_name
from match.rewrites.split_gathers import split_gathers
from tests.passes.running import Program, executable
from tests.rewrites.through import rewritten

pytestmark = pytest.mark.tvm

SHAPE = (1, 3, 4, 5)


def by_axis(x: Any, body: Any) -> tuple[set[str], Program]:
    """The operators that are left, and the program."""
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
    module = rewritten(module, split_gathers)
    names = [operator_name(expr) for expr in post_order(module["main"]) if isinstance(expr, relay.Call)]
    return set(names), executable(module)


@pytest.mark.parametrize(
    ("shape", "times"),
    [((1, 3, 1, 5), (1, 1, 2, 1)), ((2, 3), (1, 5)), ((2, 3), (3, 2)), ((4,), (7,)), ((2, 1, 3), (1, 1, 1))],
)
def test_tiles(shape: tuple[int, ...], times: tuple[int, ...]) -> None:
    x = relay.var("x", shape=shape, dtype="int8")
    names, program = by_axis(x, relay.tile(x, times))
    assert names <= {"take"}
    values = np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)
    assert np.array_equal(program({"x": values})[0], np.tile(values, times))


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
def test_padding(mode: Any) -> None:
    """Padding of every axis is cut."""
    x, widths = relay.var("x", shape=SHAPE, dtype="int8"), ((0, 0), (2, 1), (0, 3), (4, 4))
    names, program = by_axis(x, relay.nn.pad(x, widths, relay.const(-7, "int8"), mode))
    assert names == ({"nn.pad"} if mode == "constant" else {"take"})
    values = np.random.default_rng(0).integers(-128, 128, SHAPE).astype(np.int8)
    own: dict[str, Any] = {"constant_values": -7} if mode == "constant" else {}
    assert np.array_equal(program({"x": values})[0], np.pad(values, widths, mode=mode, **own))


def test_slices() -> None:
    """Slices of several axes are cut one by one, that which leaves the smallest part first."""
    x = relay.var("x", shape=SHAPE, dtype="int8")
    body = relay.strided_slice(x, [0, 1, 0, 2], [1, 3, 4, 4])
    module = rewritten(relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body))), split_gathers)
    calls = [expr for expr in post_order(module["main"]) if isinstance(expr, relay.Call)]
    assert [tuple(map(int, call.checked_type.shape)) for call in calls] == [(1, 3, 4, 2), (1, 2, 4, 2)]
    values = np.random.default_rng(0).integers(-128, 128, SHAPE).astype(np.int8)
    assert np.array_equal(executable(module)({"x": values})[0], values[:, 1:3, :, 2:4])


def test_padding_of_a_convolution_stays_whole() -> None:
    """A convolution takes it in; another reader of the same padding has it axis by axis."""
    x = relay.var("x", shape=(1, 4, 5, 3), dtype="uint8")
    pad = relay.nn.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), relay.const(9, "uint8"))
    weights = np.ones((3, 3, 3, 4), np.int8)
    sums = integer_form.convolution(pad, weights)
    module = tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([sums, relay.nn.max_pool2d(pad, layout="NHWC")])))
    module = rewritten(relay.transform.InferType()(module), split_gathers)
    widths = [
        tuple(tuple(int(side) for side in pair) for pair in expr.attrs.pad_width)
        for expr in post_order(module["main"])
        if isinstance(expr, relay.Call) and operator_name(expr) == "nn.pad"
    ]
    none = (0, 0)
    expected = [(none, (1, 1), (1, 1), none), (none, none, (1, 1), none), (none, (1, 1), none, none)]
    assert sorted(widths) == sorted(expected)
