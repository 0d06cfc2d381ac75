"""Recurrent cells, which ONNX leaves in floating point, from a quantized file to the C that runs on this machine."""

from __future__ import annotations

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
