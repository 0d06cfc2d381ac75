"""Means that float32 decides: modules and the control core divide as onnxruntime does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import match
from tests.passes.one_operator import quantized

pytestmark = pytest.mark.tvm

KIND: dict[str, Any] = {"s": np.float32(0.00391), "z": np.uint8(3), "so": np.float32(0.00391), "zo": np.uint8(3)}


@pytest.mark.parametrize(("window", "pads"), [([3, 4], [0, 0, 0, 0]), ([4, 2], [1, 0, 0, 0]), ([2, 2], [0, 0, 1, 1])])
def test_modules_and_the_core_divide(window: list[int], pads: list[int], tmp_path: Path) -> None:
    """The core's C is beside onnxruntime, of many means that are halves of steps."""
    path = tmp_path / "means.onnx"
    onnx.save(quantized("AveragePool", (1, 8, 8, 9), KIND, kernel_shape=window, pads=pads), path)
    for target, module in (("gap9", "cluster"), ("diana", "digital")):
        compiled = match.compile(path, target, numerics="exact", jobs=1, fuse=False, modules=[module])
        (means,) = [layer for layer in compiled.report.layers if layer.op == "float_avg_pool2d"]
        assert (means.module == "cluster", means.exact) == (target == "gap9", True)
        assert means.floating == (means.module == "cpu")
    assert compiled.validate(samples=20).equal


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [("ConvTranspose", {"strides": [2, 2]}), ("AveragePool", {"kernel_shape": [3, 2]}), ("ReduceMean", {"axes": [3]})],
)
@pytest.mark.parametrize("batch", [1, 2])
def test_several_maps_are_as_exact_as_one(kind: str, attributes: Any, batch: int) -> None:
    """A layer of a batch is that of one sample; what the control core computes of it is within one step."""
    weights = {"w": np.random.default_rng(2).integers(-9, 9, (8, 2, 3, 3)).astype(np.int8)}
    transposed = kind == "ConvTranspose"
    constants = {**KIND, **weights, "sw": np.float32(0.01), "zw": np.int8(0)} if transposed else KIND
    model = quantized(kind, (batch, 8, 6, 5), constants, more=["d"] if transposed else [], **attributes)
    if transposed:
        model.graph.node.insert(0, helper.make_node("DequantizeLinear", ["w", "sw", "zw"], ["d"]))
    report = match.compile(onnx.shape_inference.infer_shapes(model), "diana", jobs=1).report
    inexact = [layer.op for layer in report.layers if not layer.exact]
    assert len(inexact) == 1


def test_means_of_several_maps_are_those_of_one() -> None:
    """The C of the network is for one sample, whose means a module computes."""
    model = quantized("AveragePool", (2, 8, 8, 9), KIND, kernel_shape=[3, 4])
    report = match.compile(model, "gap9", numerics="exact", jobs=1, fuse=False).report
    (means,) = [layer for layer in report.layers if layer.op == "float_avg_pool2d"]
    assert (means.module, means.exact, means.floating) == ("cluster", True, False)
