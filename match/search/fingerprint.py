"""Digests of cost models: of a model's state, and of the source of the code that it runs.

cloudpickle and joblib.hash stop at a class that can be imported by name: an edited cost model would keep its digest.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)|import[ \t]+([^\n#]+))", re.MULTILINE
)
_INSTALLED = frozenset({"site-packages", "dist-packages"})


class UnknownSourceError(Exception):
    """An object has no digest."""


class Fingerprints:
    """Digests of objects; every source is read once."""

    def __init__(self, known: Iterable[str]) -> None:
        """The files at the paths `known` are part of no digest: whoever asks watches them."""
        self._known = frozenset(known)
        self._modules: dict[tuple[str, bool], tuple[bytes, frozenset[str]]] = {}
        self._sources: dict[frozenset[str], bytes] = {}

    def of(self, thing: object) -> str:
        """Digest of an object's state and of its code: the modules of its classes and functions, and what they import.

        Of the standard library nothing counts; of other installed packages those that a class comes from count as
        they are, the others by the size and time of their file. A module that a function imports counts once it is
        loaded.

        Raises:
            UnknownSourceError: if a class or function in it has no name to import it by or no source, or if it holds
                what cannot be pickled.
        """
        stream = io.BytesIO()
        collector = _Collector(stream)
        try:
            collector.dump(thing)
        except Exception as error:
            raise UnknownSourceError from error
        return hashlib.sha256(self._sources_of(frozenset(collector.modules)) + stream.getvalue()).hexdigest()

    def _sources_of(self, modules: frozenset[str]) -> bytes:
        """Digest of the source of modules and of what they import."""
        known = self._sources.get(modules)
        if known is None:
            known = self._sources[modules] = self._digest(modules)
        return known

    def _digest(self, modules: frozenset[str]) -> bytes:
        digest = hashlib.sha256()
        packages = {name.partition(".")[0] for name in modules}
        waiting, done = sorted(modules), set(modules)
        while waiting:
            name = waiting.pop()
            source, imported = self._read(name, name.partition(".")[0] in packages)
            digest.update(name.encode() + b"\0" + source)
            waiting += sorted(imported - done)
            done |= imported
        return digest.digest()

    def _read(self, name: str, own: bool) -> tuple[bytes, frozenset[str]]:
        """What counts of a module, which may be of the object's `own` packages, and what it imports that counts."""
        known = self._modules.get((name, own))
        if known is None:
            known = self._modules[name, own] = self._read_anew(name, own)
        return known

    def _read_anew(self, name: str, own: bool) -> tuple[bytes, frozenset[str]]:
        module = sys.modules.get(name)
        if name.partition(".")[0] in sys.stdlib_module_names or module is None:
            return b"", frozenset()
        file = getattr(module, "__file__", None)
        if file is None:
            if hasattr(module, "__path__"):
                return b"", frozenset()
            raise UnknownSourceError
        if file in self._known:
            return b"", frozenset()
        try:
            if not file.endswith(".py") or (not own and not _INSTALLED.isdisjoint(Path(file).parts)):
                status = Path(file).stat()
                return f"{status.st_size} {status.st_mtime_ns}".encode(), frozenset()
            source = Path(file).read_bytes()
        except OSError as error:
            raise UnknownSourceError from error
        names = frozenset(_imports(module, source.decode(errors="replace")))
        return source, names & sys.modules.keys()


class _Collector(pickle.Pickler):
    """Pickles, and collects the modules of the classes and functions met."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=5)
        self.modules: set[str] = set()

    def reducer_override(self, obj: Any) -> Any:
        """Everything is pickled as usual. Unlike `persistent_id` this is not asked about numbers, texts and tuples."""
        if isinstance(obj, type):
            self.modules.update(base.__module__ for base in obj.__mro__)
        elif isinstance(obj, FunctionType):
            self.modules.add(obj.__module__)
        return NotImplemented


def _imports(module: ModuleType, source: str) -> Iterator[str]:
    """Names of the loaded modules that a module's import statements name, wherever they stand."""
    package = module.__name__ if hasattr(module, "__path__") else module.__name__.rpartition(".")[0]
    for outer, inner, plain in _IMPORT.findall(source):
        if outer:
            level = len(outer) - len(outer.lstrip("."))
            parents = package.split(".")[: max(0, len(package.split(".")) - level + 1)] if level else []
            base = ".".join(filter(None, (*parents, outer.lstrip("."))))
            yield base
            yield from (f"{base}.{name}" for name in re.findall(r"\w+", inner))
        yield from re.findall(r"[\w.]+", plain)
