"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from match.errors import OutputError


@contextmanager
def whole_file(path: Path) -> Generator[Path]:
    """A place to write to, which becomes `path` if nothing goes wrong.

    Raises:
        OutputError: the file cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield unfinished
        unfinished.replace(path)
    except OSError as error:
        with suppress(OSError):
            unfinished.unlink()
        raise OutputError(f"cannot write {path}: {error.strerror or error}; choose another file.") from error
