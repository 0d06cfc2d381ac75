"""BatchNormalization written as a multiplication and an addition, beside ONNX's own definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from match.frontend.onnx_batch_normalization import without_batch_normalization

pytestmark = pytest.mark.tvm

CHANNELS = 5
RNG = np.random.default_rng(9)


def model(shape: list[int], *, opset: int = 17, fixed: int = 4, outputs: int = 1, **attributes: Any) -> Any:
    """A normalization between two ReLUs, of whose parameters so many are constants."""
    parameters = {
        name: RNG.uniform(0.5, 2, CHANNELS).astype(np.float32) for name in ("gamma", "beta", "mean", "variance")
    }
    names = list(parameters)
    results = ["n", "m", "v"][:outputs]
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("BatchNormalization", ["r", *names], results, name="normalize", **attributes),
        helper.make_node("Relu", ["n"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "normalized",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, shape),
            *(helper.make_tensor_value_info(name, TensorProto.FLOAT, [CHANNELS]) for name in names[fixed:]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(parameters[name], name) for name in names[:fixed]],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.parametrize("shape", [[2, CHANNELS], [2, CHANNELS, 3], [2, CHANNELS, 3, 4], [1, CHANNELS, 2, 3, 2]])
@pytest.mark.parametrize("attributes", [{}, {"epsilon": 0.1}])
def test_it_is_two_operators(shape: list[int], attributes: dict[str, Any]) -> None:
    proto = model(shape, **attributes)
    x = RNG.normal(0, 1, shape).astype(np.float32)
    expected: Any = ReferenceEvaluator(proto)
    written = without_batch_normalization(proto, {"r": shape})
    onnx.checker.check_model(written, full_check=True)
    assert [node.op_type for node in written.graph.node] == ["Relu", "Mul", "Add", "Relu"]
    assert [node.name for node in written.graph.node][1:3] == ["normalize", "normalize"]
    outputs: Any = ReferenceEvaluator(written)
    assert np.allclose(outputs.run(None, {"x": x})[0], expected.run(None, {"x": x})[0], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kept", [{"opset": 6}, {"fixed": 3}, {"outputs": 3, "training_mode": 1}])
def test_others_stay(kept: dict[str, Any]) -> None:
    """Operands that are not broadcast, statistics that are not constant, training."""
    proto = model([1, CHANNELS, 3, 4], **kept)
    assert without_batch_normalization(proto, {"r": [1, CHANNELS, 3, 4]}) == proto


def test_an_input_of_unknown_rank_stays() -> None:
    proto = model([1, CHANNELS, 3, 4])
    assert without_batch_normalization(proto, {}) == proto


def test_parameters_may_be_quantized() -> None:
    """As the quantizer of onnxruntime leaves them."""
    shape = [1, CHANNELS, 3, 4]
    proto = model(shape, opset=21)
    integers = RNG.integers(1, 100, CHANNELS).astype(np.uint8)
    proto.graph.initializer.extend(
        [
            numpy_helper.from_array(integers, "integers"),
            numpy_helper.from_array(np.float32(0.03), "scale"),
            numpy_helper.from_array(np.uint8(7), "zero"),
        ]
    )
    proto.graph.node.insert(1, helper.make_node("DequantizeLinear", ["integers", "scale", "zero"], ["real"]))
    proto.graph.node[2].input[1] = "real"
    expected: Any = ReferenceEvaluator(proto)
    written = without_batch_normalization(proto, {"r": shape})
    assert "BatchNormalization" not in [node.op_type for node in written.graph.node]
    x = RNG.normal(0, 1, shape).astype(np.float32)
    outputs: Any = ReferenceEvaluator(written)
    assert np.allclose(outputs.run(None, {"x": x})[0], expected.run(None, {"x": x})[0], rtol=1e-6, atol=1e-6)
