"""What cannot be written is told before the work that it would hold."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import benchmarks.fusion.cli
import match
from benchmarks import command as benchmark
from match import run
from match.errors import OutputError
from match.files import npz
from match.files.output import check_file, check_folder
from tests.cli.conftest import DIGITS, Command

pytestmark = pytest.mark.cc


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """Folders with the endings of files, and a file."""
    for ending in ("csv", "svg", "npz", "json"):
        (tmp_path / f"folder.{ending}").mkdir()
    (tmp_path / "file").touch()
    return tmp_path


def unwanted(*_: Any, **__: Any) -> Any:
    raise AssertionError("the work began")


@pytest.mark.parametrize("option", ["--timeline", "--csv", "--memory-map"])
@pytest.mark.parametrize("place", ["folder{}", "file/x{}", "missing/x{}"])
def test_compile(command: Command, places: Path, monkeypatch: pytest.MonkeyPatch, option: str, place: str) -> None:
    monkeypatch.setattr(match, "compile", unwanted)
    path = places / place.format(".csv" if option == "--csv" else ".svg")
    assert command("compile", DIGITS, "-o", places / "out", option, path).error.startswith(f"cannot write {path}: ")


@pytest.mark.parametrize("place", ["file", "file/x"])
def test_folder_of_a_project(command: Command, places: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setattr(match, "compile", unwanted)
    path = places / place
    assert command("compile", DIGITS, "-o", path).error.startswith(f"{path} cannot be written: ")


@pytest.mark.parametrize(("option", "name"), [("--output", "folder.npz"), ("--trace", "missing/x.json")])
def test_run(
    command: Command, project: Path, places: Path, monkeypatch: pytest.MonkeyPatch, option: str, name: str
) -> None:
    for work in ("run", "trace", "measure"):
        monkeypatch.setattr(run, work, unwanted)
    assert command("run", project, option, places / name).error.startswith(f"cannot write {places / name}: ")


@pytest.mark.parametrize("arguments", ["run", "run --on qemu", "build", "size --platform host", "selftest"])
def test_a_project_that_cannot_be_written(command: Command, project: Path, tmp_path: Path, arguments: str) -> None:
    """Not even root may make a folder where there is a file."""
    copy = shutil.copytree(project, tmp_path / "copy", ignore=shutil.ignore_patterns("build"))
    (copy / "build").touch()
    name, *options = arguments.split()
    sentence = command(name, copy, *options).error
    assert sentence.startswith(f"{copy}/build/")
    assert sentence.endswith(" cannot be written: Not a directory; choose another folder.")


def test_a_report_that_cannot_be_written(command: Command, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path) -> None:
        raise OutputError("the report cannot be written.")

    monkeypatch.setattr("match.files.output.check_file", full)
    monkeypatch.setattr(run, "measure", unwanted)
    monkeypatch.setattr("match.run.size.size", unwanted)
    assert command("size", project).error == "the report cannot be written."
    monkeypatch.setattr("match.files.output.check_file", lambda path: path and full(path))
    assert command("run", project, "--on", "qemu").error == "the report cannot be written."


@pytest.mark.parametrize(("option", "name"), [("-o", "missing/x"), ("--pictures", "file/x")])
def test_benchmark(
    places: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str, name: str
) -> None:
    monkeypatch.setattr(benchmarks.fusion.cli, "measure", unwanted)
    with pytest.raises(SystemExit) as ending:
        benchmark.run(benchmarks.fusion.cli.table, "fusion", [option, str(places / name)])
    assert ending.value.code == 2
    assert str(places / name) in capsys.readouterr().err


@pytest.mark.parametrize(("check", "name"), [(check_file, "new"), (check_folder, "new"), (check_folder, "new/er")])
def test_a_check_leaves_nothing(check: Callable[[Path], None], name: str, tmp_path: Path) -> None:
    check(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_where_nothing_is_asked_for() -> None:
    check_file(None)
    check_folder(None)


def test_relative_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_folder(Path())
    check_folder(Path("new"))
    check_file(Path("new"))
    with pytest.raises(OutputError, match="No such file"):
        check_file(Path("new/file"))


def test_a_pipe_stays_one(command: Command, project: Path, places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "run", unwanted)
    pipe = places / "pipe"
    os.mkfifo(pipe)
    (places / "link").symlink_to(pipe)
    for path in (pipe, places / "link"):
        sentence = command("run", project, "--output", path).error
        assert sentence == f"cannot write {path}: It is a device or a pipe; choose another file."
    assert pipe.is_fifo()


def test_a_link_leads_to_what_is_written(command: Command, project: Path, places: Path) -> None:
    link, file = places / "link.npz", places / "results" / "y.npz"
    file.parent.mkdir()
    link.symlink_to(file)
    assert command("run", project, "--output", link).status == 0
    assert link.is_symlink()
    assert set(npz.read(file)) == {"scores"}
