"""Points that earlier sweeps predicted, found by all that a prediction depends on."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import msgspec

from match.compiled.stations import Asked
from match.files.kept import Kept, content, sources
from match.search.engine import library_version
from match.search.fingerprint import Fingerprints, UnknownSourceError
from match.sweeping.schema import Figures

MOST_POINTS = 20_000
SUFFIX = ".point"

LIBRARIES = "numpy", "ortools", "xtc-tvm-python-bindings"
"""Packages that decide what is predicted, beside those that a search engine has."""


class _Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True, array_like=True):
    figures: Figures | None
    refusal: str | None


class KeptPoints:
    """Points in a folder; nothing is kept without one."""

    def __init__(self, folder: Path | None) -> None:
        self._kept = Kept(folder, SUFFIX, MOST_POINTS) if folder else None
        package = Path(__file__).parents[1]
        stations = sorted(path.name for path in package.iterdir() if (path / "__init__.py").exists())
        compiler = sources(package, stations) if folder else []
        self._version = hashlib.sha256(b"".join(map(content, compiler))).hexdigest()
        self._fingerprints = Fingerprints(())

    def name(self, model: str, digest: str, asked: Asked) -> str | None:
        """The name of a point of a network called `model`; None if nothing is kept of it."""
        if self._kept is None:
            return None
        try:
            chip = self._fingerprints.of(asked.chip)
        except UnknownSourceError:
            return None
        libraries = (*map(version, LIBRARIES), library_version(asked.options.engine))
        deciding = replace(asked.options, jobs=1, cache=None)
        described = (self._version, libraries, model, digest, chip, deciding)
        return hashlib.sha256(msgspec.json.encode(described)).hexdigest()

    def look_up(self, name: str | None) -> Figures | str | None:
        """What was predicted, if it is kept."""
        entry = self._kept.look_up(name) if self._kept and name else None
        if entry is None:
            return None
        found = msgspec.json.decode(entry, type=_Stored)
        return found.figures or found.refusal

    def store(self, name: str | None, found: Figures | str) -> None:
        """Keep what was predicted."""
        if self._kept and name:
            entry = _Stored(None, found) if isinstance(found, str) else _Stored(found, None)
            self._kept.store([(name, msgspec.json.encode(entry))])
