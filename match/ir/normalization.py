"""Constants of a normalization of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Normalization:
    """What rows of n elements are normalized with (match_normalize_t).

    spread: epsilon as ``epsilon * (n / scale)**2`` with 8 bits behind the point, at least 1.
    gains: int16, shape (n,).
    """

    spread: int
    gains: npt.NDArray[np.int16]
