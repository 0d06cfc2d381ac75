"""Maps of ONNX, which have channels first (N, C, H, W), as the graph's, which have channels last (N, H, W, C)."""

from __future__ import annotations

from match.graph.make import transposed
from match.graph.value import Value

TO_LAST = (0, 2, 3, 1)
TO_FIRST = (0, 3, 1, 2)


def channels_last(x: Value) -> Value:
    """A map of ONNX with its channels last."""
    return transposed(x, TO_LAST)


def channels_first(x: Value) -> Value:
    """A map of the graph with its channels first."""
    return transposed(x, TO_FIRST)
