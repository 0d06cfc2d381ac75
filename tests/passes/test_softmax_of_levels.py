"""Softmax of 8-bit scores whose probabilities nothing quantizes: a table of exponentials, near the real numbers."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from match.graph.evaluate import evaluate
from match.graph.rows import Softmax, SoftmaxOfLevels
from match.graph.value import Graph
from match.ir.layer import Op
from tests.passes.one_operator import exact_session, executable, integers, quantized, references

pytestmark = pytest.mark.tvm


def kinds(graph: Graph) -> list[type]:
    return [type(value.operator) for value in graph.values if isinstance(value.operator, (Softmax, SoftmaxOfLevels))]


@pytest.mark.parametrize("scale", [0.0007, 0.11, 3.1])
@pytest.mark.parametrize(("extents", "axis"), [((1, 1, 10), -1), ((3, 700), 1), ((1, 9, 2, 3), 1), ((2, 3), 0)])
def test_probabilities_are_near_real_numbers(extents: tuple[int, ...], axis: int, scale: float) -> None:
    """TVM's C computes the bits that the class says; with the largest scale most probabilities are no float32."""
    constants = {"s": np.float32(scale), "z": np.uint8(77), "so": np.float32(1), "zo": np.uint8(0)}
    model = quantized("Softmax", extents, constants, axis=axis)
    del model.graph.node[3:], model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("result", TensorProto.FLOAT, extents))
    graph = integers(model)
    assert kinds(graph) == [SoftmaxOfLevels]
    levels = np.random.default_rng(5).integers(0, 256, extents)
    x = ((levels - 77) * scale).astype(np.float32)
    (found,) = executable(graph)({"x": x})
    assert found.dtype == np.float32
    assert np.array_equal(found, evaluate(graph, [x])[0])
    real = np.exp((levels - levels.max(axis=axis, keepdims=True)) * np.float64(np.float32(scale)))
    real /= real.sum(axis=axis, keepdims=True)
    (expected,) = exact_session(model.SerializeToString(), signed=True).run(None, {"x": x})
    np.testing.assert_allclose(found, real, rtol=extents[axis] * 2**-24, atol=2**-140)
    np.testing.assert_allclose(found, expected, rtol=1e-4 * scale + 1e-5, atol=1e-38)


def test_what_is_quantized_is_integers() -> None:
    """Also where a second reader takes the real numbers."""
    constants = {"s": np.float32(0.1), "z": np.uint8(77), "so": np.float32(1 / 255), "zo": np.uint8(0)}
    model = quantized("Softmax", (2, 5), constants)
    assert references(integers(model), Op.SOFTMAX) == [False]
    assert kinds(integers(model)) == [Softmax]
    model.graph.output.append(helper.make_tensor_value_info("result", TensorProto.FLOAT, (2, 5)))
    assert sorted(kind.__name__ for kind in kinds(integers(model))) == ["Softmax", "SoftmaxOfLevels"]
