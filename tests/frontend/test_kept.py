"""Networks of files are read from the folder only if everything that they depend on is the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import onnx
import pytest
from onnx import external_data_helper

import match
import match.frontend
from match.errors import ModelError
from match.frontend import kept
from match.frontend.kept import kept_model
from match.frontend.model import Model
from match.relay import tvm
from tests.frontend.imported_network import save_imported_network

pytestmark = pytest.mark.tvm

DIGITS = Path(match.frontend.__file__).parents[1] / "devtools" / "demo" / "digits.onnx"
RESNET = Path(__file__).resolve().parents[1] / "tflite" / "networks" / "resnet.tflite"


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were read, not found in the folder."""
    asked: list[Path] = []
    whole = kept.from_bytes

    def counted(data: bytes, path: Path) -> Model:
        asked.append(path)
        return whole(data, path)

    monkeypatch.setattr(kept, "from_bytes", counted)
    return asked


def test_what_is_found_is_what_was_read(read: list[Path], tmp_path: Path) -> None:
    path = save_imported_network(tmp_path / "sums.onnx")
    first = kept_model(path, tmp_path / "kept")
    second = kept_model(path, tmp_path / "kept")
    assert read == [path]
    assert replace(first, network=None).__dict__ == replace(second, network=None).__dict__  # pyright: ignore[reportArgumentType]
    assert tvm.ir.save_json(first.module) == tvm.ir.save_json(second.module)
    assert second.module["main"].body.checked_type == first.module["main"].body.checked_type


def test_what_another_tvm_read_is_read_anew(read: list[Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = save_imported_network(tmp_path / "sums.onnx")
    kept_model(path, tmp_path / "kept")
    monkeypatch.setattr(tvm, "__version__", "another")
    kept_model(path, tmp_path / "kept")
    kept_model(path, tmp_path / "kept")
    assert read == [path, path]


def test_what_is_read_as_the_graph_is_not_kept(read: list[Path], tmp_path: Path) -> None:
    kept_model(DIGITS, tmp_path / "kept")
    kept_model(DIGITS, tmp_path / "kept")
    assert read == [DIGITS, DIGITS]
    assert not list(tmp_path.iterdir())


def test_a_file_is_found_under_another_name(read: list[Path], tmp_path: Path) -> None:
    path = save_imported_network(tmp_path / "sums.onnx")
    copy = tmp_path / "numbers.onnx"
    copy.write_bytes(path.read_bytes())
    kept_model(path, tmp_path / "kept")
    assert kept_model(copy, tmp_path / "kept").name == "numbers"
    assert read == [path]


def test_a_file_called_as_another_format_is_refused_all_the_same(tmp_path: Path) -> None:
    kept_model(DIGITS, tmp_path / "kept")
    wrong = tmp_path / "digits.tflite"
    wrong.write_bytes(DIGITS.read_bytes())
    with pytest.raises(ModelError, match=r"is an ONNX file that is called \.tflite"):
        kept_model(wrong, tmp_path / "kept")


def test_weights_in_another_file_are_read_each_time(read: list[Path], tmp_path: Path) -> None:
    model = onnx.load(DIGITS)
    external_data_helper.convert_model_to_external_data(model, location="weights", size_threshold=16)
    file = tmp_path / "apart.onnx"
    onnx.save(model, file)
    kept_model(file, tmp_path / "kept")
    kept_model(file, tmp_path / "kept")
    assert read == [file, file]


def test_without_a_folder_nothing_is_kept(read: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("nothing is to be written")

    monkeypatch.setattr(kept, "Kept", refused)
    assert kept_model(DIGITS, None).name == "digits"
    assert read == [DIGITS]


def test_a_second_compilation_reads_no_file(read: list[Path], tmp_path: Path) -> None:
    path = save_imported_network(tmp_path / "sums.onnx")
    first = match.compile(path, cache=tmp_path / "kept")
    second = match.compile(path, cache=tmp_path / "kept")
    assert read == [path]
    assert [layer.cycles for layer in first.layers] == [layer.cycles for layer in second.layers]
