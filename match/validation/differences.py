"""Counts how far arrays are apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

FLOAT_TOLERANCE = 1e-5
"""Share of the largest value that real outputs may differ by: C libraries and onnxruntime round functions such as exp
differently in the last bits."""

_NEAR = 1.5
"""Below two steps, and far from both: float32 rounds the product of an integer and a scale."""


class Difference(NamedTuple):
    """Elements in all, equal and one step apart; the largest difference, and up to which they are equal."""

    elements: int
    equal: int
    off_by_one: int
    largest: float
    tolerance: float


def difference(found: npt.NDArray[Any], expected: npt.NDArray[Any], step: float | None) -> Difference:
    """How far arrays of one shape are apart, in steps, or as they are without one."""
    if step is None:
        tolerance = FLOAT_TOLERANCE * float(np.max(np.abs(expected), initial=0.0, where=np.isfinite(expected)))
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))  # infinite ones, too
        apart = np.abs(np.subtract(found, expected, dtype=np.float64, where=~same, out=np.zeros(found.shape)))
        equal = same | (apart <= tolerance)
        return Difference(found.size, int(equal.sum()), 0, float(np.max(apart, initial=0.0)), tolerance)
    apart = np.abs(found.astype(np.float64) - expected.astype(np.float64))
    steps = apart / step
    equal = found == expected
    near = ~equal & (steps < _NEAR)
    largest = np.max(steps, initial=0.0)
    exact = found.dtype.kind != "f"
    return Difference(found.size, int(equal.sum()), int(near.sum()), float(largest if exact else round(largest, 3)), 0)
