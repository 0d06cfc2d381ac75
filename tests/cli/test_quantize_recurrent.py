"""`match compile --quantize-recurrent`: what it prints, and what it says where it cannot be."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

from match import zoo
from tests.cli.conftest import DIGITS, Command

pytestmark = pytest.mark.cc


def test_prints_what_moves(command: Command, tmp_path: Path) -> None:
    model = tmp_path / "keywords.onnx"
    onnx.save(zoo.build("gru_keywords-0.25-12"), model)
    printed = command("compile", model, "--target", "gap9", "--quantize-recurrent", "-o", tmp_path / "project").out
    assert "recurrent layer with weights and states of 8 bits" in " ".join(printed.split())
    assert "moved 0." in printed


def test_other_networks_are_a_sentence(command: Command, tmp_path: Path) -> None:
    error = command("compile", DIGITS, "--target", "gap9", "--quantize-recurrent", "-o", tmp_path / "project").error
    assert "this network has no plain LSTM or GRU in floating point; leave it out" in error
    assert not (tmp_path / "project").exists()
