"""Powers of ONNX: second and third ones are NumPy's products of float32, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.graph.evaluate import evaluate
from match.graph.real_functions import is_function
from match.graph.value import Graph
from tests.frontend.qdq.float_models import graph_of

pytestmark = pytest.mark.tvm


def power(exponent: float) -> Graph:
    graph = helper.make_graph(
        [helper.make_node("Pow", ["x", "exponent"], ["y"])],
        "power",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (5, 7))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (5, 7))],
        [numpy_helper.from_array(np.array(exponent, np.float32), "exponent")],
    )
    return graph_of(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))


@pytest.mark.parametrize("exponent", [2, 3])
def test_small_powers_are_products(exponent: int) -> None:
    graph = power(exponent)
    assert not any(is_function(value, "power") for value in graph.values)
    values = np.random.default_rng(0).normal(0, 3, (5, 7)).astype(np.float32)
    expected = values * values if exponent == 2 else values * values * values
    assert np.array_equal(evaluate(graph, [values])[0], expected)


@pytest.mark.parametrize("exponent", [2.5, -2])
def test_other_powers_stay(exponent: float) -> None:
    assert any(is_function(value, "power") for value in power(exponent).values)
