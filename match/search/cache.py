"""Solutions of earlier compilations in a folder: a file each, named by a digest of all that a search depends on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from match.files.kept import Kept, content, sources
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
        compiler = sources(Path(__file__).parents[1], STATIONS)
        self._kept = Kept(folder, SUFFIX, MOST_ENTRIES)
        self._fingerprints = Fingerprints(compiler)
        self._version = hashlib.sha256(b"".join(map(content, compiler))).hexdigest()
        self._models: dict[int, tuple[object, str | None]] = {}
        self._versions: dict[str, str] = {}

    def look_up(self, problem: SearchProblem) -> Solution | None:
        """The solution stored for a problem, if there is one."""
        name = self._name(problem)
        entry = None if name is None else self._kept.look_up(name)
        return None if entry is None else decode(entry, problem)

    def store(self, solved: Sequence[tuple[SearchProblem, Solution]]) -> None:
        """Store solutions, and drop the entries not used for longest when there are too many."""
        named = ((self._name(problem), solution) for problem, solution in solved if solution.lasting)
        self._kept.store((name, encode(solution)) for name, solution in named if name is not None)

    def _name(self, problem: SearchProblem) -> str | None:
        """The file name of a problem's solution; None if its cost model has no digest."""
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
        return hashlib.sha256(msgspec.json.encode(described, order="deterministic")).hexdigest()

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
