"""Compiling into the folder of a project: what the user put or changed there stays."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import match
from match.errors import OptionError, OutputError
from match.report.file import read_report
from match.report.measured import add_to_report
from match.run import read_manifest
from match.run.counts import CallCount, Counts
from tests.cli.conftest import DIGITS, Command

pytestmark = pytest.mark.cc


@pytest.fixture
def copy(project: Path, tmp_path: Path) -> Path:
    """The project with a file of the user, and counts of its calls."""
    folder = shutil.copytree(project, tmp_path / "copy", ignore=shutil.ignore_patterns("build"))
    (folder / "notes.txt").write_text("mine")
    calls = read_manifest(folder).calls
    add_to_report(folder / "report.json", Counts("board", "cycles", "a log", 1, tuple(CallCount(c, 7) for c in calls)))
    return folder


def test_notes_and_measurements_stay(command: Command, copy: Path) -> None:
    before = read_report(copy / "report.json").measured
    assert command("compile", DIGITS, "-o", copy, "-q").status == 0
    assert (copy / "notes.txt").read_text() == "mine"
    assert read_report(copy / "report.json").measured == before
    match.compile(DIGITS, "gap9", output=copy)
    assert read_report(copy / "report.json").measured == before


def test_measurements_of_other_c_do_not_stay(command: Command, copy: Path) -> None:
    assert command("compile", DIGITS, "-o", copy, "--modules", "cluster", "-q").status == 0
    assert (copy / "notes.txt").read_text() == "mine"
    assert not read_report(copy / "report.json").measured


@pytest.mark.parametrize("damage", ["fingerprint", "shared"])
def test_measurements_are_of_the_network_and_of_what_networks_share(copy: Path, damage: str) -> None:
    manifest = copy / "project.json"
    own = getattr(read_manifest(copy), damage)
    manifest.write_text(manifest.read_text().replace(own, "another"))
    match.compile(DIGITS, "gap9").save(copy)
    assert not read_report(copy / "report.json").measured


def test_what_the_user_changed_stops_a_compilation(
    command: Command, copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main = copy / "program" / "main.c"
    main.write_text("int main(void) { return 7; }\n")
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    with monkeypatch.context() as patch:
        patch.setattr("match.compile", None)
        sentence = command("compile", DIGITS, "-o", copy).error
    assert sentence == (
        f"{copy} holds changes of yours that would be lost, in program/main.c; choose another folder, or replace them "
        "with --overwrite (overwrite=True)."
    )
    compiled = match.compile(DIGITS, "gap9")
    with pytest.raises(OutputError, match="changes of yours"):
        compiled.save(copy)
    with pytest.raises(OutputError, match="changes of yours"):
        match.compile(DIGITS, "gap9", output=copy)
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before
    assert command("compile", DIGITS, "-o", copy, "--overwrite", "-q").status == 0
    assert "return 7" not in main.read_text()
    assert (copy / "notes.txt").read_text() == "mine"


def test_overwrite_is_for_projects(command: Command, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert "no project of this compiler" in command("compile", DIGITS, "-o", tmp_path, "--overwrite").error
    assert (tmp_path / "thesis.txt").read_text() == "mine"


@pytest.mark.parametrize("given", ["yes", 1, None])
def test_overwrite_is_true_or_false(given: Any, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="overwrite is whether files that were changed"):
        match.compile(DIGITS, "gap9", output=tmp_path / "p", overwrite=given)


def test_a_selftest_replaces_its_own_files(command: Command, copy: Path) -> None:
    assert command("selftest", copy, "-q").status == 0
    (copy / "selftest" / "board.c").write_text("mine")
    assert command("selftest", copy, "-q", "--seed", "1").status == 0
    sample = (copy / "selftest" / "digits_selftest.c").read_text()
    (copy / "selftest" / "match_selftest.c").write_text("changed")
    assert "in selftest/match_selftest.c;" in command("selftest", copy, "--seed", "2").error
    assert (copy / "selftest" / "digits_selftest.c").read_text() == sample
    assert command("compile", DIGITS, "-o", copy, "-q").status == 0
    assert (copy / "selftest" / "match_selftest.c").read_text() == "changed", "a compilation does not write these files"
    assert command("selftest", copy, "-q", "--overwrite").status == 0
    assert (copy / "selftest" / "match_selftest.c").read_text() != "changed"
    assert (copy / "selftest" / "board.c").read_text() == "mine"
