"""Networks in integer form are read from the folder only if everything that they depend on is the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import match.frontend
from match.frontend.model import Model, Rounding
from match.graph.text import text
from match.graph.value import Graph
from match.passes import kept
from match.passes.kept import kept_integer_network
from tests.frontend.imported_network import save_imported_network

pytestmark = pytest.mark.tvm


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return match.frontend.load(save_imported_network(tmp_path_factory.mktemp("models") / "sums.onnx"))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Model]:
    """The models that were brought to integer form, not read."""
    asked: list[Model] = []
    whole = kept.integer_network

    def counted(model: Model, activations: str | None, **options: bool) -> Graph:
        asked.append(model)
        return whole(model, activations, **options)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(kept, "integer_network", counted)
    return asked


def test_what_is_read_is_what_was_made(model: Model, made: list[Model], tmp_path: Path) -> None:
    first = kept_integer_network(model, None, tmp_path)
    second = kept_integer_network(model, None, tmp_path)
    assert len(made) == 1
    assert text(first) == text(second)


def test_another_network_type_or_reference_is_another_entry(model: Model, made: list[Model], tmp_path: Path) -> None:
    kept_integer_network(model, None, tmp_path)
    kept_integer_network(model, "uint8", tmp_path)
    kept_integer_network(model, None, tmp_path, exact=False)
    kept_integer_network(replace(model, rounding=Rounding.TFLITE), None, tmp_path)
    assert len(made) == 4
    assert len(list(tmp_path.iterdir())) == 4


def test_what_is_damaged_is_made_anew(model: Model, made: list[Model], tmp_path: Path) -> None:
    kept_integer_network(model, None, tmp_path)
    (entry,) = tmp_path.iterdir()
    whole = entry.read_bytes()
    entry.write_bytes(whole[: len(whole) // 2])
    kept_integer_network(model, None, tmp_path)
    assert len(made) == 2
    assert entry.read_bytes() == whole


def test_the_oldest_go(model: Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kept, "MOST_NETWORKS", 1)
    kept_integer_network(model, None, tmp_path)
    kept_integer_network(model, "uint8", tmp_path)
    assert len(list(tmp_path.iterdir())) < 2


def test_without_a_folder_nothing_is_kept(model: Model, made: list[Model], monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("nothing is to be written")

    monkeypatch.setattr(kept, "Kept", refused)
    assert kept_integer_network(model, None, None).outputs
    assert len(made) == 1
