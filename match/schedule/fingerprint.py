"""Digests of cost models: of a model's state, and of the source of the code that it runs."""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Protocol, runtime_checkable


_INSTALLED = frozenset({"site-packages", "dist-packages"})


class UnknownSourceError(Exception):
    """An object has no digest."""


class Fingerprints:
    """Digests of objects; every source is read once."""

    def __init__(self, known: Iterable[Path]) -> None:
        """The files `known` are part of no digest: whoever asks watches them."""
        self._known = frozenset(str(path) for path in known)
        self._modules: dict[tuple[str, bool], tuple[bytes, frozenset[str]]] = {}

    def of(self, thing: object) -> str:
        """Digest of an object's state and of its code: the modules of its classes and functions, and what they import.

        Of the standard library nothing counts; of other installed packages those that a class comes from count as
        they are, the others by the size and time of their file. An import inside a function counts once it has run.

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
        digest = hashlib.sha256(stream.getvalue())
        packages = {name.partition(".")[0] for name in collector.modules}
        waiting, done = sorted(collector.modules), set(collector.modules)
        while waiting:
            name = waiting.pop()
            source, imported = self._read(name, name.partition(".")[0] in packages)
            digest.update(name.encode() + b"\0" + source)
            waiting += sorted(imported - done)
            done |= imported
        return digest.hexdigest()

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
        return source, frozenset(_imports(module, source))


class _Collector(pickle.Pickler):
    """Pickles, and collects the modules of the classes and functions met."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=5)
        self.modules: set[str] = set()

    def persistent_id(self, obj: Any) -> None:
        """Nothing is stored elsewhere."""
        if isinstance(obj, type):
            self.modules.update(base.__module__ for base in obj.__mro__)
        elif isinstance(obj, FunctionType):
            self.modules.add(obj.__module__)


@runtime_checkable
class _Loader(Protocol):
    def get_code(self, name: str, /) -> CodeType | None: ...


def _imports(module: ModuleType, source: bytes) -> set[str]:
    """Names of loaded modules that a module may have imported, by the names that its code mentions."""
    loader = getattr(module.__spec__, "loader", None)
    code = loader.get_code(module.__name__) if isinstance(loader, _Loader) else None
    names = _names(code if code is not None else compile(source, str(module.__file__), "exec"))
    parents = [module.__name__]
    while "." in parents[-1]:
        parents.append(parents[-1].rpartition(".")[0])
    found = {name for name in names if name in sys.modules}
    for parent in (*parents, *found):
        found |= {full for full in (f"{parent}.{name}" for name in names) if full in sys.modules}
    return found


def _names(code: CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant)
    return names
