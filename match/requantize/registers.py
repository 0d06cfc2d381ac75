"""Whether a requantization's integers fit the registers of a form."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from match.ir.requantization import OUTPUT_SHIFT, UNREACHED, WORD, Int64Array, Products, Requantization, Requantizer

SHIFT_BITS = 5
"""Lowest bits of B that are a shift, where products are taken by their upper halves or multipliers are split."""

LARGEST_SUM = 1 << 30
"""What words are below then, in magnitude, with accumulators and addends."""


def executes(requantization: Requantization, low: Int64Array, high: Int64Array, requantizer: Requantizer) -> bool:
    """Whether the form takes the parameters as they are, for accumulators from `low` to `high`; clips aside."""
    if requantization.negative_below is not None and not requantizer.negative_step:
        return False
    if requantization.exceptions is not None and not requantizer.exceptions:
        return False
    if requantizer.products is Products.UPPER:
        return requantization.ties_to_even is None and _fits_words(requantization, low, high)
    if requantizer.products is Products.ROWS:
        return False
    if requantizer.products is Products.SPLIT:
        return bool(np.all(fits_split(requantization, low, high)))
    if requantization.ties_to_even is not None:
        return False
    if not requantizer.per_channel_shift and len(np.unique(requantization.shift)) > 1:
        return False
    if requantization.negative_below is not None and common_step(requantization) is None:
        return False
    return bool(np.all(in_range(requantization, low, high, requantizer)))


def common_step(requantization: Requantization) -> int | None:
    """What is taken off negative accumulators if that is the same for all channels that reach some, else None.

    0 if none reaches any.
    """
    below, step = requantization.negative_below, requantization.negative_step
    if below is None or step is None:
        return None
    steps = np.unique(step[below != UNREACHED])
    return int(steps.max(initial=0)) if len(steps) <= 1 else None


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
        step = 0 if requantization.negative_step is None else requantization.negative_step
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

    M is an unsigned word, b, B and all sums signed ones; B ends in s.
    """
    if line.addend is None:
        return False
    word, shift = line.word, line.shift - WORD
    fits = line.bias == line.addend * line.multiplier + (word << WORD)
    fits &= (line.multiplier >= 0) & (line.multiplier < 1 << WORD)
    fits &= word & ((1 << SHIFT_BITS) - 1) == shift
    for reached in (low, high):
        fits &= np.abs(reached) + np.abs(line.addend) < LARGEST_SUM
        fits &= np.abs(((reached + line.addend) * line.multiplier >> WORD) + word) < LARGEST_SUM
    return bool(np.all(fits & (np.abs(word) < LARGEST_SUM)))


def fits_split(line: Requantization, low: Int64Array, high: Int64Array) -> npt.NDArray[np.bool_]:
    """Whether each channel can be computed by the halves of its multiplier, for accumulators from `low` to `high`.

    Clipped accumulators, halves and products are unsigned words, and the clip hides no output.
    """
    if line.addend is None or line.largest is None:
        return np.zeros(line.channels, np.bool_)
    shift, largest = line.shift - OUTPUT_SHIFT, line.largest
    bias = line.bias - line.addend * line.multiplier
    lower = line.multiplier & ((1 << shift) - 1)
    below, step = correction(line)
    corrected = below + line.addend
    fits = (shift >= 0) & (shift < WORD) & (bias & ((1 << SHIFT_BITS) - 1) == shift)
    fits &= (bias >= np.where(corrected > 0, step, 0)) & (bias < 1 << line.shift)
    fits &= (step & ((1 << shift) - 1) == 0) & (step >> shift < 1 << WORD)
    fits &= (largest > 0) & (largest < LARGEST_SUM) & (lower * largest + bias < 1 << WORD)
    most = largest * line.multiplier + bias - np.where(largest < corrected, step, 0)
    fits &= most >> line.shift == line(np.maximum(high, largest - line.addend))
    if line.ties_to_even is not None:
        fits = np.where(line.ties_to_even, _fits_ties(line, high), fits)
    constant = (line.multiplier == 0) & (line.addend == LARGEST_SUM) & (largest == 1)
    inside = np.maximum(np.abs(low), np.abs(high)) < LARGEST_SUM
    return (fits & (np.abs(line.addend) < LARGEST_SUM) | constant) & inside


def _fits_ties(line: Requantization, high: Int64Array) -> npt.NDArray[np.bool_]:
    """Whether channels whose halves go to even outputs can be computed by a lower half that wraps.

    The accumulator that is clipped is ``a = acc + B - 1``. The lower half adds from 1 to 2 to it where the output of
    a + 1 is even, and from 0 to 1 where it is odd. So the output is that of a + 1, and one less where a + 1 is an odd
    multiple of ``2**S`` (docs/cost-models.md).
    """
    if line.addend is None or line.largest is None:
        return np.zeros(line.channels, np.bool_)
    fits = (line.multiplier == 1) & (line.shift >= 1) & (line.shift <= OUTPUT_SHIFT)
    fits &= (line.addend == line.bias - 1) & (line.largest > 0) & (line.largest < LARGEST_SUM)
    fits &= line.largest < (np.int64(1) << line.shift + WORD - OUTPUT_SHIFT) - 1
    return fits & (line(line.largest - line.addend) == line(np.maximum(high, line.largest - line.addend)))


def correction(line: Requantization) -> tuple[Int64Array, Int64Array]:
    """Where a line's correction of negative accumulators begins, and what it takes off; nothing below `UNREACHED`."""
    if line.negative_below is None or line.negative_step is None:
        return np.full_like(line.bias, UNREACHED), np.zeros_like(line.bias)
    return line.negative_below, np.where(line.negative_below == UNREACHED, 0, line.negative_step)
