"""Networks with several maps inside: frames of one input, images that are compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import match
from match.dispatch.plan import CPU
from match.validation.exact_session import exact_session
from tests.passes.onnx_models import OnnxModel, quantize
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.cc


def frames(folder: Path, count: int) -> Path:
    """The same layers on each frame, then a layer on what all of them give."""
    model = OnnxModel((1, count, 4, 16, 16))
    model.add("Reshape", model.constant(np.array([count, 4, 16, 16], np.int64)))
    model.channels = 4
    model.conv(8, pads=[1, 1, 1, 1])
    model.add("Relu")
    model.conv(8, (1, 1))
    model.add("Sigmoid")
    model.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    model.conv(8, group=8, pads=[1, 1, 1, 1])
    model.add("ConvTranspose", model.constant(model.rng.normal(0, 0.2, (8, 8, 3, 3))), strides=[2, 2])
    model.add("GlobalAveragePool")
    model.add("Reshape", model.constant(np.array([1, 8 * count], np.int64)))
    model.gemm(8 * count, 5)
    return quantize(model, folder, "QDQ", "QUInt8", per_channel=True)


def compared(folder: Path) -> Path:
    """Two images, and what is common to what the same layers find in them."""
    model = OnnxModel((2, 4, 16, 16))
    model.conv(8, pads=[1, 1, 1, 1])
    model.add("Relu")
    model.add("GlobalAveragePool")
    both = model.add("Flatten")
    one = model.add("Slice", *(model.constant(np.array([n], np.int64)) for n in (0, 1, 0)))
    model.current = both
    model.add("Slice", *(model.constant(np.array([n], np.int64)) for n in (1, 2, 0)))
    model.add("Mul", one)
    model.gemm(8, 3)
    return quantize(model, folder, "QDQ", "QUInt8", per_channel=True)


@pytest.mark.parametrize("target", ["gap9", "gap8"])
def test_frames(target: str, tmp_path: Path) -> None:
    """They take what as many networks of a single frame take, and no more."""
    path = frames(tmp_path, 4)
    compiled = match.compile(path, target, numerics="exact")
    assert compiled.validate(samples=4).equal
    assert all(layer.module != CPU or not layer.macs for layer in compiled.report.layers)
    one = match.predict(frames(tmp_path, 1), target, numerics="exact").totals.cycles
    assert compiled.report.totals.cycles <= 4 * one


def test_compared_images(tmp_path: Path) -> None:
    compiled = match.compile(compared(tmp_path), "gap9", numerics="exact")
    assert compiled.validate(samples=4).equal
    assert compiled.report.model.batch == 1
    (first, *_) = compiled.report.layers
    assert first.module != CPU
    assert [one.op for one in first.operators].count("conv2d") == 2


def test_sums_that_nothing_quantizes(tmp_path: Path) -> None:
    """The last convolution hands out real numbers."""
    model, path = TrainedModel((1, 3, 16, 16)), tmp_path / "frames.onnx"
    model.quantize(0.03, "uint8", 128)
    model.add("Reshape", model.constant(np.array([3, 1, 16, 16])))
    model.channels = 1
    model.conv(8, pads=[1, 1, 1, 1])
    model.quantize(0.05, "uint8", 120)
    model.conv(6, pads=[1, 1, 1, 1])
    onnx.save(model.build(), path)
    compiled = match.compile(path, "gap9", numerics="exact", fuse=False)
    assert all(layer.module != CPU for layer in compiled.report.layers if layer.macs)
    x = np.random.default_rng(2).normal(0, 1, (1, 3, 16, 16)).astype(np.float32)
    (expected,) = exact_session(path.read_bytes()).run(None, {"x": x})
    (found,) = compiled.run({"x": x}).values()
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())
