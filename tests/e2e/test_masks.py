"""Matrices of attention with a mask or a bias for all heads: layers of the cluster, equal to onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import match
from match.validation.exact_session import exact_session

pytestmark = pytest.mark.cc

EXTENTS = [2, 3, 12, 12]


def masked_scores() -> onnx.ModelProto:
    """The lower triangle of each matrix, with a bias of each pair added that is the same for both images."""
    rng = np.random.default_rng(3)
    constants = {
        "s": np.float32(0.0625),
        "z": np.uint8(120),
        "mask": np.tri(12, dtype=bool).reshape(1, 1, 12, 12),
        "never": np.float32(-np.inf),
        "bias": rng.integers(0, 256, (1, *EXTENTS[1:])).astype(np.uint8),
        "so": np.float32(0.0625),
        "zo": np.uint8(140),
    }
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "s", "z"], ["real"]),
        helper.make_node("DequantizeLinear", ["bias", "s", "z"], ["b"]),
        helper.make_node("Add", ["real", "b"], ["sum"]),
        helper.make_node("QuantizeLinear", ["sum", "so", "zo"], ["sumq"]),
        helper.make_node("DequantizeLinear", ["sumq", "so", "zo"], ["scores"]),
        helper.make_node("Where", ["mask", "scores", "never"], ["masked"]),
        helper.make_node("QuantizeLinear", ["masked", "so", "zo"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "masked_scores",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, EXTENTS)],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, EXTENTS)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_masks_for_all_heads() -> None:
    """With an L1 that holds no whole tensor, so that pixels and channels of the layers are tiled."""
    model = masked_scores()
    x = np.random.default_rng(0).normal(0, 3, EXTENTS).astype(np.float32)
    (expected,) = exact_session(model.SerializeToString()).run(None, {"x": x})
    for l1 in (None, 700):
        compiled = match.compile(model, "gap9", modules=["cluster"], l1=l1, fuse=False, numerics="exact")
        assert [layer.op for layer in compiled.layers if layer.module == "cluster"][-2:] == ["add", "multiply"]
        assert np.array_equal(compiled.run({"x": x}, sanitize=True)["y"], expected)
