"""Networks whose scales are powers of two, as quantizers for accelerators that shift write them: exact, on modules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import match
from match.frontend import load
from match.target.registry import get_target
from match.validation.exact_session import exact_session, with_own_weights
from tests.passes.trained_models import TrainedModel

pytestmark = pytest.mark.cc

FAST = {None, "int32", "split", "stream_out_split", "norm_quant_8", "norm_quant_16", "norm_quant_32"}
"""Forms of requantization without exceptions and products of 64 bits."""


def conv(model: TrainedModel, filters: int, kernel: int, shift: int, group: int = 1) -> None:
    """A convolution with integer weights, whose biases have 8 bits and a scale of their own."""
    shape = filters, model.channels // group, kernel, kernel
    levels = model.rng.normal(0, 40, shape).clip(-127, 127).astype(np.int8)
    step, zero = model.constant(np.float32(2.0**-shift)), model.constant(np.int8(0))
    weights = model.apply("DequantizeLinear", model.constant(levels), step, zero)
    biases = model.constant(model.rng.integers(-100, 100, filters).astype(np.int8))
    bias = model.apply("DequantizeLinear", biases, model.constant(np.float32(2.0**-6)), zero)
    model.channels = filters
    model.add("Conv", weights, bias, kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4, group=group)


@pytest.mark.parametrize(("dtype", "zero_point"), [("int8", 0), ("uint8", 128)])
@pytest.mark.parametrize("target", ["gap9", "gap8"])
def test_a_residual_network(target: str, dtype: str, zero_point: int, tmp_path: Path) -> None:
    """Halves are met in convolutions, in the addition and in the mean, whose windows have 2^6 pixels."""
    model = TrainedModel((1, 3, 8, 8))
    model.quantize(2.0**-5, dtype, zero_point)
    conv(model, 16, 3, 9)
    model.add("Relu")
    before = model.quantize(2.0**-5, dtype, zero_point)
    conv(model, 16, 3, 8, group=16)
    model.add("Relu")
    model.quantize(2.0**-5, dtype, zero_point)
    conv(model, 16, 1, 8)
    model.quantize(2.0**-6, dtype, zero_point)
    model.add("Add", before)
    model.add("Relu")
    model.quantize(2.0**-4, dtype, zero_point)
    model.add("GlobalAveragePool")
    model.quantize(2.0**-6, dtype, zero_point)
    conv(model, 10, 1, 8)
    model.quantize(2.0**-7, dtype, zero_point)
    onnx.save(model.build(), tmp_path / "network.onnx")
    modules = [module.name for module in get_target(target).modules if module.memories]
    compiled = match.compile(tmp_path / "network.onnx", target, modules=modules, numerics="exact")
    assert compiled.report.totals.inexact_layers == 0
    assert {layer.module for layer in compiled.report.layers} <= {"cluster", "ne16"}
    forms = {one.requantization and one.requantization.form for one in compiled.report.layers}
    assert forms <= FAST
    samples = np.random.default_rng(8).normal(0, 1, (8, 1, 3, 8, 8)).astype(np.float32)
    (outputs,) = compiled.run({"x": samples}, sanitize=True).values()
    data = load(tmp_path / "network.onnx").data
    assert data is not None
    session = exact_session(with_own_weights(data))
    expected = np.stack([session.run(None, {"x": sample})[0] for sample in samples])
    assert len(np.unique(expected)) > 20
    np.testing.assert_array_equal(outputs, expected)
