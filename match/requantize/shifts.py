"""Shifts alone, for forms without a multiplier."""

from __future__ import annotations

import numpy as np

from match.ir.requantization import Int64Array, Requantization, Requantizer
from match.requantize.registers import bias_range, in_range
from match.requantize.steps import Steps, candidate_biases, count_misses

_IMPOSSIBLE = 1 << 50
"""In the place of a number of misses: the parameters do not fit the form's registers."""


def shifted(requantization: Requantization, steps: Steps, requantizer: Requantizer) -> Requantization | None:
    """Shifts and biases for a form without a multiplier; None if none fit its registers.

    A factor between two powers of two is tried at both. With one shift for all channels these are the powers beside the
    median factor, and of the two shifts the one that misses the fewest accumulators altogether is taken.
    """
    varies = steps.interior.any(axis=1)
    exponents = requantization.shift - np.log2(np.maximum(requantization.multiplier, 1))
    median = float(np.median(exponents[varies])) if varies.any() else 0.0
    exponents = np.where(varies & requantizer.per_channel_shift, exponents, median)
    shifts = [np.clip(end, *requantizer.shift).astype(np.int64) for end in (np.floor(exponents), np.ceil(exponents))]
    attempts = [_best_biases(shift, steps, requantizer) for shift in shifts]
    missed = np.stack([number for _, number in attempts])
    if requantizer.per_channel_shift:
        chosen = missed.argmin(axis=0)
    else:
        chosen = np.full(requantization.channels, missed.sum(axis=1).argmin())
    channels = np.arange(requantization.channels)
    if np.any(missed[chosen, channels] == _IMPOSSIBLE):
        return None
    bias = np.stack([bias for bias, _ in attempts])[chosen, channels]
    shift = np.stack(shifts)[chosen, channels]
    return Requantization(np.ones_like(bias), bias, shift, steps.clip)


def _best_biases(shift: Int64Array, steps: Steps, requantizer: Requantizer) -> tuple[Int64Array, Int64Array]:
    """Bias of each channel that misses the fewest accumulators at M = 1, and how many; _IMPOSSIBLE if none fits."""
    multiplier = np.ones_like(shift)
    varies = steps.interior.any(axis=1)
    constant = _constant_biases(shift, steps)
    lines = candidate_biases(multiplier, shift, steps)
    attempts = [np.where(varies, line, constant[0]) for line in lines]
    attempts += [np.where(varies, lines[0], bias) for bias in constant]
    best, fewest = np.zeros_like(shift), np.full_like(shift, _IMPOSSIBLE)
    for bias in attempts:
        line = Requantization(multiplier, np.clip(bias, *bias_range(requantizer)), shift, steps.clip)
        fits = in_range(line, steps.low, steps.high, requantizer)
        missed = np.where(fits, count_misses(line, steps), _IMPOSSIBLE)
        best = np.where(missed < fewest, line.bias, best)
        fewest = np.minimum(fewest, missed)
    return best, fewest


def _constant_biases(shift: Int64Array, steps: Steps) -> tuple[Int64Array, ...]:
    """Biases at M = 1 for channels whose output is constant: all accumulators at an end of the clip, or none below it.

    A multiplier of 0, which would do it, does not exist here.
    """
    lowest = (np.int64(steps.clip[0]) << shift) - steps.high
    highest = (np.int64(steps.clip[1]) << shift) - steps.low
    return lowest, highest, (steps.lowest << shift) - steps.low
