"""Float TFLite files, which tf2onnx converts in a process of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import match
from match.errors import ModelError
from match.quantizing import tflite
from tests.passes.tflite_models import TfliteModel
from tests.quantizing.conftest import noise, tiny

pytestmark = pytest.mark.cc
pytest.importorskip("onnxruntime")

CONVERT = """
import shutil, sys
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if open(given["--tflite"], "rb").read(8)[4:] != b"TFL3":
    sys.exit("an error: this is no TFLite file")
shutil.copy({model!r}, given["--output"])
"""


@pytest.fixture
def converter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What stands in for tf2onnx, and writes the same network for each file."""
    packages, model = tmp_path / "packages", tmp_path / "tiny.onnx"
    onnx.save(tiny(), model)
    for name in ("tensorflow", "tf2onnx"):
        (packages / name).mkdir(parents=True)
        (packages / name / "__init__.py").write_text("")
    (packages / "tf2onnx" / "convert.py").write_text(CONVERT.format(model=str(model)))
    monkeypatch.setenv("PYTHONPATH", str(packages))
    monkeypatch.syspath_prepend(packages)
    return model


def written(folder: Path) -> Path:
    small = TfliteModel()
    x, y = (small.tensor((1, 4), "float32") for _ in "xy")
    small.operator("NEG", [x], y)
    (folder / "float.tflite").write_bytes(small.build([x], [y]))
    return folder / "float.tflite"


@pytest.mark.usefixtures("converter")
def test_what_was_converted_is_quantized(tmp_path: Path) -> None:
    result = match.quantize(written(tmp_path), noise(4, 3, 8, 8)).result
    assert result.network == "float"
    assert not result.floating


def test_what_cannot_be_converted_is_one_sentence(converter: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(bytes(8))
    with pytest.raises(ModelError, match=r"other cannot be converted to ONNX: tf2onnx failed: an error: this is no "):
        tflite.onnx_of_tflite(tmp_path / "other")


@pytest.mark.sweep
def test_by_tf2onnx(tmp_path: Path) -> None:
    """The conversion is that of the digits' float network in Keras, whose classes stay."""
    tensorflow = pytest.importorskip("tensorflow")
    pytest.importorskip("tf2onnx")
    keras = tensorflow.keras
    network = keras.Sequential([keras.Input((8,)), keras.layers.Dense(6, activation="relu"), keras.layers.Dense(4)])
    file = tmp_path / "dense.tflite"
    file.write_bytes(tensorflow.lite.TFLiteConverter.from_keras_model(network).convert())
    data = np.random.default_rng(2).normal(size=(50, 8)).astype(np.float32)
    result = match.quantize(file, data, test=data).result
    assert next(run for run in result.runs if run.run == "quantized").agreeing in range(46, 51)
