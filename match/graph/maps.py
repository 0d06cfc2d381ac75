"""Maps with channels first (N, C, H, W), as models have them, and last (N, H, W, C), as the graph's layers do."""

from __future__ import annotations

from match.graph.make import transposed
from match.graph.value import Value

TO_LAST = (0, 2, 3, 1)
"""The axes of a map with channels first in the order of one with channels last."""

TO_FIRST = (0, 3, 1, 2)
"""The other way round."""


def channels_last(x: Value) -> Value:
    """A map with channels first, its channels last."""
    return transposed(x, TO_LAST)


def channels_first(x: Value) -> Value:
    """A map with channels last, its channels first."""
    return transposed(x, TO_FIRST)
