"""Networks that were trained quantized, as exporters write them, on the modules of a chip."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import match
from match.dispatch.plan import WITHOUT_CODE
from match.frontend import load
from match.report.schema import LayerSummary
from match.validation.exact_session import exact_session, with_own_weights
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.cc


def refused(layer: LayerSummary) -> bool:
    """Whether no module offers to take an operator that has code."""
    offers = [offer for offer in layer.candidates if offer.module != "cpu" and offer.cycles is not None]
    return layer.op not in WITHOUT_CODE and not offers


@pytest.mark.parametrize(("bits", "per_channel"), [(8, True), (4, True), (8, False)])
def test_a_network_is_on_the_modules(bits: int, per_channel: bool, tmp_path: Path) -> None:
    """Normalizations behind convolutions, poolings without a quantize behind them, types that change on the way."""
    model = TrainedModel((1, 3, 16, 16), bits=bits, per_channel=per_channel)
    model.quantize(0.03, "int8")
    model.conv(16, pads=[1, 1, 1, 1])
    model.normalize()
    model.add("Relu")
    model.quantize(0.002)
    model.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    model.conv(16, group=16, pads=[1, 1, 1, 1])
    model.normalize()
    model.add("Relu")
    model.quantize(0.0005)
    model.conv(24, (1, 1))
    model.normalize()
    model.quantize(0.0001, "int8")
    model.add("GlobalAveragePool")
    model.quantize(0.00006, "int8")
    model.add("Flatten")
    model.add("Gemm", model.weights((10, 24)), transB=1)
    scale = 0.00006
    model.quantize(scale, "int8")
    onnx.save(model.build(), tmp_path / "network.onnx")
    compiled = match.compile(tmp_path / "network.onnx", "gap9", numerics="exact")
    assert compiled.report.layers[0].module == "cluster"
    assert not [layer.name for layer in compiled.report.layers if refused(layer)], "the core has what is cheaper there"
    samples = np.random.default_rng(8).normal(0, 1, (4, 1, 3, 16, 16)).astype(np.float32)
    (outputs,) = compiled.run({"x": samples}, sanitize=True).values()
    data = load(tmp_path / "network.onnx").data
    assert data is not None
    session = exact_session(with_own_weights(data))
    expected = np.stack([session.run(None, {"x": sample})[0] for sample in samples])
    assert len(np.unique(expected)) > 6
    assert np.abs(outputs - expected).max() < 3 * scale
    assert np.mean(outputs != expected) < 0.1


def test_what_nothing_quantizes_is_summed_on_the_modules(tmp_path: Path) -> None:
    """A layer in front of an addition in floating point, and the last one: 32-bit sums, then real numbers."""
    model = TrainedModel((1, 3, 16, 16))
    model.quantize(0.03, "int8")
    model.conv(16, pads=[1, 1, 1, 1])
    model.add("Relu")
    before = model.quantize(0.03)
    model.conv(16, pads=[1, 1, 1, 1])
    model.add("Add", before)
    model.quantize(0.2, "int8")
    model.add("GlobalAveragePool")
    model.quantize(0.01, "int8")
    model.add("Flatten")
    model.add("Gemm", model.weights((300, 16)), model.constant(np.ones(300, np.float32)), transB=1)
    onnx.save(model.build(), tmp_path / "network.onnx")
    compiled = match.compile(tmp_path / "network.onnx", "gap9", modules=["cluster"], numerics="exact")
    assert {layer.op for layer in compiled.layers if layer.module == "cluster"} >= {"conv2d", "dense"}
    sample = np.random.default_rng(8).normal(0, 1, (1, 3, 16, 16)).astype(np.float32)
    (outputs,) = compiled.run({"x": sample}, sanitize=True).values()
    data = load(tmp_path / "network.onnx").data
    assert data is not None
    (expected,) = exact_session(with_own_weights(data)).run(None, {"x": sample})
    assert np.allclose(outputs, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
