"""onnxruntime's own operators that are several of ONNX's, beside onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match.errors import ModelError
from match.frontend import load
from match.graph.evaluate import evaluate
from match.passes.pipeline import integer_network
from match.validation.exact_session import exact_session
from tests.runtimes.quantize_static import EMBEDDING, embedding, quantized

pytestmark = pytest.mark.tvm


@pytest.mark.parametrize("zero_points", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("columns", [(), (8,)])
def test_products_that_become_real_numbers(
    columns: tuple[int, ...], bias: bool, zero_points: bool, tmp_path: Path
) -> None:
    rng = np.random.default_rng(3)
    constants: dict[str, Any] = {
        "s": np.float32(0.05),
        "z": np.uint8(120 if zero_points else 0),
        "w": rng.integers(-60, 60, (24, 8)).astype(np.int8),
        "ws": rng.uniform(0.01, 0.02, columns).astype(np.float32),
        "wz": np.full(columns, 3, np.int8),
        "b": rng.normal(0, 1, 8).astype(np.float32),
    }
    inputs = [
        "levels",
        "w",
        "s",
        "ws",
        *(["z", "wz"] if zero_points else ["", ""] if bias else []),
        *(["b"] if bias else []),
    ]
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["levels"]),
        helper.make_node("MatMulIntegerToFloat", inputs, ["y"], domain="com.microsoft"),
    ]
    graph = helper.make_graph(
        nodes,
        "products",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, (4, 24))],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (4, 8))],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    onnx.save(model, tmp_path / "products.onnx")
    x = rng.normal(0, 3, (4, 24)).astype(np.float32)
    (found,) = evaluate(integer_network(load(tmp_path / "products.onnx")), [x])
    (expected,) = exact_session(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert len(np.unique(expected)) > 8


@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
def test_embeddings(form: str, tmp_path: Path) -> None:
    """Words, positions, segments: rows of quantized tables, normalized."""
    path = tmp_path / "embedded.onnx"
    quantized(EMBEDDING, form, path)
    rng = np.random.default_rng(5)
    x = {name: rng.integers(0, count, (1, 8)).astype(np.int32) for name, count in (("words", 50), ("segments", 2))}
    (found,) = evaluate(integer_network(load(path)), list(x.values()))
    (expected,) = exact_session(path.read_bytes()).run(None, x)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert len(np.unique(expected)) > 8


@pytest.mark.parametrize("change", ["no shape", "mask", "sums"])
def test_embeddings_that_stay(change: str) -> None:
    """What is not known is not written out: the words' number, what else the operator hands out."""
    model = embedding()
    node, words = model.graph.node[0], model.graph.input[0]
    if change == "no shape":
        words.type.tensor_type.shape.dim[1].dim_param = "n"
    else:
        node.output[:] = ["y", "m"] if change == "mask" else ["y", "unread", "m"]
        model.graph.output.append(helper.make_tensor_value_info("m", TensorProto.INT32, None))
    with pytest.raises(ModelError, match="EmbedLayerNormalization"):
        load(model)
