"""Resizes to the nearest pixel, `tile` and padding as indices of one axis: what onnxruntime and NumPy make of them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper

from match.passes.gathers import GatherByAxis, nearest, taken
from match.relay import integer_form, relay, tvm
from match.relay.graph import post_order
from match.relay.rewrite import operator_name
from match.validation.exact_session import exact_session
from tests.passes.running import Compiled

pytestmark = pytest.mark.tvm

MODES = ("asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners")
ROUNDINGS = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
SHAPE = (1, 3, 4, 5)


def resized(x: npt.NDArray[np.uint8], size: tuple[int, int], mode: str, rounding: str) -> npt.NDArray[np.uint8]:
    """What onnxruntime makes of maps (N, C, H, W)."""
    modes = {"mode": "nearest", "coordinate_transformation_mode": mode, "nearest_mode": rounding}
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **modes)
    sizes = helper.make_tensor("sizes", TensorProto.INT64, [4], [*x.shape[:2], *size])
    graph = helper.make_graph(
        [node],
        "resize",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, [None] * 4)],
        [sizes],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return exact_session(model.SerializeToString()).run(None, {"x": x})[0]


@pytest.mark.parametrize("size", [(8, 10), (4, 15), (12, 25), (7, 11), (2, 3), (1, 1), (9, 4)], ids=str)
def test_the_nearest_pixels_are_onnxruntimes(size: tuple[int, int]) -> None:
    """Whatever the mode, of larger and of smaller maps."""
    x = np.random.default_rng(0).integers(0, 256, SHAPE).astype(np.uint8)
    for mode, rounding in product(MODES, ROUNDINGS):
        variable = relay.var("x", shape=SHAPE, dtype="uint8")
        attributes = {"coordinate_transformation_mode": mode, "rounding_method": rounding}
        call = relay.image.resize2d(variable, size, method="nearest_neighbor", **attributes)
        module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([variable], call)))
        main = module["main"]
        found = nearest(main.body)
        assert found is not None
        module = tvm.IRModule.from_expr(relay.Function(list(main.params), taken(main.params[0], found, SHAPE)))
        (given,) = Compiled(relay.transform.InferType()(module))({"x": x})
        assert np.array_equal(given, resized(x, size, mode, rounding)), (mode, rounding)


def test_other_resizes_stay() -> None:
    x = relay.var("x", shape=SHAPE, dtype="uint8")
    call = relay.image.resize2d(x, (8, 10), method="linear")
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], call)))
    assert nearest(module["main"].body) is None


def by_axis(x: Any, body: Any) -> tuple[set[str], Compiled]:
    """The operators that are left, and the program."""
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))
    module = GatherByAxis()(module)
    names = [operator_name(expr) for expr in post_order(module["main"]) if isinstance(expr, relay.Call)]
    return set(names), Compiled(module)


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
    """Of every axis."""
    x, widths = relay.var("x", shape=SHAPE, dtype="int8"), ((0, 0), (2, 1), (0, 3), (4, 4))
    names, program = by_axis(x, relay.nn.pad(x, widths, relay.const(-7, "int8"), mode))
    assert names == ({"nn.pad"} if mode == "constant" else {"take"})
    values = np.random.default_rng(0).integers(-128, 128, SHAPE).astype(np.int8)
    own: dict[str, Any] = {"constant_values": -7} if mode == "constant" else {}
    assert np.array_equal(program({"x": values})[0], np.pad(values, widths, mode=mode, **own))


def test_padding_of_a_convolution_stays_whole() -> None:
    """A convolution takes it in; another reader of the same padding has it axis by axis."""
    x = relay.var("x", shape=(1, 4, 5, 3), dtype="uint8")
    pad = relay.nn.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), relay.const(9, "uint8"))
    weights = np.ones((3, 3, 3, 4), np.int8)
    sums = integer_form.convolution(pad, weights)
    module = tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([sums, relay.nn.max_pool2d(pad, layout="NHWC")])))
    module = GatherByAxis()(relay.transform.InferType()(module))
    widths = [
        tuple(tuple(int(side) for side in pair) for pair in expr.attrs.pad_width)
        for expr in post_order(module["main"])
        if isinstance(expr, relay.Call) and operator_name(expr) == "nn.pad"
    ]
    none = (0, 0)
    expected = [(none, (1, 1), (1, 1), none), (none, none, (1, 1), none), (none, (1, 1), none, none)]
    assert sorted(widths) == sorted(expected)
