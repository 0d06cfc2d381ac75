"""What a search may minimise."""

from __future__ import annotations

from match.errors import OptionError
from match.target.arguments import is_one_of, shown
from match.target.cost import CostModel

OBJECTIVES = ("latency", "energy", "bytes")
"""Predicted cycles, predicted pJ, or bytes moved between memories."""


def check_objective(objective: str, known: tuple[str, ...] = OBJECTIVES, cost_model: CostModel | None = None) -> None:
    """Raises OptionError if an objective is not `known`, or `cost_model` does not know what it takes."""
    if not is_one_of(objective, known):
        raise OptionError(f"objective {shown(objective)} is unknown; choose one of: {', '.join(known)}.")
    if objective == "energy" and cost_model is not None and cost_model.energy is None:
        raise OptionError(
            f"objective 'energy' needs pJ per multiply-accumulate and per byte, and cost model "
            f"{type(cost_model).__name__} has none; set its `energy` or choose another objective."
        )
