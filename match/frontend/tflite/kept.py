"""What a network keeps from one inference to the next, as operators of a TFLite file say it."""

from __future__ import annotations

from dataclasses import dataclass

from match.frontend.model import ModelState
from match.graph.value import Value


@dataclass(frozen=True, eq=False)
class Kept:
    """A variable that keeps something: what is known of it, and its tensor before an inference and after it."""

    state: ModelState
    before: Value
    after: Value
