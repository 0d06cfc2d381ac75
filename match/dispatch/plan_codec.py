"""Plans as text and back: a Relay function carries its own as a string attribute through TVM's build."""

from __future__ import annotations

import msgspec

from match.dispatch.plan import InPlace, LayerPlan
from match.errors import TargetError

PLAN_ATTRIBUTE = "match.plan"
"""The attribute of a Relay function that holds its plan."""

IN_PLACE_ATTRIBUTE = "match.in_place"
"""The attribute of a function that copies nothing, in place of a plan."""


def encode(plan: LayerPlan | InPlace) -> str:
    """The plan as JSON, bytes in base64; equal plans give equal text."""
    return msgspec.json.encode(plan).decode()


def decode(text: str) -> LayerPlan:
    """The plan that `encode` wrote.

    Raises:
        TargetError: if the text is no plan, or one of another version.
        ScheduleError: if the schedule in it is not consistent.
    """
    try:
        return msgspec.json.decode(text, type=LayerPlan)
    except msgspec.MsgspecError as error:
        raise TargetError(f"a function's plan cannot be read: {error}; partition the module again.") from error
