"""What a user can ask of the compiler beside the model and the target."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from match.errors import OptionError
from match.schedule.engine import check_objective, engine


class Numerics(enum.StrEnum):
    """Whether modules may use the closest arithmetic they have (HARDWARE) or only one equal to the model's (EXACT)."""

    HARDWARE = "hardware"
    EXACT = "exact"


@dataclass(frozen=True)
class Options:
    """Checked options of one compilation: search engine and objective by name, and which arithmetic is allowed."""

    engine: str
    objective: str
    numerics: Numerics

    @classmethod
    def parse(cls, engine_name: str, objective: str, numerics: str) -> Options:
        """Options from their names.

        Raises:
            OptionError: if one of them does not exist.
        """
        engine(engine_name)
        check_objective(objective)
        if numerics not in tuple(Numerics):
            raise OptionError(f"numerics {numerics!r} is unknown; choose one of: {', '.join(Numerics)}.")
        return cls(engine_name, objective, Numerics(numerics))
