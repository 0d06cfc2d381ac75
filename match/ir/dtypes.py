"""Integer types by NumPy's names."""

from __future__ import annotations

import numpy as np


def value_range(dtype: str) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)
