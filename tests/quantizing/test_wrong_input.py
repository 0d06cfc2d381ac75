"""What is wrong with the model, the data or an option: one sentence, exit status 2, nothing written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import match
from match.cli import main
from match.errors import MatchError, ModelError, OptionError
from tests.e2e.test_diana import integer_network
from tests.passes.tflite_models import TfliteModel
from tests.quantizing.conftest import noise, tiny

pytestmark = pytest.mark.cc
pytest.importorskip("onnxruntime")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model and data that fit."""
    monkeypatch.chdir(tmp_path)
    onnx.save(tiny(), "float.onnx")
    onnx.save(tiny(batch=1, width="columns"), "open.onnx")
    onnx.save(match.zoo.build("autoencoder"), "int8.onnx")
    onnx.save(integer_network().model(), "integers.onnx")
    half = tiny()
    half.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    Path("half.onnx").write_bytes(half.SerializeToString())
    Path("broken.onnx").write_bytes(tiny().SerializeToString()[:-40])
    for dtype in ("float32", "int8"):
        small = TfliteModel()
        x, y = (small.tensor((1, 4), dtype, scale=0.1 if dtype == "int8" else None) for _ in "xy")
        small.operator("NEG", [x], y)
        Path(f"{dtype}.tflite").write_bytes(small.build([x], [y]))
    np.savez("data.npz", x=noise(4, 3, 8, 8))
    np.savez("labelled.npz", x=noise(4, 3, 8, 8), labels=np.arange(4))
    np.savez("unknown.npz", image=noise(4, 3, 8, 8), mask=noise(4, 8, 8))
    np.savez("shapes.npz", x=noise(4, 3, 8, 9))
    np.savez("short.npz", x=noise(4, 3, 8, 8), labels=np.arange(3))
    np.savez("classes.npz", x=noise(4, 3, 8, 8), labels=np.full(4, 256))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("float.onnx", "missing option '--data'"),
        ("float.onnx --data missing.npz", "cannot read tensors from missing.npz"),
        ("float.onnx --data unknown.npz", "unknown.npz has image, mask; the model takes: x float32 [1, 3, 8, 8]"),
        ("float.onnx --data shapes.npz", "shapes.npz has x of shape [4, 3, 8, 9]; the model takes"),
        ("float.onnx --data short.npz", "there are 3 labels for the 4 samples of short.npz"),
        ("float.onnx --data data.npz --test short.npz", "there are 3 labels for the 4 samples of short.npz"),
        ("float.onnx --data data.npz --labels no", "data.npz has no array 'no', and there is no such file"),
        ("float.onnx --data classes.npz", "labels of the data have 256, and float gives 256 scores"),
        ("missing.onnx --data data.npz", "cannot read the model missing.onnx"),
        ("broken.onnx --data data.npz", "broken.onnx is truncated or corrupt"),
        ("int8.onnx --data data.npz", "int8.onnx is quantized already"),
        (
            "integers.onnx --data data.npz",
            "integers.onnx is quantized already, to integers; give it to `match compile`",
        ),
        ("half.onnx --data data.npz", "half.onnx"),
        ("open.onnx --data data.npz", "open.onnx leaves more than the batch open at 'x' (columns); fix these"),
        ("float32.tflite --data data.npz", "float32.tflite is a TFLite file, of which tf2onnx makes ONNX"),
        ("int8.tflite --data data.npz", "int8.tflite is quantized already; give it to `match compile`"),
        ("float.onnx --data data.npz --target gap7", "there is no target 'gap7'"),
        ("float.onnx --data data.npz -o q.tflite", "a quantized network is written as .onnx"),
        ("float.onnx --data data.npz -o float.onnx", "--output is MODEL itself"),
        ("float.onnx --data data.npz -o no/folder/q.onnx", "cannot write no/folder/q.onnx"),
        ("float.onnx --data data.npz --save-samples s.txt", "a file of samples is written as .npz"),
        ("float.onnx --data data.npz --weight-bits nine", "--weight-bits nine is no number of bits"),
        ("float.onnx --data data.npz --weight-bits 9", 'weight_bits are 2 to 8 or "auto", not 9'),
        ("float.onnx --data data.npz --loss 0.1", "a loss is allowed to narrower weights alone"),
        ("float.onnx --data labelled.npz --weight-bits auto --loss 2", "the loss that is allowed is a share"),
        ("float.onnx --data data.npz --mean a,b", "--mean a,b is no list of numbers"),
        ("float.onnx --data data.npz --std 0", "std has 0, by which nothing can be divided"),
    ],
)
@pytest.mark.usefixtures("place")
def test_one_sentence_and_no_file(arguments: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().rglob("*"))
    with pytest.raises(SystemExit) as ending:
        main(["quantize", *arguments.split()])
    printed = capsys.readouterr()
    assert ending.value.code == 2
    assert printed.out == ""
    assert printed.err.lower().startswith(f"match: {sentence}".lower()), printed.err
    assert printed.err.count("\n") == 1
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize("missing", ["onnxruntime", "onnxruntime.quantization"])
@pytest.mark.usefixtures("place")
def test_without_onnxruntime(missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(SystemExit) as ending:
        main(["quantize", "float.onnx", "--data", "data.npz"])
    assert ending.value.code == 2
    assert capsys.readouterr().err.startswith("match: match quantize needs the Python package onnxruntime")


@pytest.mark.usefixtures("place")
def test_images_without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("images").mkdir()
    Path("images/one.png").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MatchError, match="needs the Python package pillow"):
        match.quantize("float.onnx", "images")


@pytest.mark.parametrize(
    ("option", "wrong"),
    [
        ("model", (3, None, b"x", object())),
        ("target", (3, None, "no such")),
        ("output", (3, b"x", "")),
        ("calibration", (0, 1.5, True, "3")),
        ("samples", (0, 1.5, True, "3")),
        ("mean", ("x", [], None, [np.nan])),
        ("std", ("x", [], 0, [1, 0, 1])),
        ("leave_one_out", (1, None, "yes")),
        ("weight_bits", (1, 9, 4.5, True, None, "most")),
        ("loss", (0.1,)),
        ("progress", (3, None)),
    ],
)
def test_from_python(option: str, wrong: tuple[Any, ...]) -> None:
    for value in wrong:
        given: dict[str, Any] = {"model": tiny(), "data": noise(2, 3, 8, 8), option: value}
        with pytest.raises((OptionError, ModelError, MatchError)) as raised:
            match.quantize(**given)
        assert "\n" not in str(raised.value)
