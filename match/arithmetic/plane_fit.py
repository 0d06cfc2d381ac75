"""Finds ``clip((a * Ma + b * Mb + B) >> S)`` that is a given function of two 8-bit values, over all 65536 pairs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from match.ir.requantization import Int64Array

# Small shifts first: their sums fit the registers of small machines.
_SHIFTS = range(14, 31)
_NEIGHBOURS = (0, 1, -1)


@dataclass(frozen=True)
class Plane:
    """The integers of a quantized addition."""

    multipliers: tuple[int, int]
    bias: int
    shift: int


def fit_plane(
    outputs: Int64Array, a: Int64Array, b: Int64Array, slopes: tuple[float, float], clip: tuple[int, int]
) -> Plane | None:
    """The plane that gives `outputs[i, j]` for every pair a[i], b[j], or None if none was found.

    `slopes` are about how many output levels one step of a and of b is worth. For given multipliers every pair bounds B
    on both sides (on one, where the output is clamped); a B within all bounds is exact for all pairs.
    """
    above, under = outputs > clip[0], outputs < clip[1]
    limits = np.iinfo(np.int64)
    for shift in _SHIFTS:
        centre = [round(slope * (1 << shift)) for slope in slopes]
        for offsets in product(_NEIGHBOURS, repeat=2):
            first, second = (middle + offset for middle, offset in zip(centre, offsets, strict=True))
            room = (outputs << shift) - (a[:, None] * first + b[None, :] * second)
            least = int(np.max(room, where=above, initial=limits.min))
            most = int(np.min(room, where=under, initial=limits.max)) + (1 << shift) - 1
            if least <= most:
                return Plane((first, second), least + (most - least) // 2, shift)
    return None
