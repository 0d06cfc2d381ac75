"""Search engines: from a layer, a memory and a cost model to the best `Schedule` that they find."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Protocol

from match.errors import OptionError
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
    library = {"loma": "zigzag-dse", "dory": "ortools"}.get(name)
    return "" if library is None else metadata.version(library)


def check_engine(name: str) -> None:
    """Raises OptionError if there is no such engine; loads none."""
    if not is_one_of(name, engine_names()):
        raise OptionError(f"engine {shown(name)} is unknown; choose one of: {', '.join(engine_names())}.")
