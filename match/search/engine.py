"""Search engines: from a layer, a memory and a cost model to the best `Schedule` that they find."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import metadata
from importlib.util import find_spec
from types import MappingProxyType
from typing import NamedTuple, Protocol

from match.errors import OptionError, ToolchainError
from match.mapping.schedule import Schedule
from match.search.problem import SearchProblem
from match.target.arguments import is_one_of, shown


class Engine(Protocol):
    """A search over the mappings of one layer."""

    def search(self, problem: SearchProblem) -> Schedule:
        """The best mapping found; the same for the same problem.

        Raises:
            NoMappingError: if no mapping fits or is found, or the engine does not map onto so many memories.
            CostModelError: if the cost model fails.
            OptionError: if the objective is unknown, or "energy" of a cost model that has none.
        """
        ...


class _Library(NamedTuple):
    """A package as pip and as Python call it."""

    package: str
    module: str


_LIBRARIES: Mapping[str, _Library] = MappingProxyType(
    {"loma": _Library("zigzag-dse", "zigzag"), "dory": _Library("ortools", "ortools")}
)
"""By engine what does its search."""


def _exact() -> Engine:
    from match.search.exact.engine import ExactEngine

    return ExactEngine()


def _loma() -> Engine:
    from match.search.baselines.loma import LomaEngine

    return LomaEngine()


def _dory() -> Engine:
    from match.search.baselines.dory import DoryEngine

    return DoryEngine()


def _makers() -> dict[str, Callable[[], Engine]]:
    return {"exact": _exact, "loma": _loma, "dory": _dory}


def engine_names() -> tuple[str, ...]:
    """The engines there are."""
    return tuple(_makers())


def engine(name: str) -> Engine:
    """The engine called `name`.

    Raises:
        OptionError: if there is none of that name.
    """
    check_engine(name)
    return _makers()[name]()


def library_version(name: str) -> str:
    """Version of the library that the engine called `name` leaves its search to, empty if there is none."""
    library = _LIBRARIES.get(name)
    return "" if library is None else metadata.version(library.package)


def check_engine(name: str) -> None:
    """Find out if there is such an engine, without loading it.

    Raises:
        OptionError: there is not.
        ToolchainError: its library is not installed.
    """
    if not is_one_of(name, engine_names()):
        raise OptionError(f"engine {shown(name)} is unknown; choose one of: {', '.join(engine_names())}.")
    library = _LIBRARIES.get(name)
    if library is not None and find_spec(library.module) is None:
        raise ToolchainError(
            f"engine {name!r} needs {library.package}, which is not installed: `pip install {library.package}`."
        )
