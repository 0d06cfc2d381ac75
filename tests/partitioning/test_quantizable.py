"""What of a model is in floating point for the way in which it is quantized."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.frontend import load
from match.partitioning.quantizable import has_wide_activations

pytestmark = pytest.mark.tvm


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("domain", ["", "com.microsoft"])
def test_activations_of_16_bits(dtype: str, domain: str) -> None:
    """Behind one of 8 bits, as a model without any is refused."""
    constants = {"scale": np.float32(0.1), "zero": np.zeros((), "int8"), "wide": np.zeros((), dtype)}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "scale", "wide"], ["s"], domain=domain),
        helper.make_node("DequantizeLinear", ["s", "scale", "wide"], ["y"], domain=domain),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in "xy")
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph(nodes, "net", [x], [y], initializers)
    model = load(helper.make_model(graph, opset_imports=opsets, ir_version=9))
    assert has_wide_activations(model.network) == dtype.endswith("16")
