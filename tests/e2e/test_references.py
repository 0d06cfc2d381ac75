"""The NumPy references of this folder agree with TFLite Micro: what equals the one equals the other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.e2e import tflite_network

pytestmark = pytest.mark.unit

MODELS = ("pretrainedResnet_quant", "vww_96_int8", "kws_ref_model", "ad01_int8")


@pytest.mark.parametrize("name", MODELS)
def test_numpy_interpreter_equals_tflite_micro(name: str, models_dir: Path, tmp_path: Path) -> None:
    path = models_dir / f"{name}.tflite"
    network = tflite_network.read(path)
    rng = np.random.default_rng(0)
    samples = rng.integers(-128, 128, (2, *network.tensors[network.input].shape)).astype(np.int8)
    expected = tflite_network.run_micro(tflite_network.cut(path, network.logits, tmp_path / "cut.tflite"), samples)
    for sample, logits in zip(samples, expected, strict=True):
        assert np.array_equal(tflite_network.interpret(network, sample)[network.logits], logits)
