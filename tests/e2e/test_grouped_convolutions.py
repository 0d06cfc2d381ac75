"""Convolutions in groups, from a file quantized by onnxruntime to the C that runs on this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import match
from tests.devtools.zoo.reference import run
from tests.passes.onnx_models import OnnxModel, expose_integers, quantize

pytestmark = pytest.mark.cc

GROUPS = [(2, 2, 3), (3, 3, 3), (4, 4, 1), (4, 2, 5), (2, 5, 2), (6, 1, 2)]  # groups; channels and outputs of each


@pytest.mark.parametrize(("groups", "inputs", "outputs"), GROUPS)
def test_grouped_convolution(tmp_path: Path, groups: int, inputs: int, outputs: int) -> None:
    model = OnnxModel((1, groups * inputs, 7, 6))
    model.conv(groups * outputs, group=groups, pads=[1, 0, 1, 1])
    model.add("Relu")
    model.conv(5, (1, 1))
    path = expose_integers(quantize(model, tmp_path, "QDQ", "QInt8", per_channel=True))
    compiled = match.compile(path, "gap9", numerics="exact", cache=False, fuse=False)
    assert 7 * 5 * groups * inputs * outputs * 9 in {layer.macs for layer in compiled.layers}
    samples = np.random.default_rng(1).normal(0, 1, (3, *model.shape)).astype(np.float32)
    for found, right in zip(compiled.run({"x": samples}).values(), run(onnx.load(path), samples), strict=True):
        np.testing.assert_array_equal(found, right)
