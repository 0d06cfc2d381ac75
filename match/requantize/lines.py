"""Lines ``(acc * M + B) >> S`` near a layer's own, in the registers of a form."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.ir.requantization import Int64Array, Requantization, Requantizer
from match.requantize.registers import executes, in_range, multiplier_range
from match.requantize.steps import BoolArray, Steps, candidate_biases, count_misses

_MULTIPLIER_NEIGHBOURS = (0, 1, -1)
_SHIFT_ATTEMPTS = 3
_MOST_SUM_BITS = 62


def uncorrected(requantization: Requantization, steps: Steps) -> Requantization:
    """The layer's own multipliers and shifts, with the biases that best do without corrections and exceptions."""
    line = replace(
        requantization,
        clip=steps.clip,
        negative_below=None,
        negative_step=None,
        exceptions=None,
        ties_to_even=None,
    )
    least, most = steps.bias_window(line.multiplier, line.shift)
    candidates = [line.bias, np.where(least <= most, np.clip(line.bias, least, np.maximum(least, most)), line.bias)]
    if requantization.negative_step is not None:
        candidates.append(line.bias - requantization.negative_step)
    misses = np.stack([count_misses(replace(line, bias=bias), steps) for bias in candidates])
    return replace(line, bias=np.stack(candidates)[misses.argmin(axis=0), np.arange(line.channels)])


def same_slope(requantization: Requantization, steps: Steps, requantizer: Requantizer) -> Requantization | None:
    """The line that is `uncorrected`; None if the form has no room for it."""
    fitted = uncorrected(requantization, steps)
    return fitted if executes(fitted, steps.low, steps.high, requantizer) else None


def narrow(requantization: Requantization, steps: Steps, requantizer: Requantizer) -> Requantization | None:
    """Multipliers, biases and shifts chosen anew; None if there are none.

    Of a register for sums 62 bits are used, so that all that is compared with sums fits int64.
    """
    requantizer = replace(requantizer, sum_bits=min(requantizer.sum_bits, _MOST_SUM_BITS))
    slope = requantization.multiplier / np.exp2(requantization.shift)
    slope = np.where(steps.interior.any(axis=1), slope, 0.0)
    offset = requantization.bias / np.exp2(requantization.shift)
    shift = _largest_shift(slope, offset, steps, requantizer)
    channels = requantization.channels
    fitted = Requantization(
        np.zeros(channels, np.int64), np.zeros(channels, np.int64), np.zeros(channels, np.int64), steps.clip
    )
    missing = np.arange(channels)
    for _ in range(_SHIFT_ATTEMPTS):
        if not requantizer.per_channel_shift:
            shift = np.full(channels, shift.min())
        if np.any(shift < requantizer.shift[0]):
            return None
        multiplier, bias, found = _line(slope[missing], shift[missing], steps.take(missing), requantizer)
        done = missing[found]
        fitted.multiplier[done], fitted.bias[done] = multiplier[found], bias[found]
        fitted.shift[done] = shift[done]
        if found.all():
            return fitted
        missing = missing[~found] if requantizer.per_channel_shift else missing
        shift[missing] -= 1
    return None


def _largest_shift(
    slope: npt.NDArray[np.float64], offset: npt.NDArray[np.float64], steps: Steps, requantizer: Requantizer
) -> Int64Array:
    """Largest shift of each channel at which multiplier, bias and sum fit, one output step to spare."""
    reach = np.maximum(np.abs(steps.low * slope + offset), np.abs(steps.high * slope + offset)) + 1
    constant = np.maximum(np.abs(steps.clip[0]), np.abs(steps.clip[1])) + 1
    reach = np.where(slope > 0, reach, constant)
    by_sum = requantizer.sum_bits - 1 - np.log2(reach)
    by_bias = requantizer.bias_bits - 1 - np.log2(np.where(slope > 0, np.abs(offset) + 1, constant))
    by_multiplier = np.log2(multiplier_range(requantizer)[1] / np.where(slope > 0, slope, 1.0))
    largest = np.floor(np.minimum(np.minimum(by_sum, by_bias), by_multiplier)).astype(np.int64)
    return np.minimum(largest, requantizer.shift[1])


def _line(
    slope: npt.NDArray[np.float64], shift: Int64Array, steps: Steps, requantizer: Requantizer
) -> tuple[Int64Array, Int64Array, BoolArray]:
    """Multiplier and bias of each channel that miss the fewest accumulators at this shift, and whether any fit."""
    channels = len(slope)
    best_multiplier, best_bias = np.zeros(channels, np.int64), np.zeros(channels, np.int64)
    best_misses = np.full(channels, np.iinfo(np.int64).max)
    centre = np.rint(slope * np.exp2(shift)).astype(np.int64)
    for neighbour in _MULTIPLIER_NEIGHBOURS:
        searched = np.flatnonzero((best_misses > 0) & ((slope > 0) | (neighbour == 0)))
        if not len(searched):
            break
        part, shifts = steps.take(searched), shift[searched]
        multiplier = np.maximum(0, centre[searched] + neighbour)
        for bias in candidate_biases(multiplier, shifts, part):
            line = Requantization(multiplier, bias, shifts, steps.clip)
            misses = np.where(
                in_range(line, part.low, part.high, requantizer), count_misses(line, part), np.iinfo(np.int64).max
            )
            better = misses < best_misses[searched]
            chosen = searched[better]
            best_misses[chosen] = misses[better]
            best_multiplier[chosen], best_bias[chosen] = multiplier[better], bias[better]
    return best_multiplier, best_bias, best_misses < np.iinfo(np.int64).max
