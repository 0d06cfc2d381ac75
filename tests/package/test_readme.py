"""The commands and programs of README.md work as they are written there."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.command import read
from benchmarks.energy import __main__ as energy
from benchmarks.energy.results import Results
from match.cli import main
from match.run import platform_on, random_inputs, read_manifest

pytestmark = pytest.mark.cc

DIGITS = Path(__file__).resolve().parents[1] / "tutorials" / "digits_float.onnx"
README = Path(__file__).resolve().parents[2] / "README.md"
CANNOT_RUN = ("make ", "match check-target mychip", "python examples/plain_tvm.py")
"""What makes environments of its own, needs a package that the line above it only writes, or has a test of its own."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


@pytest.fixture
def place(models_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, a float one, and data for it, where the README's reader is."""
    shutil.copy(models_dir / "kws_ref_model.tflite", tmp_path / "model.tflite")
    shutil.copy(DIGITS, tmp_path / "float.onnx")
    np.savez(tmp_path / "training.npz", image=np.random.default_rng(0).random((20, 1, 8, 8), np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("place", "qemu")
def test_commands() -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert len([line for line in lines if line.startswith("match ")]) > 8
    for line in lines:
        if line.startswith(CANNOT_RUN):
            continue
        program, *arguments = shlex.split(line, comments=True)
        assert program == "match"
        if arguments[0] == "run":
            manifest = read_manifest(Path(arguments[1]))
            np.savez("inputs.npz", **random_inputs(manifest, 0))  # pyright: ignore[reportArgumentType]
            if "rtl" in arguments:
                # Building the core takes half a minute, and has a test of its own.
                assert platform_on(manifest, "rtl").missing == ()
                continue
        if arguments[0] == "measure":
            calls = range(len(read_manifest(Path(arguments[1])).calls))
            counts = "".join(f'{{"event":"count","call":{number},"count":1000}}\n' for number in calls)
            Path(arguments[2]).write_text(counts)
        with pytest.raises(SystemExit) as ending:
            main(arguments)
        assert not ending.value.code, line
    for written in (
        "outputs.npz",
        "timeline.json",
        "memory.svg",
        "layers.csv",
        "model.onnx",
        "float_int8.onnx",
        "mychip",
        "build/model/report.json",
    ):
        assert Path(written).exists(), written


@pytest.mark.usefixtures("place", "qemu")
def test_programs() -> None:
    programs = blocks("python")
    assert len(programs) == 3
    results: list[dict[str, Any]] = [{}, {}, {}]
    for program, names in zip(programs, results, strict=True):
        exec(program, names)
    assert Path("build/model/Makefile").exists()
    assert results[0]["outputs"]
    sources = results[2]["sources"]
    assert results[1]["library"].lib.get_source() == sources[0], "match.build does these steps"
    assert sum(re.search(r"\bmodel_\d\d_", str(source)) is not None for source in sources) > 1, "layers on modules"
    assert "match" in sys.modules


def test_the_first_number_is_the_predicted_one() -> None:
    """Layer by layer it stands beside what was measured in the table of all predictions; with chains in theirs."""
    row = r"\| ResNet8 \| {} \| ([\d.]+ ms) \| ([\d.]+ ms) \|"
    table = (README.parent / "docs" / "cost-models.md").read_text(encoding="utf-8")
    text = " ".join(README.read_text(encoding="utf-8").split())
    on_chip, predicted = re.findall(row.format(r"cluster \+ ne16"), table)[0]
    alone, alone_predicted = re.findall(row.format(r"control core \(TVM\)"), table)[0]
    chains = next(
        one.cycles
        for one in read(energy.FILE, Results).objectives
        if (one.target, one.network, one.objective) == ("gap9", "pretrainedResnet_quant.tflite", "latency")
    )
    assert f"The prediction is **{chains / 260e3:.2f} ms at 260 MHz**, and {predicted} layer by layer." in text
    assert f"measured {on_chip} on the chip" in text
    assert f"{alone} for TVM's C alone; the prediction here for TVM's C is {alone_predicted}" in text
