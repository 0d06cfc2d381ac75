"""What earlier compilations found, in a folder: a file each, by a name that says everything it depends on.

Files are written beside their place and renamed, so that compilations may share the folder without locks; what is not
whole and right is no entry. (Of a database, such as diskcache's, one damaged page may spoil every entry.) The folder
keeps a number of files, those used last. One that cannot be read or written is an empty cache, never an error.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from match.errors import OutputError
from match.files.output import whole_file

DIGEST_BYTES = 32


@dataclass(frozen=True)
class Kept:
    """The files of a `folder` that end in `suffix`, at most `most`; the folder is made when it is needed."""

    folder: Path
    suffix: str
    most: int

    def look_up(self, name: str) -> bytes | None:
        """What is kept by a name, if it is."""
        path = self._path(name)
        try:
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        digest, entry = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
        return entry if hashlib.sha256(entry).digest() == digest else None

    def store(self, entries: Iterable[tuple[str, bytes]]) -> None:
        """Keep entries by their names, and drop those not used for longest when there are too many."""
        with suppress(OSError, OutputError):
            self.folder.mkdir(parents=True, exist_ok=True)
            for name, entry in entries:
                with whole_file(self._path(name)) as unfinished:
                    unfinished.write_bytes(hashlib.sha256(entry).digest() + entry)
            self._prune()

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{self.suffix}"

    def _prune(self) -> None:
        entries = [entry for entry in os.scandir(self.folder) if entry.name.endswith(self.suffix)]
        if len(entries) > self.most:
            entries.sort(key=lambda entry: entry.stat().st_mtime)
            for entry in entries[: len(entries) - self.most * 9 // 10]:
                with suppress(OSError):  # another compilation was first
                    Path(entry.path).unlink()


def sources(package: Path, stations: Iterable[str]) -> list[str]:
    """The Python sources of some of a package's packages, in order."""
    return sorted(str(path) for name in stations for path in (package / name).rglob("*.py"))


def content(path: str) -> bytes:
    """What is in a file."""
    with Path(path).open("rb", buffering=0) as file:  # a buffer costs as much again as reading a small file
        return file.read()
