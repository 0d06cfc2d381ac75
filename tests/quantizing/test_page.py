"""The commands and the program of docs/quantize.md work as they are written there."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from match.cli import main
from match.quantizing.schema import Quantization
from tests.package.test_docs import DOCS, blocks
from tests.quantizing.conftest import model_of

pytestmark = pytest.mark.cc

PAGE = "quantize.md"


@pytest.fixture
def place(data: Callable[[str], tuple[Path, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the page speaks of."""
    image = pytest.importorskip("PIL.Image")
    monkeypatch.chdir(tmp_path)
    calibration, test = data("digits_float")
    shutil.copy(model_of("digits_float"), "float.onnx")
    shutil.copy(calibration, "training.npz")
    few = {name: values[:40] for name, values in np.load(test).items()}
    np.savez("test.npz", **few)
    Path("images").mkdir()
    for index, pixels in enumerate(np.load("training.npz")["image"][:20, 0]):
        image.fromarray((pixels * 255).astype(np.uint8)).save(f"images/{index}.png")
    return tmp_path


@pytest.mark.usefixtures("place")
def test_commands() -> None:
    (block,) = blocks(PAGE, "sh")
    for line in block.splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == "match"
        with pytest.raises(SystemExit) as ending:
            main(arguments)
        assert not ending.value.code, line
    for written in ("model.onnx", "float_int8.onnx", "samples.npz"):
        assert Path(written).exists(), written


@pytest.mark.usefixtures("place")
def test_the_program() -> None:
    (program,) = blocks(PAGE, "python")
    exec(program, {})


def test_every_field_is_explained() -> None:
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    told = set(Quantization.__struct_fields__) - {"generator", "network", "schema_version"}
    assert not [name for name in told if f"`{name}`" not in text]
