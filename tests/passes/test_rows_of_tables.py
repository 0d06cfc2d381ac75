"""Rows of constant tables at indices that are known only when the network runs, against onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.frontend import load
from match.passes.pipeline import integer_network
from match.validation.exact_session import exact_session
from tests.integer_relay import integer_relay
from tests.passes.running import executable

pytestmark = pytest.mark.tvm

WORDS, FEATURES = 13, 6
DEQUANTIZED = "DequantizeLinear", ["levels", "s", "z"]
NETWORKS: dict[str, list[tuple[str, list[str], dict[str, Any]]]] = {
    "numbers": [("Gather", ["table", "x"], {})],
    "levels": [(*DEQUANTIZED, {}), ("Gather", ["", "x"], {})],
    "columns": [(*DEQUANTIZED, {}), ("Gather", ["", "x"], {"axis": 1})],
    "turned": [("Gather", ["table", "x"], {}), ("Transpose", [""], {"perm": [0, 2, 1]})],
}


def network(name: str, dtype: type, scale: float) -> onnx.ModelProto:
    """Nodes whose input "" is the output of the one before; the last one's output is quantized."""
    rng = np.random.default_rng(1)
    limits = np.iinfo(dtype)
    constants = {
        "table": rng.normal(0, 1, (WORDS, FEATURES)).astype(np.float32),
        "levels": rng.integers(limits.min, limits.max, (WORDS, FEATURES), dtype, endpoint=True),
        "s": np.float32(0.013),
        "z": dtype(limits.min + 121),
        "so": np.float32(scale),
        "zo": dtype(limits.min + 130),
    }
    nodes: list[Any] = []
    for place, (kind, inputs, attributes) in enumerate(NETWORKS[name]):
        read = [one or f"t{place - 1}" for one in inputs]
        nodes.append(helper.make_node(kind, read, [f"t{place}"], **attributes))
    nodes.append(helper.make_node("QuantizeLinear", [nodes[-1].output[0], "so", "zo"], ["bytes"]))
    nodes.append(helper.make_node("Flatten", ["bytes"], ["y"]))
    graph = helper.make_graph(
        nodes,
        name,
        [helper.make_tensor_value_info("x", TensorProto.INT64, (1, 5))],
        [helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), None)],
        [numpy_helper.from_array(np.asarray(value), key) for key, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(model)


@pytest.mark.parametrize("scale", [0.013, 0.02])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("name", NETWORKS)
def test_bytes_are_chosen(name: str, dtype: type, scale: float) -> None:
    model = network(name, dtype, scale)
    loaded = load(model)
    module = integer_relay(loaded)
    assert "float32" not in module.astext(show_meta_data=False)
    compute, session = executable(module), exact_session(model.SerializeToString(), signed=True)
    low, high = loaded.inputs[0].indices or (0, 0)
    for first in range(low, high + 1):
        x = np.clip(np.arange(first, first + 5), low, high)[None]
        assert np.array_equal(compute({"x": x})[0], session.run(None, {"x": x})[0])


def test_a_table_that_is_computed_stays() -> None:
    """Not constant: its scale is another matter."""
    model = network("numbers", np.int8, 0.02)
    (gather,) = [node for node in model.graph.node if node.op_type == "Gather"]
    gather.input[0] = "given"
    model.graph.input.append(helper.make_tensor_value_info("given", TensorProto.FLOAT, (WORDS, FEATURES)))
    compute = executable(integer_network(load(model)))
    feed = {
        "x": np.array([[0, -1, 12, 3, -13]]),
        "given": np.random.default_rng(2).normal(0, 1, (WORDS, FEATURES)).astype(np.float32),
    }
    expected = exact_session(model.SerializeToString(), signed=True).run(None, feed)[0]
    assert np.array_equal(compute(feed)[0], expected)
