"""A small network that TVM imports, as the graph has no class for an operator of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save_imported_network(path: Path) -> Path:
    """Write the numbers of rows in order, between dequantize and quantize, as an ONNX file."""
    constants = {
        "scale": np.float32(0.04),
        "zero": np.uint8(120),
        "count": np.array([8]),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["levels"]),
        helper.make_node("DequantizeLinear", ["levels", "scale", "zero"], ["numbers"]),
        helper.make_node("TopK", ["numbers", "count"], ["largest", "places"]),
        helper.make_node("QuantizeLinear", ["largest", "scale", "zero"], ["y"]),
    ]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])]
    returned = [helper.make_tensor_value_info("y", TensorProto.UINT8, [4, 8])]
    initializers = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, path.stem, given, returned, initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path
