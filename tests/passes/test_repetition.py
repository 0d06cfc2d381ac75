"""Maps enlarged by whole factors: what onnxruntime makes of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper

from match.passes.repetition import ConcatenateRepetitions, enlarged, nearest_factors
from match.relay import relay, tvm
from match.relay.graph import post_order
from match.relay.rewrite import operator_name
from match.validation.exact_session import exact_session
from tests.passes.running import Compiled

pytestmark = pytest.mark.tvm

MODES = ("asymmetric", "half_pixel", "align_corners")
ROUNDINGS = ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")


def resized(x: npt.NDArray[np.uint8], factors: tuple[int, int], mode: str, rounding: str) -> npt.NDArray[np.uint8]:
    """What onnxruntime makes of maps (N, C, H, W)."""
    modes = {"mode": "nearest", "coordinate_transformation_mode": mode, "nearest_mode": rounding}
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], **modes)
    scales = helper.make_tensor("scales", TensorProto.FLOAT, [4], [1.0, 1.0, *map(float, factors)])
    graph = helper.make_graph(
        [node],
        "resize",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, [None] * 4)],
        [scales],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return exact_session(model.SerializeToString()).run(None, {"x": x})[0]


@pytest.mark.parametrize("factors", [(2, 2), (1, 3), (4, 1), (3, 5)], ids=str)
def test_what_repeats_is_onnxruntimes(factors: tuple[int, int]) -> None:
    """Whatever the mode; the common ones are recognised for each factor."""
    x = np.random.default_rng(0).integers(0, 256, (1, 3, 4, 5)).astype(np.uint8)
    recognised: set[tuple[str, str]] = set()
    for mode, rounding in product(MODES, ROUNDINGS):
        variable = relay.var("x", shape=x.shape, dtype="uint8")
        size = (x.shape[2] * factors[0], x.shape[3] * factors[1])
        attributes = {"coordinate_transformation_mode": mode, "rounding_method": rounding}
        call = relay.image.resize2d(variable, size, method="nearest_neighbor", **attributes)
        module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([variable], call)))
        main = module["main"]
        if nearest_factors(main.body) is None:
            continue
        recognised.add((mode, rounding))
        module = tvm.IRModule.from_expr(relay.Function(list(main.params), enlarged(main.params[0], main.body)))
        module = ConcatenateRepetitions()(relay.transform.InferType()(module))
        names = {operator_name(expr) for expr in post_order(module["main"]) if isinstance(expr, relay.Call)}
        assert names == {"reshape", "concatenate"}
        assert np.array_equal(Compiled(module)({"x": x})[0], resized(x, factors, mode, rounding)), (mode, rounding)
    assert recognised >= {("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")}


def test_other_resizes_stay() -> None:
    """By factors that are not whole, and with weights."""
    x = relay.var("x", shape=(1, 2, 4, 6), dtype="uint8")
    for size, method in [((6, 9), "nearest_neighbor"), ((8, 6), "linear"), ((2, 6), "nearest_neighbor")]:
        modes = {"coordinate_transformation_mode": "asymmetric", "rounding_method": "floor"}
        call = relay.image.resize2d(x, size, method=method, **modes)
        module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], call)))
        assert nearest_factors(module["main"].body) is None


@pytest.mark.parametrize(
    ("shape", "times"),
    [((1, 3, 1, 5), (1, 1, 2, 1)), ((2, 3), (1, 5)), ((2, 3), (3, 2)), ((4,), (7,)), ((2, 1, 3), (1, 1, 1))],
)
def test_tiles_are_concatenations(shape: tuple[int, ...], times: tuple[int, ...]) -> None:
    x = relay.var("x", shape=shape, dtype="int8")
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.tile(x, times))))
    module = relay.transform.InferType()(ConcatenateRepetitions()(module))
    names = {operator_name(expr) for expr in post_order(module["main"]) if isinstance(expr, relay.Call)}
    assert names <= {"reshape", "concatenate"}
    values = np.random.default_rng(0).integers(-128, 128, shape).astype(np.int8)
    assert np.array_equal(Compiled(module)({"x": values})[0], np.tile(values, times))
