"""Biases that do not count in whole steps of the sums that they are added to."""

from __future__ import annotations

import numpy as np

LARGEST_INPUT = 255
"""The largest magnitude of a value of 8 bits less its zero point."""

_LARGEST_SUM = 1 << 30
_MOST_BITS = 8


def fraction_bits(largest: float) -> int | None:
    """Bits after the point for sums up to `largest` in int32, with one bit to spare; None if these do not fit."""
    return None if largest >= _LARGEST_SUM else min(_MOST_BITS, int(np.log2(_LARGEST_SUM / max(1.0, largest))))
