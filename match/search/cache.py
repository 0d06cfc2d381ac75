"""Solutions of earlier compilations, in a folder: a file each, found by everything that a search depends on.

Files are written beside their place and renamed, so that compilations may share the folder without locks; what is not
whole and right is no entry. (Of a database, such as diskcache's, one damaged page may spoil every entry.) The folder
keeps `MOST_ENTRIES` files, those used last. One that cannot be read or written is an empty cache, never an error.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from match.errors import OutputError
from match.files.output import whole_file
from match.search.engine import library_version
from match.search.entry import decode, encode
from match.search.fingerprint import Fingerprints, UnknownSourceError
from match.search.problem import SearchProblem, Solution

ENVIRONMENT = "MATCH_CACHE_DIR"
"""Environment variable that names the folder."""

STATIONS = "ir", "mapping", "target", "prediction", "search"
"""Packages of the compiler whose sources decide what a search finds."""

MOST_ENTRIES = 20_000
SUFFIX = ".schedule"
DIGEST_BYTES = 32


def default_folder() -> Path:
    """The folder of `ENVIRONMENT`, else the user's cache folder."""
    given = os.environ.get(ENVIRONMENT)
    if given:
        return Path(given)
    from platformdirs import user_cache_path

    return user_cache_path("match-compiler") / "schedules"


class Cache:
    """Solutions of problems in a folder; made when there is something to store."""

    def __init__(self, folder: Path) -> None:
        compiler = _sources(Path(__file__).parents[1])
        self._folder = folder
        self._fingerprints = Fingerprints(compiler)
        self._version = hashlib.sha256(b"".join(map(_content, compiler))).hexdigest()
        self._models: dict[int, tuple[object, str | None]] = {}
        self._versions: dict[str, str] = {}

    def look_up(self, problem: SearchProblem) -> Solution | None:
        """The solution stored for a problem, if there is one."""
        path = self._path(problem)
        if path is None:
            return None
        try:
            data = path.read_bytes()
            os.utime(path)
        except OSError:
            return None
        digest, entry = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
        return decode(entry, problem) if hashlib.sha256(entry).digest() == digest else None

    def store(self, solved: Sequence[tuple[SearchProblem, Solution]]) -> None:
        """Store solutions, and drop the entries not used for longest when there are too many."""
        with suppress(OSError, OutputError):
            self._folder.mkdir(parents=True, exist_ok=True)
            for problem, solution in solved:
                path = self._path(problem) if solution.lasting else None
                if path is not None:
                    entry = encode(solution)
                    with whole_file(path) as unfinished:
                        unfinished.write_bytes(hashlib.sha256(entry).digest() + entry)
            self._prune()

    def _path(self, problem: SearchProblem) -> Path | None:
        """Where a problem's solution is; None if its cost model cannot be told from others."""
        model = self._fingerprint(problem.cost_model)
        if model is None:
            return None
        described = (
            self._version,
            model,
            problem.module,
            problem.engine,
            self._libraries(problem.engine),
            problem.objective,
            problem.layer.geometry,
            problem.operands,
            problem.memories,
            problem.multiples,
        )
        name = hashlib.sha256(msgspec.json.encode(described, order="deterministic")).hexdigest()
        return self._folder / f"{name}{SUFFIX}"

    def _libraries(self, name: str) -> str:
        """Version of the library that an engine leaves the search to."""
        if name not in self._versions:
            self._versions[name] = library_version(name)
        return self._versions[name]

    def _fingerprint(self, model: object) -> str | None:
        if id(model) not in self._models:
            try:
                digest = self._fingerprints.of(model)
            except UnknownSourceError:
                digest = None
            self._models[id(model)] = model, digest
        return self._models[id(model)][1]

    def _prune(self) -> None:
        entries = [entry for entry in os.scandir(self._folder) if entry.name.endswith(SUFFIX)]
        if len(entries) > MOST_ENTRIES:
            entries.sort(key=lambda entry: entry.stat().st_mtime)
            for entry in entries[: len(entries) - MOST_ENTRIES * 9 // 10]:
                with suppress(OSError):  # another compilation was first
                    Path(entry.path).unlink()


def _sources(package: Path) -> list[str]:
    """The sources that decide on solutions."""
    return sorted(str(path) for name in STATIONS for path in (package / name).rglob("*.py"))


def _content(path: str) -> bytes:
    with Path(path).open("rb", buffering=0) as file:  # a buffer costs as much again as reading a small file
        return file.read()
