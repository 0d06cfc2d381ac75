"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from match.errors import OutputError


@contextmanager
def whole_file(path: Path) -> Generator[Path]:
    """A place to write to, which becomes `path` if nothing goes wrong; each call has its own.

    Raises:
        OutputError: the file cannot be written.
    """
    unfinished = _beside(path)
    try:
        yield unfinished
        unfinished.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}; choose another file.") from error
    finally:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def write_folder(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files of text or bytes, by their paths inside it, into `directory`; a folder that is there is replaced.

    Raises:
        OutputError: if it cannot be written; what was there then is still.
    """
    unfinished = _beside(directory)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            path = unfinished / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, str):
                path.write_text(content, encoding="utf-8")
            else:
                path.write_bytes(content)
        if directory.exists():
            shutil.rmtree(directory)
        unfinished.rename(directory)
    except OSError as error:
        raise OutputError(
            f"{directory} cannot be written: {error.strerror or error}; choose another folder."
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}")
