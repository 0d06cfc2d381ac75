"""Recurrent cells, which ONNX leaves in floating point, from a quantized file to the C that runs on this machine."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest

import match
from tests.devtools.zoo.reference import run
from tests.passes.onnx_models import OnnxModel, quantize

pytestmark = pytest.mark.cc

STEPS, FEATURES, HIDDEN = 4, 6, 5


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_lstm(tmp_path: Path, direction: str) -> None:
    """Its exponentials are those of the C library, so that an output may be one step off."""
    directions = 2 if direction == "bidirectional" else 1
    model = OnnxModel((STEPS, 1, FEATURES))
    shapes = ((4 * HIDDEN, FEATURES), (4 * HIDDEN, HIDDEN), (8 * HIDDEN,))
    constants = [model.constant(model.rng.normal(0, 0.7, (directions, *shape))) for shape in shapes]
    model.add("LSTM", *constants, hidden_size=HIDDEN, direction=direction)
    model.add("Reshape", model.constant(np.array([1, STEPS * directions * HIDDEN])))
    model.gemm(STEPS * directions * HIDDEN, 7)
    path = quantize(model, tmp_path, "QDQ", "QInt8", per_channel=False)
    compiled = match.compile(path, "gap9", cache=False, fuse=False)
    samples = np.random.default_rng(1).normal(0, 1, (3, *model.shape)).astype(np.float32)
    (found,) = compiled.run({"x": samples}).values()
    (right,) = run(onnx.load(path), samples)
    steps = np.diff(np.unique(right))
    assert len(steps) > 4
    np.testing.assert_allclose(found, right, rtol=0, atol=1.01 * float(steps.min()))


def test_steps_share_code_and_constants() -> None:
    """A network of more steps is not larger but for what a step leaves to others."""
    totals = [match.compile(_between(steps), "gap9", cache=False).report.totals for steps in (4, 7)]
    assert totals[0].constant_bytes == totals[1].constant_bytes
    assert totals[0].cycles * 1.5 < totals[1].cycles


@pytest.mark.skipif(platform.machine() != "x86_64", reason="asks for an instruction of this processor")
@pytest.mark.parametrize("standard", ["c11", "gnu17"])
def test_products_and_sums_are_rounded_one_by_one(tmp_path: Path, standard: str) -> None:
    """As the network's own are, where the processor has an instruction for both: gnu17 alone would take it."""
    match.compile(_between(2), "gap9", name="cell", cache=False).save(tmp_path)
    flags = ["CFLAGS=-O2 -mfma", f"STANDARD={standard}"]
    subprocess.run(["make", "-s", "-C", str(tmp_path), *flags, "lib"], check=True)
    code = subprocess.check_output(["objdump", "-d", str(tmp_path / "build/host/libcell.a")], text=True)
    assert "vmulss" in code
    assert "vfm" not in code


def _between(steps: int) -> onnx.ModelProto:
    """A GRU in floating point behind a dequantize."""
    model = OnnxModel((steps, 2, FEATURES))
    values = {"scale": np.array(0.02, np.float32), "zero": np.array(128, np.uint8)}
    model.add("QuantizeLinear", *values)
    model.add("DequantizeLinear", *values)
    shapes = ((3 * HIDDEN, FEATURES), (3 * HIDDEN, HIDDEN), (6 * HIDDEN,))
    constants = [model.constant(model.rng.normal(0, 0.7, (1, *shape))) for shape in shapes]
    model.add("GRU", *constants, hidden_size=HIDDEN, linear_before_reset=1)
    return model.build([onnx.numpy_helper.from_array(value, name) for name, value in values.items()])
