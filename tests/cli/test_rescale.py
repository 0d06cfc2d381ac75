"""`match compile --rescale`: what it prints, and what it says where it cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import DIGITS, Command

pytestmark = pytest.mark.cc


def test_prints_what_moves(command: Command, tmp_path: Path) -> None:
    printed = command("compile", DIGITS, "--target", "diana", "--rescale", "-o", tmp_path / "project").out
    assert "Rescaled: 11 layers with other numbers than the model's" in printed
    assert "moved 0." in printed


def test_other_targets_are_a_sentence(command: Command, tmp_path: Path) -> None:
    error = command("compile", DIGITS, "--target", "pulp_open", "--rescale", "-o", tmp_path / "project").error
    assert "rescale is for modules that requantize by shifts alone" in error
    assert not (tmp_path / "project").exists()
