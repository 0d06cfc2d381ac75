"""How sure an accuracy is that was measured on some samples."""

from __future__ import annotations

import math

_95_PERCENT = 1.959963984540054
"""Standard deviations of a normal distribution within which 95 % of it lie."""


def wilson(right: int, samples: int) -> tuple[float, float]:
    """The interval that holds the accuracy of all data with a confidence of 95 % (Wilson, 1927), from 0 to 1."""
    share, z2 = right / samples, _95_PERCENT**2
    centre = (share + z2 / (2 * samples)) / (1 + z2 / samples)
    half = _95_PERCENT / (1 + z2 / samples) * math.sqrt(share * (1 - share) / samples + z2 / (4 * samples**2))
    return max(0.0, centre - half), min(1.0, centre + half)
