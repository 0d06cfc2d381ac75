"""Lines of products whose second input has one pixel, or one channel, for many outputs.

With the bytes x and b of both inputs, and their zero points z and w, an output is ``((x - z) * p + B) >> S``, where the
slope ``p = ((b - w) * M + 2**15) >> 16`` is the same for all outputs that read this b. Sums fit words of 32 bits, as x
has 8 bits; an accumulator of 17 bits must be multiplied by halves of M, which takes three instructions more. As slopes
are rounded, an output is no function of the accumulator (x - z)·(b - w), and it is compared with the layer's for all
pairs of bytes. For an M near the layer's factor each pair asks that B is in an interval, and any B that is in all of
them makes the layer exact.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from match.ir.constants import ZeroPoints
from match.ir.exception_lists import visible
from match.ir.requantization import (
    ROW_SHIFT,
    WORD,
    BoolArray,
    Int64Array,
    Requantization,
    RequantizationFit,
    Requantizer,
)
from match.requantize.fit import compare
from match.requantize.steps import Steps

_MULTIPLIERS = 33
"""How many are tried, nearest first."""

_APART = 1 << 23
"""Their distance is this fraction of the layer's own: an eighth of what a rounded slope of 24 bits is off, and more."""

_BYTES = np.arange(256, dtype=np.int64)


def rows(
    requantization: Requantization, zero_points: ZeroPoints, low: Int64Array, high: Int64Array, requantizer: Requantizer
) -> tuple[Requantization, RequantizationFit] | None:
    """The requantization of a product by a line for each byte of its second input; None if no such line is the layer's.

    Exceptions of the layer are left out, and then it is off by one step for these. The multiplier, bias and shift found
    are those of the line that slopes are rounded to.

    Args:
        requantization: the layer's arithmetic, one channel for all.
        zero_points: what is taken off the bytes of both inputs.
        low: the smallest reachable accumulator, shape (1,).
        high: the largest one, shape (1,).
        requantizer: the form.
    """
    requantization = visible(requantization, low, high)
    clip, plain = requantization.clip, replace(requantization, exceptions=None)
    if clip[0] != requantizer.lowest or requantization.channels > 1 or np.any(requantization.multiplier <= 0):
        return None
    x, b = (_BYTES - zero for zero in zero_points)
    outputs = plain(np.multiply.outer(b, x)[..., None])[..., 0]
    slope = float(plain.multiplier[0]) / 2.0 ** float(plain.shift[0])
    offset = float(plain.bias[0]) / 2.0 ** float(plain.shift[0])
    reach = max(abs(at * slope + offset) for at in np.multiply.outer(b[[0, -1]], x[[0, -1]]).flat) + 1
    steepest = slope * (1 + _MULTIPLIERS / _APART)
    by_sum, by_multiplier = WORD - 1 - np.log2(reach), WORD - 1 - ROW_SHIFT - np.log2(steepest)
    shift = int(np.floor(min(by_sum, by_multiplier, requantizer.shift[1])))
    if shift < requantizer.shift[0]:
        return None
    centre = round(slope * 2.0 ** (shift + ROW_SHIFT))
    for number in range(_MULTIPLIERS):
        away = (number + 1) // 2 * (1 if number % 2 else -1)
        multiplier = centre + away * max(1, centre // _APART)
        bias = _bias(x, row_slopes(b, multiplier), shift, outputs, clip)
        if bias is not None:
            line = Requantization(
                np.array([multiplier], np.int64),
                np.array([bias << ROW_SHIFT], np.int64),
                np.array([shift + ROW_SHIFT], np.int64),
                clip,
            )
            exact = requantization.exceptions is None
            steps = None if exact else Steps.of(requantization, low, high, clip)
            verdict = RequantizationFit(True) if steps is None else compare(steps, clip, plain)
            return line, verdict
    return None


def row_slopes(factors: Int64Array, multiplier: int) -> Int64Array:
    """The slopes of lines for these factors of a second input."""
    return (factors * multiplier + (1 << ROW_SHIFT - 1)) >> ROW_SHIFT


def _bias(x: Int64Array, slopes: Int64Array, shift: int, outputs: Int64Array, clip: tuple[int, int]) -> int | None:
    """The B with which lines of these slopes have the outputs (second input, first input); None if there is none."""
    products = np.multiply.outer(slopes, x)
    inside: tuple[BoolArray, BoolArray] = outputs > clip[0], outputs < clip[1]
    limit = 1 << WORD - 1
    least = max([-limit - products.min(), *((outputs << shift) - products)[inside[0]]])
    most = min([limit - 1 - products.max(), *((outputs + 1 << shift) - products)[inside[1]] - 1])
    return int(least + most) // 2 if least <= most else None
