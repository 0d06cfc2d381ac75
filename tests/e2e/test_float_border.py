"""Networks that begin and end in float32: both borders on the cluster, with onnxruntime's bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import match
from match.validation.exact_session import exact_session

pytestmark = pytest.mark.cc

SHAPE = (1, 12, 26, 20)


def pooled(path: Path, zero_point: int) -> Path:
    """Quantize, the largest of 3x3 numbers, dequantize; NCHW."""
    scale = numpy_helper.from_array(np.float32(0.125), "scale")
    zero = numpy_helper.from_array(np.int8(zero_point), "zero")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("MaxPool", ["q"], ["p"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("DequantizeLinear", ["p", "scale", "zero"], ["y"]),
    ]
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in "xy"]
    graph = helper.make_graph(nodes, "border", tensors[:1], tensors[1:], [scale, zero])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


@pytest.mark.parametrize(("zero_point", "l1"), [(5, None), (-128, 8000)])
def test_both_borders_on_the_cluster(tmp_path: Path, zero_point: int, l1: int | None) -> None:
    path = pooled(tmp_path / "border.onnx", zero_point)
    compiled = match.compile(path, "gap9", l1=l1, fuse=False)
    rows = {layer.op: layer for layer in compiled.layers}
    assert rows["quantize"].module == rows["dequantize"].module == "cluster"
    if l1 is not None:
        assert rows["quantize"].plan is not None
        assert len(rows["quantize"].plan.schedule.loops) > 0
    rng = np.random.default_rng(4)
    samples = (rng.integers(-400, 400, (3, *SHAPE)) * 0.0625).astype(np.float32)  # each other one is halfway
    samples[0].flat[:4] = np.inf, -np.inf, -0.0, 1e-40
    session: onnxruntime.InferenceSession = exact_session(path)
    expected = np.stack([session.run(None, {"x": sample})[0] for sample in samples])
    assert np.array_equal(compiled.run({"x": samples}, sanitize=True)["y"], expected)
