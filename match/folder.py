"""Writing a folder of text files, all or nothing."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

from match.errors import OutputError


def write_folder(directory: Path, files: Mapping[str, str]) -> None:
    """Write text files, by their paths inside it, into `directory`; a folder that is there is replaced.

    Raises:
        OutputError: if it cannot be written; what was there then is still.
    """
    temporary = directory.with_name(f".{directory.name}.{secrets.token_hex(4)}")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            path = temporary / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if directory.exists():
            shutil.rmtree(directory)
        temporary.rename(directory)
    except OSError as error:
        raise OutputError(
            f"{directory} cannot be written: {error.strerror or error}; choose another folder."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
