"""Every line of the tutorials works as it is written there.

`digits_float.onnx` is what train.py of the first tutorial wrote with PyTorch 2.13, without what the exporter notes of
the source. `digits.tflite` is what train_keras.py wrote with TensorFlow 2.21. With PyTorch, and with TensorFlow, the
slow tier trains them again.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import match
from tests.package.test_architecture import PROJECT
from tests.tutorials.pages import Reader, write

pytestmark = pytest.mark.cc

INSTALLATION = ("python3 -m venv", ". .venv", "pip install")
"""Lines that make an environment, which tests have."""

FLOAT = Path(__file__).with_name("digits_float.onnx")
TFLITE = Path(__file__).with_name("digits.tflite")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def quantized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model that a reader of the first tutorial has at the end of step 2."""
    pytest.importorskip("onnxruntime")
    folder = tmp_path_factory.mktemp("quantized")
    shutil.copy(FLOAT, folder)
    write(folder, "float-model.md", "data.py")
    subprocess.run([sys.executable, "data.py"], cwd=folder, check=True)
    match.quantize(folder / "digits_float.onnx", folder / "training.npz", output=folder / "digits.onnx")
    return folder / "digits.onnx"


@pytest.mark.usefixtures("qemu")
def test_from_a_float_model_to_c(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime")
    shutil.copy(FLOAT, place)
    shutil.copy(TFLITE, place)
    reader = Reader(place, (*INSTALLATION, "python train.py", "python train_keras.py"), capsys)
    reader.follow("float-model.md")
    assert "generated C on host and TFLite Micro, 497 samples (given)" in reader.printed
    assert (place / "build" / "digits" / "report.html").exists()
    assert "Top-1 accuracy on 497 labelled samples, with 95 % confidence: generated C 92." in reader.printed
    for computed in ("float model", "quantized model", "C, hardware numerics", "C, exact numerics"):
        (line,) = (line for line in reader.printed.splitlines() if line.startswith(computed) and "%" in line)
        assert 91 < float(line.removeprefix(computed).split()[1].rstrip("%")) < 94


@pytest.mark.sweep
@pytest.mark.usefixtures("qemu")
def test_the_same_with_training(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    shutil.copy(TFLITE, place)
    Reader(place, (*INSTALLATION, "python train_keras.py"), capsys).follow("float-model.md")


@pytest.mark.sweep
def test_training_in_keras(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both of its files take the tutorial's data."""
    pytest.importorskip("tensorflow")
    pytest.importorskip("tf2onnx")
    write(place, "float-model.md", "data.py")
    write(place, "float-model.md", "train_keras.py")
    for program in ("data.py", "train_keras.py"):
        subprocess.run([sys.executable, program], check=True)
    reader = Reader(place, (), capsys)
    reader.run("match quantize digits_float.onnx --data training.npz --test test.npz --target gap9 -o digits.onnx")
    for model in ("digits.onnx", "digits.tflite"):
        reader.run(f"match compile {model} --target gap9 --input-type float32 -o build")
        reader.run("match validate build --input test.npz")
    assert reader.printed.count("Top-1 accuracy on 497 labelled samples") == 2


@pytest.mark.usefixtures("qemu")
def test_two_networks_in_firmware(
    quantized: Path, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("cmake") is None:
        pytest.skip("cmake is not installed")
    shutil.copy(PROJECT / "examples" / "cmake" / "riscv.cmake", place)
    if shutil.which("ccache"):
        monkeypatch.setenv("CMAKE_C_COMPILER_LAUNCHER", "ccache")
    shutil.copy(quantized, place)
    reader = Reader(place, (), capsys)
    reader.follow("two-networks.md")
    assert reader.printed.count("keyword 4, all operators\ndone\n") == 2


def chip(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `pip install -e duo` does."""
    information = place / "duo" / "duo-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: duo\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[match.targets]\nduo = duo.target:Duo\n")
    monkeypatch.syspath_prepend(place / "duo")


@pytest.mark.parametrize("checked", [False, pytest.param(True, marks=pytest.mark.sweep)])
def test_a_new_chip(
    checked: bool, quantized: Path, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(quantized, place)
    Reader(place, (), capsys).run("match new-target duo")
    chip(place, monkeypatch)
    leaves_out = ("pip install", "match new-target", *(() if checked else ("match check-target",)))
    reader = Reader(place, leaves_out, capsys)
    reader.follow("new-chip.md")
    assert "(array" in reader.printed
    assert "% in 3 layers" in reader.printed


def test_exploration(quantized: Path, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    shutil.copy(quantized, place)
    Reader(place, (), capsys).follow("exploration.md")
    assert len((place / "points.csv").read_text().splitlines()) == 9
    assert (place / "points" / "index.html").exists()
