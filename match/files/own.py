"""A folder in which one writer's files are replaced, and what others put or changed there stays.

The writer keeps a list of what it wrote: the SHA-256 of each file by its path in the folder. A file that has another
content than the list says was changed by somebody else.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from match.errors import OutputError
from match.files.output import write_files, write_folder
from match.interrupt.unfinished import all_or_nothing, unfinished

_NAMED = 5
"""Files that a sentence names; of more it tells the number."""


def listed(files: Mapping[str, str | bytes]) -> dict[str, str]:
    """The list of files of text or bytes, in the order of their paths."""
    return {name: _digest(files[name]) for name in sorted(files)}


def check_list(entries: Collection[str]) -> None:
    """Raise ValueError if a list names something outside of its folder."""
    for name in entries:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            raise ValueError(f"{name!r} is no file in the folder")


def check_unchanged(directory: Path, own: Mapping[str, str]) -> None:
    """Find out if files of the list are as they were written; those that were removed are.

    Raises:
        OutputError: if one was changed, or cannot be read.
    """
    _refuse(directory, [name for name, digest in own.items() if _other(directory / name, digest)])


def replace_own(
    directory: Path,
    files: Mapping[str, str | bytes],
    own: Mapping[str, str],
    records: Mapping[str, str | bytes],
    *,
    overwrite: bool,
) -> None:
    """Write `files` in the place of those in the list `own`, and `records`, which are the writer's in any case.

    It happens to all of them or to none. Files that are as they are to be are not touched.

    Args:
        directory: the folder; it is made if it is not there.
        files: text or bytes by path.
        own: the list of what was written before. What of it is not in `files` is removed.
        records: text or bytes by path.
        overwrite: also replace and remove what somebody else has changed or put in the place of `files`.

    Raises:
        OutputError: if somebody else's files are in the way, or the folder cannot be written.
    """
    if not directory.exists():
        write_folder(directory, {**files, **records})
        return
    wanted = listed(files)
    if not overwrite:
        check_unchanged(directory, {name: digest for name, digest in own.items() if name not in wanted})
        found = {name: _other(directory / name, digest) for name, digest in wanted.items()}
        changed = [name for name, other in found.items() if other and _other(directory / name, own.get(name))]
        _refuse(directory, changed)
    every = {**files, **records}
    due = {name: text for name, text in every.items() if _other(directory / name, _digest(text), missing=True)}
    gone = [name for name in own if name not in every and os.path.lexists(directory / name)]
    try:
        _replace(directory, due, gone)
    except OSError as error:
        place = error.filename or directory
        raise OutputError(f"{place} cannot be written: {error.strerror or error}; choose another folder.") from error


@dataclass(frozen=True)
class _Move:
    """A file that takes its place, or none; what is there is kept as `old` until all are done."""

    place: Path
    new: Path | None
    old: Path

    def do(self) -> None:
        if os.path.lexists(self.place):
            self.place.rename(self.old)
        if self.new is not None:
            self.new.rename(self.place)

    def undo(self) -> None:
        if os.path.lexists(self.old):
            self.old.replace(self.place)
        elif self.new is not None and not os.path.lexists(self.new):
            self.place.unlink(missing_ok=True)


def _replace(directory: Path, files: Mapping[str, str | bytes], gone: Sequence[str]) -> None:
    """Write files and remove others, all or none. Raises OSError."""
    with unfinished(directory / f".match.{secrets.token_hex(4)}") as work:
        write_files(work / "new", files)
        (work / "old").mkdir(parents=True)
        for name in (*files, *gone):
            if (directory / name).is_dir() and not (directory / name).is_symlink():
                raise IsADirectoryError(f"{directory / name} is a folder")
        moves = [_Move(directory / name, work / "new" / name, work / "old" / str(n)) for n, name in enumerate(files)]
        moves += [_Move(directory / name, None, work / "old" / f"-{n}") for n, name in enumerate(gone)]
        made = [folder for folder in _folders(directory, files) if not folder.exists()]

        def undo() -> None:
            for move in reversed(moves):
                move.undo()
            _remove_empty(made)

        with all_or_nothing(undo):
            for folder in reversed(made):
                folder.mkdir()
            for move in moves:
                move.do()
        _remove_empty(_folders(directory, gone))


def _folders(directory: Path, names: Collection[str]) -> list[Path]:
    """The folders inside `directory` that these files are in, the innermost first."""
    inside = {folder for name in names for folder in PurePosixPath(name).parents if folder.parts}
    return [directory / folder for folder in sorted(inside, key=lambda folder: (-len(folder.parts), folder))]


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _refuse(directory: Path, changed: Sequence[str]) -> None:
    if changed:
        raise OutputError(
            f"{directory} holds changes of yours that would be lost, in {_named(changed)}; choose another folder, or "
            f"replace them with --overwrite (overwrite=True)."
        )


def _named(names: Sequence[str]) -> str:
    def parts() -> Iterator[str]:
        yield from names[:_NAMED]
        if len(names) > _NAMED:
            yield f"{len(names) - _NAMED} more files"

    *first, last = parts()
    return f"{', '.join(first)} and {last}" if first else last


def _other(path: Path, digest: str | None, *, missing: bool = False) -> bool:
    """Whether what is there has another content; `missing` is the answer where there is nothing.

    Raises:
        OutputError: if it cannot be read.
    """
    if not os.path.lexists(path):
        return missing
    try:
        return not path.is_file() or digest != _digest(path.read_bytes())
    except OSError as error:
        raise OutputError(f"{path} cannot be read: {error.strerror or error}; choose another folder.") from error


def _digest(content: str | bytes) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()
