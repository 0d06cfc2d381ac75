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
from tests.passes.trained_models import TrainedModel
from tests.sampled import in_turn

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


def last_layer(path: Path) -> Path:
    """A convolution whose outputs nothing quantizes: real numbers with channels first."""
    model = TrainedModel((1, 4, 10, 9))
    model.quantize(0.03, "uint8", 117)
    model.conv(8)
    model.quantize(0.2, "uint8", 99)
    weights = model.weights((6, 8, 1, 1))
    model.add("Conv", weights, model.constant(np.linspace(-2, 2, 6, dtype=np.float32)), kernel_shape=[1, 1])
    onnx.save(model.build(), path)
    return path


@pytest.mark.parametrize(
    ("l1", "fuse", "target"), in_turn([(None, True), (None, False), (2500, False)], [("gap9",), ("gap8",)])
)
def test_sums_become_real_numbers_on_the_cluster(tmp_path: Path, l1: int | None, fuse: bool, target: str) -> None:
    """They are laid out there, too; sums are those of integers, so that only the last bits may differ."""
    path = last_layer(tmp_path / "last.onnx")
    compiled = match.compile(path, target, modules=["cluster"], l1=l1, fuse=fuse, numerics="exact")
    operators = {stage.op: layer for layer in compiled.report.layers for stage in (layer.operators or (layer,))}
    assert {operators[op].module for op in ("dequantize_sums", "transpose")} == {"cluster"}
    samples = np.random.default_rng(4).normal(0, 1, (3, 1, 4, 10, 9)).astype(np.float32)
    session: onnxruntime.InferenceSession = exact_session(path)
    expected = np.stack([session.run(None, {"x": sample})[0] for sample in samples])
    (found,) = compiled.run({"x": samples}, sanitize=True).values()
    assert len(np.unique(expected)) > 100
    assert np.allclose(found, expected, rtol=0, atol=1e-6 * float(np.abs(expected).max()))


def test_channels_of_sums_in_tiles(tmp_path: Path) -> None:
    """More outputs than fit L1 with their scales and biases: each tile has those of its own channels."""
    model = TrainedModel((1, 8))
    model.quantize(0.03, "uint8", 117)
    weights = model.weights((500, 8))
    model.add("Gemm", weights, model.constant(np.linspace(-2, 2, 500, dtype=np.float32)), transB=1)
    onnx.save(model.build(), tmp_path / "wide.onnx")
    compiled = match.compile(tmp_path / "wide.onnx", "gap9", l1=4000, fuse=False, numerics="exact")
    (plan,) = (layer.plan for layer in compiled.layers if layer.op == "dequantize_sums")
    assert plan is not None
    assert [loop.dim for loop in plan.schedule.loops] == ["K"]
    samples = np.random.default_rng(4).normal(0, 1, (3, 1, 8)).astype(np.float32)
    session: onnxruntime.InferenceSession = exact_session(tmp_path / "wide.onnx")
    expected = np.stack([session.run(None, {"x": sample})[0] for sample in samples])
    (found,) = compiled.run({"x": samples}, sanitize=True).values()
    assert np.allclose(found, expected, rtol=0, atol=1e-6 * float(np.abs(expected).max()))
