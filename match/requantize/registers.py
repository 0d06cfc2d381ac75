"""Whether a requantization's integers fit the registers of a form."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from match.ir.requantization import WORD, Int64Array, Requantization, Requantizer

SHIFT_BITS = 5
"""Lowest bits of B that are s, where products are taken by their upper halves."""

LARGEST_SUM = 1 << 30
"""What words are below then, in magnitude, with accumulators and addends."""


def executes(requantization: Requantization, low: Int64Array, high: Int64Array, requantizer: Requantizer) -> bool:
    """Whether the form takes the parameters as they are, for accumulators from `low` to `high`; clips aside."""
    if requantization.negative_below is not None and not requantizer.negative_step:
        return False
    if requantization.most_exceptions > requantizer.exceptions:
        return False
    if requantizer.upper_half:
        return _fits_words(requantization, low, high)
    if not requantizer.per_channel_shift and len(np.unique(requantization.shift)) > 1:
        return False
    return bool(np.all(in_range(requantization, low, high, requantizer)))


def in_range(
    requantization: Requantization, low: Int64Array, high: Int64Array, requantizer: Requantizer
) -> npt.NDArray[np.bool_]:
    """Whether multiplier, bias, shift and every reachable sum of each channel fit the form's registers."""
    least, most = multiplier_range(requantizer)
    least_bias, most_bias = bias_range(requantizer)
    multiplier, bias, shift = requantization.multiplier, requantization.bias, requantization.shift
    fits = (multiplier >= least) & (multiplier <= most)
    fits &= (bias >= least_bias) & (bias <= most_bias)
    fits &= (shift >= requantizer.shift[0]) & (shift <= requantizer.shift[1])
    if requantizer.sum_bits < 64:  # a Requantization's own sums fit 64 bits
        limit = np.int64(1) << (requantizer.sum_bits - 1)
        step = requantization.negative_step if requantization.negative_below is not None else 0
        ends = low * multiplier + bias, high * multiplier + bias
        fits &= (np.minimum(*ends) - step >= -limit) & (np.maximum(*ends) < limit)
    return fits


def bias_range(requantizer: Requantizer) -> tuple[int, int]:
    """Smallest and largest B of a form."""
    limit = 1 << (requantizer.bias_bits - 1) if requantizer.bias_bits else 0
    return -limit, max(0, limit - 1)


def multiplier_range(requantizer: Requantizer) -> tuple[int, int]:
    """Smallest and largest M of a form."""
    if not requantizer.multiplier_bits:
        return 1, 1
    if requantizer.signed_multiplier:
        limit = 1 << (requantizer.multiplier_bits - 1)
        return -limit, limit - 1
    return 0, (1 << requantizer.multiplier_bits) - 1


def _fits_words(line: Requantization, low: Int64Array, high: Int64Array) -> bool:
    """Whether a line with addends can be computed by upper halves, for accumulators from `low` to `high`.

    M is an unsigned word, b, B and all sums signed ones; B ends in s; what is taken off negative accumulators is 1.
    """
    if line.addend is None:
        return False
    if line.negative_below is not None and line.negative_step != 1 << WORD:
        return False
    word, shift = line.word, line.shift - WORD
    fits = line.bias == line.addend * line.multiplier + (word << WORD)
    fits &= (line.multiplier >= 0) & (line.multiplier < 1 << WORD)
    fits &= word & ((1 << SHIFT_BITS) - 1) == shift
    for reached in (low, high):
        fits &= np.abs(reached) + np.abs(line.addend) < LARGEST_SUM
        fits &= np.abs(((reached + line.addend) * line.multiplier >> WORD) + word) < LARGEST_SUM
    return bool(np.all(fits & (np.abs(word) < LARGEST_SUM)))
