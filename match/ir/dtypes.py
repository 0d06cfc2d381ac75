"""Integer types by NumPy's names."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def value_range(dtype: str) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def levels(dtype: str) -> npt.NDArray[np.int64]:
    """Every value of an integer type, ascending."""
    low, high = value_range(dtype)
    return np.arange(low, high + 1, dtype=np.int64)
