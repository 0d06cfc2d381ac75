"""Operators of ONNX behind one another, with quantize nodes between them or without, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.ir.layer import Op
from match.relay import relay
from match.relay.graph import post_order
from match.relay.rewrite import dtype, is_call
from match.validation.exact_session import exact_session
from tests.passes.one_operator import integers, references
from tests.passes.running import executable, written

pytestmark = pytest.mark.tvm

Step = tuple[str, list[str], dict[str, Any]]
"""An operator, its inputs and its attributes; "" is the tensor before, quantized."""

NUMBERS: dict[str, Any] = {
    "s": np.float32(0.0203),
    "z": np.uint8(120),
    "si": np.float32(0.0311),
    "zi": np.int8(-7),
    "last": np.int64(-1),
    "first": np.int64(0),
    "one": np.array([1, 1], np.int64),
    "wide": np.array([2, 3, 6, 4], np.int64),
    "deep": np.array([5, 1, 1, 6, 1], np.int64),
    "levels": np.arange(-11, 13, dtype=np.int8).reshape(1, 1, 6, 4),
}


def model_of(extents: tuple[int, ...], *steps: Step, quantized: bool = True) -> onnx.ModelProto:
    """A chain on a quantized input; the output of each step is quantized, or with False that of none."""
    nodes: list[onnx.NodeProto] = []

    def between(source: str) -> str:
        nodes.append(helper.make_node("QuantizeLinear", [source, "s", "z"], [f"{source}_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{source}_q", "s", "z"], [f"{source}_r"]))
        return f"{source}_r"

    nodes.append(helper.make_node("DequantizeLinear", ["levels", "si", "zi"], ["signed"]))
    current = between("x")
    for number, (kind, inputs, attributes) in enumerate(steps):
        names = [name or current for name in inputs]
        nodes.append(helper.make_node(kind, names, [f"t{number}"], **attributes))
        current = between(f"t{number}") if quantized else f"t{number}"
    nodes.append(helper.make_node("Identity", [current], ["y"]))
    read = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        [node for node in nodes if node.output[0] != "signed" or "signed" in read],
        "together",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, extents)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in NUMBERS.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


def steps_off(model: onnx.ModelProto, module: Any, extents: tuple[int, ...]) -> int:
    """By how many steps the integer form is off at most."""
    x = np.random.default_rng(3).normal(0, 1, extents).astype(np.float32)
    (found,) = executable(module)({"x": x})
    (expected,) = exact_session(model.SerializeToString(), signed=True, fused=False).run(None, {"x": x})
    assert found.shape == expected.shape
    assert len(np.unique(expected)) > 1
    return int(np.rint(np.abs(found - expected) / NUMBERS["s"]).max())


@pytest.mark.parametrize("place", ["first", "last"])
@pytest.mark.parametrize("axis", [1, 2, 3])
@pytest.mark.parametrize("quantized", [True, False])
def test_one_place_of_a_map(place: str, axis: int, quantized: bool) -> None:
    """A row, a column or a channel behind a pooling, without its axis: a slice of integers."""
    steps: list[Step] = [("MaxPool", [""], {"kernel_shape": [2, 2]}), ("Gather", ["", place], {"axis": axis})]
    model = model_of((1, 3, 6, 5), *steps, quantized=quantized)
    module = integers(model)
    assert steps_off(model, module, (1, 3, 6, 5)) == 0
    assert not calls(written(module), "take")


@pytest.mark.parametrize(
    ("extents", "target"), [((2, 1, 6, 4), "wide"), ((1, 6, 4), "wide"), ((6, 1), "wide"), ((1, 1, 6, 3), "deep")]
)
def test_pooling_of_what_is_repeated(extents: tuple[int, ...], target: str) -> None:
    """ONNX's Expand moves integers; all extents have 32 bits, on which TVM's sums depend."""
    steps: list[Step] = [("Expand", ["", target], {})]
    if target == "wide":
        steps.append(("AveragePool", [""], {"kernel_shape": [5, 1]}))
    model = model_of(extents, *steps)
    module = integers(model)
    assert steps_off(model, module, extents) == 0
    assert "i64" not in str(written(module)["main"].checked_type)
    assert not calls(written(module), "broadcast_to")


def test_broadcasts_that_stay_have_extents_of_32_bits() -> None:
    model = model_of((1, 6, 4), ("Expand", ["", "wide"], {}), quantized=False)
    module = integers(model)
    assert "i64" not in str(written(module)["main"].checked_type)
    assert steps_off(model, module, (1, 6, 4)) == 0


@pytest.mark.parametrize("kind", ["Add", "Mul"])
@pytest.mark.parametrize("order", [["", "signed"], ["signed", ""]])
def test_constants_of_the_other_type(kind: str, order: list[str]) -> None:
    """int8 beside uint8, as an operator on constants of another scheme leaves them."""
    model = model_of((2, 3, 6, 4), (kind, order, {}))
    module = integers(model)
    assert steps_off(model, module, (2, 3, 6, 4)) == 0
    assert any("64" in dtype(call) for call in calls(written(module), "add", "multiply"))


def test_a_table_of_what_is_not_exact_is_not() -> None:
    """The mean of three functions of one tensor becomes one table, whose entries may be a step off."""
    steps: list[Step] = [("Tanh", [""], {}), ("Abs", [""], {}), ("Mean", ["t0_r", "", "x_r"], {})]
    model = model_of((1, 4, 5, 6), *steps)
    module = integers(model, exact=False)
    assert references(module, Op.LOOKUP) == [False]
    assert steps_off(model, module, (1, 4, 5, 6)) <= 1


def test_a_single_number_gets_axes() -> None:
    """The largest of a whole tensor has none, which the search for channels that are constant has to bear."""
    model = model_of((1, 4, 5, 6), ("ReduceMax", [""], {"keepdims": 0}), ("Reshape", ["", "one"], {}))
    x = np.random.default_rng(3).normal(0, 1, (1, 4, 5, 6)).astype(np.float32)
    (expected,) = exact_session(model.SerializeToString(), fused=False).run(None, {"x": x})
    np.testing.assert_array_equal(executable(integers(model))({"x": x})[0], expected)


def calls(module: Any, *names: str) -> list[relay.Call]:
    """The network's calls of some operators."""
    return [expr for expr in post_order(written(module)["main"]) if is_call(expr, *names)]
