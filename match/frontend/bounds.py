"""Ranges of integers that an input may have."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.frontend.model import ModelTensor

Bounds = tuple[int, int]
"""Smallest and largest value."""

EVERY: Bounds = (-(2**63), 2**63 - 1)


def with_bounds(tensor: ModelTensor, bounds: Bounds | None) -> ModelTensor:
    """An input with the range that its users take, within that of its type; without, if that is all or nothing."""
    low, high = bounds or EVERY
    if (low, high) == EVERY:
        return tensor
    if np.dtype(tensor.dtype).kind in "iu":
        limits = np.iinfo(tensor.dtype)
        low, high = max(low, int(limits.min)), min(high, int(limits.max))
    return replace(tensor, indices=(low, high)) if low <= high else tensor


def clipped(own: Bounds, low: float | None, high: float | None) -> Bounds:
    """What may be clipped at `low` and `high` for the result to be in `own`."""
    free = low is not None and low >= own[0], high is not None and high <= own[1]
    return EVERY[0] if free[0] else own[0], EVERY[1] if free[1] else own[1]
