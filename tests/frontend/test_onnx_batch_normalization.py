"""BatchNormalization as a multiplication and an addition, beside ONNX's own definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from match.graph.evaluate import evaluate
from match.graph.reals import RealFunction
from tests.frontend.qdq.float_models import graph_of

pytestmark = pytest.mark.tvm

CHANNELS = 5
RNG = np.random.default_rng(9)


def model(shape: list[int], *, fixed: int = 4, **attributes: Any) -> Any:
    """A normalization between two ReLUs, of whose parameters so many are constants."""
    parameters = {
        name: RNG.uniform(0.5, 2, CHANNELS).astype(np.float32) for name in ("gamma", "beta", "mean", "variance")
    }
    names = list(parameters)
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("BatchNormalization", ["r", *names], ["n"], name="normalize", **attributes),
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
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("shape", [[2, CHANNELS], [2, CHANNELS, 3], [2, CHANNELS, 3, 4], [1, CHANNELS, 2, 3, 2]])
@pytest.mark.parametrize("attributes", [{}, {"epsilon": 0.1}])
def test_it_is_two_functions(shape: list[int], attributes: dict[str, Any]) -> None:
    proto = model(shape, **attributes)
    x = RNG.normal(0, 1, shape).astype(np.float32)
    reference: Any = ReferenceEvaluator(proto)
    graph = graph_of(proto)
    functions = [value.operator.function for value in graph.values if isinstance(value.operator, RealFunction)]
    assert functions == ["multiply", "add"]
    np.testing.assert_allclose(evaluate(graph, [x])[0], reference.run(None, {"x": x})[0], rtol=1e-6, atol=1e-6)


def test_parameters_that_are_inputs() -> None:
    """TVM's importer reads the operator alone."""
    proto = model([2, CHANNELS, 3, 4], fixed=3)
    x, variance = RNG.normal(0, 1, (2, CHANNELS, 3, 4)).astype(np.float32), RNG.uniform(1, 2, CHANNELS)
    given = [x, variance.astype(np.float32)]
    reference: Any = ReferenceEvaluator(proto)
    expected = reference.run(None, dict(zip(("x", "variance"), given, strict=True)))
    np.testing.assert_allclose(evaluate(graph_of(proto), given)[0], expected[0], rtol=1e-5, atol=1e-5)


def test_parameters_may_be_quantized() -> None:
    """As the quantizer of onnxruntime leaves them."""
    shape = [1, CHANNELS, 3, 4]
    proto = model(shape)
    integers = RNG.integers(1, 100, CHANNELS).astype(np.uint8)
    proto.graph.initializer.extend(
        [numpy_helper.from_array(integers, "integers"), numpy_helper.from_array(np.float32(0.03), "scale")]
    )
    proto.graph.node.insert(0, helper.make_node("DequantizeLinear", ["integers", "scale"], ["real"]))
    proto.graph.node[2].input[1] = "real"
    x = RNG.normal(0, 1, shape).astype(np.float32)
    reference: Any = ReferenceEvaluator(proto)
    found = evaluate(graph_of(proto), [x])[0]
    np.testing.assert_allclose(found, reference.run(None, {"x": x})[0], rtol=1e-6, atol=1e-6)
