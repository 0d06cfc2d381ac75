"""The runner for GVSoC, with a program in its place that keeps to the simulator's command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from match.errors import ToolchainError
from match.run import RUNNERS
from match.run.runner import Finished, Job

pytestmark = pytest.mark.cc

SIMULATOR = """#!/bin/sh
[ "$1" = --target=pulp-open ] && [ "$2" = "--work-dir=$(pwd)" ] && [ "$3" = "--binary={binary}" ] || exit 9
[ "$4 $5 $6" = "image flash run" ] || exit 8
echo "0: a line of the simulator"
echo '{{"event":"count","call":0,"count":7}}'
{action}
"""


def finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str) -> Finished:
    folder = tmp_path / "bin"
    folder.mkdir()
    simulator = folder / "gvsoc"
    simulator.write_text(SIMULATOR.format(binary=tmp_path / "network", action=action))
    simulator.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return RUNNERS["gvsoc"].run(Job(tmp_path / "network", b"\x01\x02", ("gvsoc", "--target=pulp-open"), "the program"))


def test_samples_pass_through_files_and_lines_of_json_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = finish(tmp_path, monkeypatch, "cat inputs.bin inputs.bin > outputs.bin")
    assert done.outputs == b"\x01\x02\x01\x02"
    assert done.printed == '{"event":"count","call":0,"count":7}'
    assert done.command == "gvsoc --target=pulp-open --binary=network image flash run"


def test_a_program_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolchainError, match="the program failed: net: status -2"):
        finish(tmp_path, monkeypatch, "echo 'net: status -2, see match_status.h'; exit 1")


def test_a_program_without_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolchainError, match="the program wrote no outputs"):
        finish(tmp_path, monkeypatch, "true")


def test_without_the_simulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="running the program needs 'gvsoc', which is not on the PATH; install it"):
        RUNNERS["gvsoc"].check(("gvsoc",), "the program")
