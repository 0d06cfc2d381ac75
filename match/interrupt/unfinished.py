"""What this process has begun to write, so that it can be removed however the process ends.

Temporary folders, and files and folders beside the place where they are to be. They are known process-wide, because an
interrupt ends the whole process (`match.interrupt.watch`).
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_UNFINISHED: dict[Path, Path | None] = {}


@contextmanager
def unfinished(path: Path, instead_of: Path | None = None) -> Generator[Path]:
    """`path`, a file or folder that is removed at the end if it is still there.

    Where it holds what lay at `instead_of`, and nothing does at the end, it is put back there.
    """
    _UNFINISHED[path] = instead_of
    try:
        yield path
    finally:
        _settle(path)


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
    """Remove everything that is unfinished, while other threads may still write."""
    for path in reversed(list(_UNFINISHED)):
        _settle(path)


def _settle(path: Path) -> None:
    instead_of = _UNFINISHED.get(path)
    with suppress(OSError):
        if instead_of is not None and path.exists() and not instead_of.exists():
            path.rename(instead_of)
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    _UNFINISHED.pop(path, None)
