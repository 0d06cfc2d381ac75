"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from errno import EEXIST, EISDIR, ENOTDIR
from os import strerror
from pathlib import Path

from match.errors import OptionError, OutputError
from match.interrupt.unfinished import unfinished

TIMELINE_ENDINGS = (".json", ".svg")
MEMORY_MAP_ENDINGS = (".svg",)


def check_ending(path: Path, endings: Sequence[str], what: str) -> None:
    """Raise OptionError if the name of a file for `what` has none of the endings, which say how it is written."""
    if path.suffix.lower() not in endings:
        raise OptionError(f"{what} is written as {' or '.join(endings)}, not into {path}; choose such a name.")


def check_file(path: Path | None) -> None:
    """Find out if a file that is asked for can be written, before the work that it is to hold.

    Raises:
        OutputError: it cannot.
    """
    if path is None:
        return
    try:
        with unfinished(_beside(_place(path))) as new:
            new.touch()
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}; choose another file.") from error


def check_folder(directory: Path | None) -> None:
    """Find out if files can be written into a folder that is asked for, which is made where it is not there yet.

    Raises:
        OutputError: they cannot.
    """
    if directory is None:
        return
    try:
        there = next(folder for folder in (directory, *directory.resolve().parents) if folder.exists())
        if not there.is_dir():
            raise NotADirectoryError(ENOTDIR, strerror(ENOTDIR))
        with unfinished(_beside(there / "new")) as new:
            new.touch()
    except OSError as error:
        raise OutputError(
            f"{directory} cannot be written: {error.strerror or error}; choose another folder."
        ) from error


@contextmanager
def whole_file(path: Path) -> Generator[Path]:
    """A place to write to, which becomes `path` if nothing goes wrong; each call has its own.

    Raises:
        OutputError: the file cannot be written.
    """
    try:
        place = _place(path)
        with unfinished(_beside(place)) as new:
            yield new
            new.replace(place)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}; choose another file.") from error


def write_folder(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files of text or bytes, by their paths inside it, into a `directory` that is not there yet, or is empty.

    Raises:
        OutputError: if it cannot be written; there is nothing then.
    """
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with unfinished(_beside(directory)) as new:
            write_files(new, files)
            new.rename(directory)
    except OSError as error:
        raise OutputError(
            f"{directory} cannot be written: {error.strerror or error}; choose another folder."
        ) from error


def write_files(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files of text or bytes one after the other, with the folders that they are in.

    Raises:
        OSError: one cannot be written.
    """
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content, encoding="utf-8")
        else:
            path.write_bytes(content)


def _place(path: Path) -> Path:
    """The file that is written: the path with its links followed. Raises OSError if it is a folder, device or pipe."""
    place = Path(os.path.realpath(path))
    if place.is_dir():
        raise IsADirectoryError(EISDIR, strerror(EISDIR))
    if place.exists() and not place.is_file():
        raise FileExistsError(EEXIST, "It is a device or a pipe")
    return place


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}")
