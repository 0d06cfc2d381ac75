"""onnxruntime's own quantized operators, with what their files may leave out: every output is onnxruntime's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as own  # pyright: ignore[reportAttributeAccessIssue]

from match.frontend import load
from match.frontend.onnx_attributes import check_inputs, zero_points_left_out
from match.passes.pipeline import integer_network
from match.relay.plain import qnn_operators
from match.validation.exact_session import exact_session
from tests.frontend.refusals import refusal
from tests.passes.running import executable, written
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.tvm

LEVELS = (16, 16)
ROWS, COLUMNS = 16, 5
CONSTANTS: dict[str, Any] = {
    "s": np.float32(0.05),
    "z": np.uint8(131),
    "so": np.float32(0.031),
    "zo": np.uint8(110),
    "sp": np.float32(2**-12),
    "zp": np.uint8(0),
    "other": np.random.default_rng(1).integers(0, 256, LEVELS).astype(np.uint8),
    "w": np.random.default_rng(2).integers(-60, 61, (LEVELS[1], COLUMNS)).astype(np.int8),
    "ws": np.random.default_rng(3).uniform(0.01, 0.05, COLUMNS).astype(np.float32),
    "wz": np.zeros(COLUMNS, np.int8),
    "bias": np.random.default_rng(4).integers(-9000, 9000, COLUMNS).astype(np.int32),
}
ADDITION = ("x", "s", "z", "other", "s", "z", "so", "zo")
PRODUCT = ("x", "s", "z", "w", "ws", "wz", "bias", "so", "zo")


def network(kind: str, inputs: Sequence[str], **attributes: Any) -> onnx.ModelProto:
    """One operator, of all values of a byte."""
    scaled = kind != "DequantizeLinear" and (kind != "QGemm" or len(inputs) > 7)
    output = TensorProto.UINT8 if scaled else TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node(kind, inputs, ["y"], kind.lower(), domain="com.microsoft", **attributes)],
        kind,
        [helper.make_tensor_value_info("x", TensorProto.UINT8, LEVELS)],
        [helper.make_tensor_value_info("y", output, (None, None))],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in CONSTANTS.items() if name in inputs],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes"),
    [
        ("QLinearLeakyRelu", ("x", "s", "z", "so", "zo"), {}),  # of a slope that the file leaves out
        ("QLinearLeakyRelu", ("x", "s", "", "so", "zo"), {"alpha": 0.2}),
        ("DequantizeLinear", ("x", "s", ""), {}),
        ("QLinearSigmoid", ("x", "s", "", "so", "zo"), {}),
        ("QLinearSoftmax", ("x", "s", "z", "sp", "zp"), {"opset": 13}),
        ("QLinearSoftmax", ("x", "s", "", "sp", "zp"), {"opset": 12, "axis": 0}),  # one row of all elements
        ("QLinearAdd", ADDITION[:7], {}),
        ("QLinearMul", ADDITION[:7], {}),
        ("QLinearConcat", ("so", "zo", "x", "s", "z", "other", "s", "z"), {"axis": 1}),  # the whole network
        ("QGemm", PRODUCT, {"alpha": 0.37}),
        ("QGemm", (*PRODUCT[:6], "", "so", "zo"), {}),
        ("QGemm", PRODUCT[:7], {}),  # numbers, not integers
        ("QGemm", PRODUCT[:6], {"alpha": 0.5}),
    ],
)
def test_what_files_leave_out(kind: str, inputs: Sequence[str], attributes: dict[str, Any]) -> None:
    model = network(kind, inputs, **attributes)
    module = integer_network(load(model))
    assert not qnn_operators(written(module))
    x = np.random.default_rng(5).permutation(256).reshape(LEVELS).astype(np.uint8)
    (found,) = executable(module)({"x": x})
    (expected,) = exact_session(model.SerializeToString()).run(None, {"x": x})
    assert len(np.unique(expected)) > 4
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("kind", "inputs", "missing"),
    [
        ("QLinearAdd", ADDITION[:6], 6),
        ("QLinearAdd", ("x", "", *ADDITION[2:]), 1),
        ("QLinearWhere", ADDITION, 8),
        ("QLinearConcat", ("so", "zo", "x", "s", "z", "other", "s"), 7),
        ("QLinearConcat", ("so", "zo"), 2),
        ("QGemm", PRODUCT[:5], 5),
        ("DequantizeLinear", ("x",), 1),
    ],
)
def test_inputs_that_are_missing(kind: str, inputs: Sequence[str], missing: int) -> None:
    sentence = refusal(load, network(kind, inputs))
    assert f"has {kind} ({kind.lower()}) without its input {missing}, counted from 0; export it again" in sentence


def test_a_product_with_half_of_its_output_quantization() -> None:
    assert "QGemm (qgemm) with a scale or a zero point of its output but without the other" in refusal(
        load, network("QGemm", PRODUCT[:8])
    )


def test_inputs_are_those_of_onnxruntime() -> None:
    """An operator without one of its inputs is refused where onnxruntime's schema demands that one."""
    schemas = {one.name: one for one in own.get_all_operator_schema() if one.domain == "com.microsoft"}
    for kind in (
        *("QGemm", "QLinearAdd", "QLinearAveragePool", "QLinearConcat", "QLinearGlobalAveragePool", "QLinearMul"),
        *("QLinearLeakyRelu", "QLinearSigmoid", "QLinearSoftmax", "QLinearWhere", "QuantizeLinear", "DequantizeLinear"),
    ):
        inputs = schemas[kind].inputs
        names = [one.name for one in inputs] + ["s", "z"] * (kind == "QLinearConcat")
        check_inputs(network(kind, names).graph, kind)
        for at, one in enumerate(inputs):
            graph = network(kind, [*names[:at], "", *names[at + 1 :]]).graph
            if "Optional" in str(one.option):
                check_inputs(graph, kind)
                assert (at in zero_points_left_out(graph.node[0])) == (kind != "QGemm")
            else:
                assert f"without its input {at}," in refusal(check_inputs, graph, kind)


def test_files_that_onnxruntime_saves(tmp_path: Path) -> None:
    """At its highest level, the default: layers on channels last, and SiLU as QuickGelu."""
    model = TrainedModel((1, 4, 9, 8))
    model.quantize(0.03, "uint8", 120)
    model.conv(6, pads=[1, 1, 1, 1])
    model.quantize(0.05, "uint8", 130)
    model.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    model.quantize(0.05, "uint8", 130)
    model.conv(6, group=3)
    real = model.current
    model.add("Sigmoid")
    model.add("Mul", real)
    given = model.build().SerializeToString()
    x = np.random.default_rng(5).normal(0, 1, (1, 4, 9, 8)).astype(np.float32)
    (expected,) = exact_session(given, optimized=tmp_path / "saved.onnx").run(None, {"x": x})
    kinds = {(node.domain, node.op_type) for node in onnx.load(tmp_path / "saved.onnx").graph.node}
    own = "com.microsoft"
    assert {(own, "QLinearConv"), (own, "NhwcMaxPool"), (own, "QuickGelu")} <= kinds
    (found,) = executable(integer_network(load(tmp_path / "saved.onnx")))({"x": x})
    assert np.allclose(found, expected, rtol=0, atol=1e-6 * float(np.abs(expected).max()))
