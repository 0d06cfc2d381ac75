"""What this process has begun to write, so that it can be undone however the process ends.

Temporary folders, files and folders beside the place where they are to be, and several files that change together. They
are known process-wide, because an interrupt ends the whole process (`match.interrupt.watch`).
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

_UNFINISHED: dict[object, Callable[[], None]] = {}
"""What undoes each, by a mark of its own."""


@contextmanager
def unfinished(path: Path) -> Generator[Path]:
    """`path`, a file or folder that is removed at the end if it is still there."""
    mark = object()
    _UNFINISHED[mark] = partial(_remove, path)
    try:
        yield path
    finally:
        _undo(mark)


@contextmanager
def all_or_nothing(undo: Callable[[], None]) -> Generator[None]:
    """Several steps, after the last of which all is done; if they end before, `undo` leaves things as they were.

    `undo` looks for itself how far the steps have come.
    """
    mark = object()
    _UNFINISHED[mark] = undo
    try:
        yield
    except BaseException:
        _undo(mark)
        raise
    _UNFINISHED.pop(mark, None)


@contextmanager
def scratch_folder(prefix: str, parent: Path | None = None) -> Generator[Path]:
    """A new folder for temporary files, in `parent` or where the system has such folders, removed at the end.

    Raises:
        OSError: it cannot be made.
    """
    if parent is None:
        from tempfile import gettempdir

        parent = Path(gettempdir())
    with unfinished(parent / f"{prefix}{secrets.token_hex(8)}") as folder:
        folder.mkdir(mode=0o700)
        yield folder


def discard() -> None:
    """Undo everything that is unfinished, the last first, while other threads may still write."""
    for mark in reversed(list(_UNFINISHED)):
        _undo(mark)


def _undo(mark: object) -> None:
    undo = _UNFINISHED.get(mark)
    if undo is not None:
        with suppress(OSError):
            undo()
    _UNFINISHED.pop(mark, None)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
