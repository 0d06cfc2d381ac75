"""Files of one writer in a folder that others use, too."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from match.errors import OutputError
from match.files.own import check_list, check_unchanged, listed, replace_own
from match.interrupt.unfinished import discard

pytestmark = pytest.mark.unit

BEFORE: dict[str, str | bytes] = {"a.c": "first a", "src/b.c": "first b", "old/c.c": "c", "same.h": b"\0same"}
AFTER: dict[str, str | bytes] = {"a.c": "second a", "src/b.c": "second b", "new/deep/d.c": "d", "same.h": b"\0same"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files that were written, and those of somebody else beside them."""
    folder = tmp_path / "folder"
    replace_own(folder, BEFORE, {}, {"record": "1"}, overwrite=False)
    (folder / "src" / "mine.c").write_text("mine")
    (folder / "notes").mkdir()
    (folder / "notes" / "todo.txt").write_text("also mine")
    return folder


def contents(folder: Path) -> dict[str, str | None]:
    """Every file below, and every folder (None)."""
    inside = {str(path.relative_to(folder)): path for path in folder.rglob("*")}
    return {name: None if path.is_dir() else path.read_text() for name, path in inside.items()}


def replace(folder: Path, *, overwrite: bool = False) -> None:
    replace_own(folder, AFTER, listed(BEFORE), {"record": "2"}, overwrite=overwrite)


def test_what_was_written_is_replaced_and_nothing_else(folder: Path) -> None:
    replace(folder)
    assert contents(folder) == {
        "a.c": "second a",
        "src": None,
        "src/b.c": "second b",
        "src/mine.c": "mine",
        "new": None,
        "new/deep": None,
        "new/deep/d.c": "d",
        "same.h": "\0same",
        "record": "2",
        "notes": None,
        "notes/todo.txt": "also mine",
    }
    assert [path.name for path in folder.parent.iterdir()] == ["folder"]


def test_what_stays_as_it_is_is_not_written_again(folder: Path) -> None:
    """So that make builds what has changed."""
    for name in ("same.h", "a.c"):
        os.utime(folder / name, ns=(1, 1))
    replace(folder)
    assert (folder / "same.h").stat().st_mtime_ns == 1
    assert (folder / "a.c").stat().st_mtime_ns > 1


@pytest.mark.parametrize("name", ["a.c", "old/c.c", "new/deep/d.c"])
def test_what_was_changed_is_named_and_stays(folder: Path, name: str) -> None:
    """Also what is not written again, and what lies where a file is to be."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("changed")
    before = contents(folder)
    with pytest.raises(OutputError, match=f"{folder} holds changes of yours that would be lost, in {name}; choose"):
        replace(folder)
    assert contents(folder) == before
    replace(folder, overwrite=True)
    assert contents(folder).get(name) == AFTER.get(name)


def test_a_few_of_many_changes_are_named(folder: Path) -> None:
    many: dict[str, str | bytes] = {f"{n}": "" for n in range(9)}
    for name in many:
        (folder / name).write_text("changed")
    with pytest.raises(OutputError, match="in 0, 1, 2, 3, 4 and 4 more files; choose"):
        check_unchanged(folder, listed(many))


def test_removed_files_are_no_changes(folder: Path) -> None:
    (folder / "a.c").unlink()
    (folder / "old" / "c.c").unlink()
    check_unchanged(folder, listed(BEFORE))
    replace(folder)
    assert (folder / "a.c").read_text() == "second a"


def test_a_change_to_what_is_written_next_is_none(folder: Path) -> None:
    (folder / "a.c").write_text("second a")
    replace(folder)
    assert (folder / "a.c").read_text() == "second a"


def test_folders_are_not_replaced(folder: Path) -> None:
    (folder / "a.c").unlink()
    (folder / "a.c").mkdir()
    (folder / "a.c" / "thesis.tex").write_text("precious")
    before = contents(folder)
    with pytest.raises(OutputError, match=r"a\.c is a folder"):
        replace(folder, overwrite=True)
    assert contents(folder) == before


def test_a_file_where_a_folder_is_to_be(folder: Path) -> None:
    (folder / "new").write_text("mine")
    before = contents(folder)
    for overwrite in (False, True):
        with pytest.raises(OutputError, match=rf"{folder}/new/deep cannot be written: Not a directory"):
            replace(folder, overwrite=overwrite)
        assert contents(folder) == before


def test_links_are_replaced_and_not_followed(folder: Path) -> None:
    (folder / "a.c").unlink()
    (folder / "a.c").symlink_to(folder / "notes" / "todo.txt")
    with pytest.raises(OutputError, match=r"in a\.c;"):
        replace(folder)
    replace(folder, overwrite=True)
    assert contents(folder)["notes/todo.txt"] == "also mine"
    assert not (folder / "a.c").is_symlink()


def raised() -> None:
    raise KeyboardInterrupt


def interrupted() -> None:
    """As the thread that waits for Ctrl-C does, while the main thread has stopped."""
    discard()
    raise KeyboardInterrupt


@pytest.mark.parametrize("ends", [raised, interrupted])
@pytest.mark.parametrize("step", range(8))
def test_all_or_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch, step: int, ends: Callable[[], None]) -> None:
    before, rename, steps = contents(folder), Path.rename, iter(range(100))

    def stops(self: Path, target: Path) -> Path:
        if next(steps) == step:
            ends()
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", stops)
    with pytest.raises(KeyboardInterrupt):
        replace(folder)
    assert contents(folder) == before


def test_the_steps_are_all_of_them(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three files and a record in the place of others, one new, one gone: those that `test_all_or_nothing` tries."""
    steps: list[Path] = []
    rename = Path.rename
    monkeypatch.setattr(Path, "rename", lambda self, target: (steps.append(self), rename(self, target))[1])
    replace(folder)
    assert len(steps) == 8


@pytest.mark.parametrize("name", ["../a", "/etc/passwd", "a/../../b", ""])
def test_a_list_stays_in_its_folder(name: str) -> None:
    with pytest.raises(ValueError, match="is no file in the folder"):
        check_list([name])
