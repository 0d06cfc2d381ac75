"""Solutions of earlier compilations in a folder.

A file holds those of problems that are equal but for the size of the innermost memory; it is named by a digest of all
else that a search depends on. The best mapping onto a memory is the best one onto a smaller memory, too, if it fits
that: a search that finds the first of all mappings in one order finds it there again.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from match.files.kept import Kept, content, sources
from match.search.engine import library_version
from match.search.entry import decode, encode
from match.search.fingerprint import Fingerprints, UnknownSourceError
from match.search.problem import SearchProblem, Solution
from match.target.cost import CostModel

ENVIRONMENT = "MATCH_CACHE_DIR"
"""Environment variable that names the folder."""

STATIONS = "ir", "mapping", "target", "prediction", "search"
"""Packages of the compiler whose sources decide what a search finds."""

MOST_ENTRIES = 20_000
MOST_SIZES = 32
"""Sizes of a memory in a file; those stored last stay."""

SUFFIX = ".schedule"

_ORDERED = "exact"
"""The engine that finds the first mapping by `match.search.exact.search.Rank`, which knows no size of a memory."""


def default_folder() -> Path:
    """The folder of `ENVIRONMENT`, else the user's cache folder."""
    given = os.environ.get(ENVIRONMENT)
    if given:
        return Path(given)
    from platformdirs import user_cache_path

    return user_cache_path("match-compiler") / "schedules"


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    """A solution for a memory of `size` bytes; `used` of them its mapping takes, None where it serves no others."""

    size: int
    used: int | None
    solution: msgspec.Raw


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
        name, size = self._name(problem), _size(problem)
        entries = [] if name is None else self._entries(name)
        own = [one for one in entries if one.size == size]
        others = [one for one in entries if one.used is not None and one.used <= size < one.size]
        return next((found for one in (*own, *others) if (found := decode(bytes(one.solution), problem))), None)

    def store(self, solved: Sequence[tuple[SearchProblem, Solution]]) -> None:
        """Store solutions, and drop the entries not used for longest when there are too many."""
        new: defaultdict[str, list[_Entry]] = defaultdict(list)
        for problem, solution in solved:
            name = self._name(problem) if solution.lasting else None
            if name is not None:
                entry = _Entry(_size(problem), _used(problem, solution), msgspec.Raw(encode(solution)))
                new[name].append(entry)
        for name, entries in new.items():
            sizes = {entry.size for entry in entries}
            entries[:0] = [one for one in self._entries(name) if one.size not in sizes]
        self._kept.store((name, msgspec.json.encode(entries[-MOST_SIZES:])) for name, entries in new.items())

    def _entries(self, name: str) -> list[_Entry]:
        kept = self._kept.look_up(name)
        try:
            return [] if kept is None else msgspec.json.decode(kept, type=list[_Entry])
        except msgspec.MsgspecError:
            return []

    def _name(self, problem: SearchProblem) -> str | None:
        """The file name of a problem's solutions for all sizes; None if its cost model has no digest."""
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
            tuple(replace(memory, size=0) if memory is problem.memories[-1] else memory for memory in problem.memories),
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


def _size(problem: SearchProblem) -> int:
    """Bytes of the innermost memory; 0 without a scratchpad."""
    return problem.memories[-1].size if problem.memories else 0


def _used(problem: SearchProblem, solution: Solution) -> int | None:
    """Bytes of the innermost memory that a mapping takes, where it is the first of all in an order of mappings."""
    first = problem.engine == _ORDERED and len(problem.memories) == 1
    if not first or type(problem.cost_model).latency is not CostModel.latency:
        return None
    schedule = solution.schedule
    if (
        schedule is None or schedule.loss or schedule.plan is not None
    ):  # more memory lets a group's constants come earlier
        return None
    return schedule.used_bytes(schedule.inner_memory)
