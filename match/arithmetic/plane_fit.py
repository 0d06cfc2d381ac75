"""Finds integers that make a given function of two 8-bit values, over all 65536 pairs.

A plane is ``clip((a * Ma + b * Mb + B) >> S)``; with tables in the place of products more functions are sums. Where b
chooses a line of a, as a divisor does, it is ``clip((a * M[b] + B[b]) >> S)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np

from match.ir.constants import LOOKUP_LINE_FRACTION, LOOKUP_SUM_FRACTION
from match.ir.requantization import Int64Array

# Small shifts first: their sums fit the registers of small machines.
_SHIFTS = range(14, 31)
_NEIGHBOURS = (0, 1, -1)
# Sums of 8-bit values that are worth less than 4 levels a step fit 32 bits.
_CLOSE_SHIFT = 20
# Of sums whose halves go to even outputs: as many bits as forms of requantization have for the shift of such sums.
_LARGEST_EVEN_SHIFT = 16
_UNBOUNDED = 1 << 60
# Tables and their sums fit 32 bits, also where int8 outputs become uint8, 128 levels more.
_LARGEST_SUM = (1 << 31) - (128 << LOOKUP_SUM_FRACTION)
_LARGEST_LINE = (1 << 31) - (129 << LOOKUP_LINE_FRACTION)
_STEEPEST = 255 << LOOKUP_LINE_FRACTION


@dataclass(frozen=True)
class Plane:
    """The integers of a quantized addition; `ties_to_even` as of `match.ir.requantization.Requantization`."""

    multipliers: tuple[int, int]
    bias: int
    shift: int
    ties_to_even: bool = False


def fit_plane(
    outputs: Int64Array, a: Int64Array, b: Int64Array, slopes: tuple[float, float], clip: tuple[int, int]
) -> Plane | None:
    """The plane that gives `outputs[i, j]` for every pair a[i], b[j], or None if none was found.

    `slopes` are about how many output levels one step of a and of b is worth. For given multipliers every pair bounds B
    on both sides (on one, where the output is clamped); a B within all bounds is exact for all pairs.
    """
    for shift in _SHIFTS:
        centre = _multipliers(slopes, shift)
        for offsets in product(_NEIGHBOURS, repeat=2):
            first, second = (middle + offset for middle, offset in zip(centre, offsets, strict=True))
            least, most = _biases(outputs, a[:, None] * first + b[None, :] * second, shift, clip)
            if least <= most:
                return Plane((first, second), int(least + (most - least) // 2), shift)
    return _even_plane(outputs, a, b, slopes, clip)


def _even_plane(
    outputs: Int64Array, a: Int64Array, b: Int64Array, slopes: tuple[float, float], clip: tuple[int, int]
) -> Plane | None:
    """The plane whose halves go to even outputs, for slopes of a few bits; else None."""
    for shift in range(1, _LARGEST_EVEN_SHIFT + 1):
        first, second = multipliers = _multipliers(slopes, shift)
        if multipliers == tuple(math.ldexp(slope, shift) for slope in slopes):
            sums = a[:, None] * first + b[None, :] * second
            # An odd output begins one later, and so ends the even one before it.
            least, most = _biases(outputs, sums, shift, clip, begin=outputs % 2, end=1 - outputs % 2)
            return Plane(multipliers, int(least), shift, ties_to_even=True) if least <= most else None
    return None


def close_plane(
    outputs: Int64Array, a: Int64Array, b: Int64Array, slopes: tuple[float, float], clip: tuple[int, int]
) -> Plane | None:
    """A plane within one step of `outputs[i, j]` for every pair a[i], b[j]; arguments as of `fit_plane`.

    None where the outputs are those of no plane. Of a sum that is rounded in float32, a few pairs are off.
    """
    multipliers = _multipliers(slopes, _CLOSE_SHIFT)
    sums = a[:, None] * multipliers[0] + b[None, :] * multipliers[1]
    least, most = _biases(outputs, sums, _CLOSE_SHIFT, clip)
    bias = int(least + (most - least) // 2)
    given = ((sums + bias) >> _CLOSE_SHIFT).clip(*clip)
    return Plane(multipliers, bias, _CLOSE_SHIFT) if np.abs(given - outputs).max() <= 1 else None


def fit_tables(
    outputs: Int64Array, a: Int64Array, b: Int64Array, slopes: tuple[float, float], clip: tuple[int, int]
) -> Int64Array | None:
    """Tables Ta and Tb, (2, 256), with ``clip((Ta[i] + Tb[j]) >> LOOKUP_SUM_FRACTION)`` equal to all `outputs[i, j]`.

    Arguments as of `fit_plane`; None if no tables were found. Ta is linear in a. Each Tb[j] may be any number between
    its bounds, so that a sum of numbers that were rounded before, as in float32, has tables where it has no plane.
    """
    first = np.rint(np.ldexp(a * slopes[0], LOOKUP_SUM_FRACTION)).astype(np.int64)
    sums = np.broadcast_to(first[:, None], outputs.shape)
    least, most = _biases(outputs, sums, LOOKUP_SUM_FRACTION, clip, axis=0)
    if np.any(least > most):
        return None
    near = np.rint(np.ldexp(b * slopes[1], LOOKUP_SUM_FRACTION)).astype(np.int64)
    middle = np.where((least > -_UNBOUNDED) & (most < _UNBOUNDED), (least + most) // 2, near.clip(least, most))
    found = np.stack([first, middle])
    largest = max(np.abs(found).max(), found.max(axis=1).sum(), -found.min(axis=1).sum())
    return found if largest < _LARGEST_SUM else None


def fit_lines(outputs: Int64Array, a: Int64Array, clip: tuple[int, int]) -> Int64Array | None:
    """Tables M and B, (2, 256), with ``clip((a[i] * M[j] + B[j]) >> LOOKUP_LINE_FRACTION)`` equal to `outputs[i, j]`.

    `a` are consecutive levels. None if there are no such tables whose products and sums fit 32 bits. The room that a
    slope leaves for B is a concave function of it, and so bisection finds the slope with most room.
    """
    steps, bits = a[:, None] - a[0], LOOKUP_LINE_FRACTION
    lowest = np.where(outputs > clip[0], outputs << bits, -_LARGEST_LINE)
    highest = np.where(outputs < clip[1], ((outputs + 1) << bits) - 1, _LARGEST_LINE)

    def biases(slopes: Int64Array) -> tuple[Int64Array, Int64Array]:
        products = steps * slopes
        return (lowest - products).max(axis=0), (highest - products).min(axis=0)

    low, high = np.full(outputs.shape[1], -_STEEPEST), np.full(outputs.shape[1], _STEEPEST)
    while np.any(low < high):
        middle = (low + high) // 2
        (least, most), (next_least, next_most) = biases(middle), biases(middle + 1)
        steeper = next_most - next_least > most - least
        low, high = np.where(steeper & (low < high), middle + 1, low), np.where(steeper, high, middle)
    least, most = biases(low)
    if np.any(least > most):
        return None
    return np.stack([low, (least + most) // 2 - a[0] * low])


def _multipliers(slopes: tuple[float, float], shift: int) -> tuple[int, int]:
    return round(slopes[0] * (1 << shift)), round(slopes[1] * (1 << shift))


def _biases(
    outputs: Int64Array,
    sums: Int64Array,
    shift: int,
    clip: tuple[int, int],
    axis: int | None = None,
    begin: Int64Array | int = 0,
    end: Int64Array | int = 0,
) -> tuple[Int64Array, Int64Array]:
    """Lower and upper bound of B: over all pairs, or, with an `axis`, over the pairs along it.

    If the lower bound is above the upper one, no B suits all of these pairs. Each output begins and ends as many sums
    later as `begin` and `end` say.
    """
    room = (outputs << shift) - sums
    least = np.max(room + begin, axis=axis, where=outputs > clip[0], initial=-_UNBOUNDED)
    most = np.min(room + end, axis=axis, where=outputs < clip[1], initial=_UNBOUNDED)
    return least, most + (1 << shift) - 1
