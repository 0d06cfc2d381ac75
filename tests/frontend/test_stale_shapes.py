"""Outputs whose shapes an ONNX file leaves open or tells wrongly, as after an edit of its inputs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.frontend import load

pytestmark = pytest.mark.tvm


def pooled(output: onnx.ValueInfoProto) -> onnx.ModelProto:
    """Pooling of a quantized map, whose outputs are (1, 3, 4, 2)."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["levels"]),
        helper.make_node("DequantizeLinear", ["levels", "s", "z"], ["real"]),
        helper.make_node("MaxPool", ["real"], ["y"], kernel_shape=[2, 3], strides=[1, 2]),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 3, 5, 5))]
    constants = [numpy_helper.from_array(np.float32(0.1), "s"), numpy_helper.from_array(np.uint8(3), "z")]
    graph = helper.make_graph(nodes, "pooled", inputs, [output], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("shape", [(1, 3, 2, 2), (1, 3, 9, 9), (1, 7), ("N", 3, 4, 2)])
def test_shapes_of_outputs_are_those_that_the_network_computes(shape: tuple[int | str, ...]) -> None:
    (output,) = load(pooled(helper.make_tensor_value_info("y", TensorProto.FLOAT, shape))).outputs
    assert (output.shape, output.layout) == ((1, 3, 4, 2), "NCHW")
