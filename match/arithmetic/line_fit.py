"""Finds the ``clip((acc * M + B) >> S)`` that is a given step function.

A channel steps to level v at accumulator t[v] if ``M * t[v] + B >= v << S`` and ``M * (t[v] - 1) + B < v << S``: every
step narrows the range of B for a slope. Where the obvious slope leaves no B, the slope with the widest range is found
by ternary search, since the width is concave in it. Where no line does, and the slope is a power of two, halves may go
to even outputs. Elsewhere the line that is never too low is taken and the accumulators where it is too high become
exceptions. The result is compared with the step function, in integers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.ir.requantization import UNREACHED, Int64Array, Requantization
from match.ir.step_function import StepFunction, step_function

MULTIPLIER_BITS = 31
_LARGEST_SHIFT = 52
_LARGEST_BIAS = 1 << 61
_SEARCH_STEPS = 48
_MOST_EXCEPTIONS = 320
"""The most exceptions of a channel. Sums up to 2^25 that float32 rounds have about 280; TVM takes a minute for 500."""

BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]


class NoLineError(Exception):
    """Steps are more than one level off any line near them, or off it at more accumulators than are worth listing."""


def fit_line(steps: StepFunction, slope: FloatArray) -> Requantization:
    """The parameters whose steps are those of an increasing `steps`.

    `slope` is about how many levels one accumulator is worth, positive, shape (channels,). Constant channels get
    multiplier and shift 0.

    Raises:
        NoLineError: the steps are not near a line.
    """
    inner = (steps.thresholds > steps.low[:, None]) & (steps.thresholds <= steps.high[:, None])
    levels = np.arange(steps.clip[0] + 1, steps.clip[1] + 1, dtype=np.int64)
    shift = _shift(slope, steps)
    multiplier, least, most = _window(slope, shift, steps.thresholds, levels, inner)
    missing = np.flatnonzero((least > most) & ~steps.constant)
    if len(missing):
        best = _best_slope(slope[missing], steps.thresholds[missing], levels, inner[missing])
        retry = _window(best, shift[missing], steps.thresholds[missing], levels, inner[missing])
        found = retry[1] <= retry[2]
        for whole, part in zip((multiplier, least, most), retry, strict=True):
            whole[missing[found]] = part[found]
    constant = steps.constant
    line = Requantization(
        np.where(constant, 0, multiplier),
        np.where(constant, steps.minimum, np.where(least <= most, least + (most - least) // 2, least)),
        np.where(constant, 0, shift),
        steps.clip,
    )
    line = _with_ties(line, slope, steps, levels, inner, (least > most) & ~constant)
    line = _with_exceptions(line, steps)
    if not step_function(line, steps.low, steps.high).equal(steps).all():
        raise NoLineError
    return line


def with_channels(base: Requantization, channels: npt.NDArray[np.intp], other: Requantization) -> Requantization:
    """`base` with some channels replaced by those of `other`, which has neither sign correction nor exceptions."""
    multiplier, bias, shift = (np.array(part) for part in (base.multiplier, base.bias, base.shift))
    multiplier[channels], bias[channels], shift[channels] = other.multiplier, other.bias, other.shift
    below = base.negative_below
    if below is not None:
        below = np.array(below)
        below[channels] = UNREACHED
    return replace(base, multiplier=multiplier, bias=bias, shift=shift, negative_below=below)


def _shift(slope: FloatArray, steps: StepFunction) -> Int64Array:
    """The largest shift that keeps the multiplier within its bits and the sum within 63."""
    by_multiplier = MULTIPLIER_BITS - 1 - np.floor(np.log2(slope))
    offset = np.abs(slope * np.maximum(np.abs(steps.low), np.abs(steps.high))) + max(map(abs, steps.clip)) + 1
    by_bias = np.floor(np.log2(_LARGEST_BIAS / offset))
    return np.clip(np.minimum(by_multiplier, by_bias), 0, _LARGEST_SHIFT).astype(np.int64)


def _window(
    slope: FloatArray, shift: Int64Array, thresholds: Int64Array, levels: Int64Array, inner: BoolArray
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """The multiplier nearest to the slope, and the smallest and largest B with which every step is right."""
    multiplier = np.rint(slope * np.exp2(shift)).astype(np.int64)
    reach = (levels << shift[:, None]) - thresholds * multiplier[:, None]
    limits = np.iinfo(np.int64)
    least = np.where(inner, reach, limits.min).max(axis=1, initial=limits.min)
    most = np.where(inner, reach + multiplier[:, None] - 1, limits.max).min(axis=1, initial=limits.max)
    return multiplier, least, most


def _best_slope(slope: FloatArray, thresholds: Int64Array, levels: Int64Array, inner: BoolArray) -> FloatArray:
    """The slope near `slope` that leaves the most room for the bias."""
    centred = thresholds - np.where(inner, thresholds, 0).sum(axis=1, keepdims=True) // inner.sum(axis=1, keepdims=True)

    lower, upper = np.where(inner, levels, -np.inf), np.where(inner, levels, np.inf)

    def room(candidate: FloatArray) -> FloatArray:
        rise = candidate[:, None] * centred
        least, most = (lower - rise).max(axis=1), (upper - rise).min(axis=1) + candidate
        return most - least

    # Beyond one accumulator over the whole range of levels no step can be right any more.
    spread = np.where(inner, np.abs(centred), 1).max(axis=1)
    low: FloatArray = slope * (1 - 1 / spread)
    high: FloatArray = slope * (1 + 1 / spread)
    for _ in range(_SEARCH_STEPS):
        first: FloatArray = low + (high - low) / 3
        second: FloatArray = high - (high - low) / 3
        rising = room(first) < room(second)
        low, high = np.where(rising, first, low), np.where(rising, high, second)
    return (low + high) / 2


def _with_ties(
    line: Requantization, slope: FloatArray, steps: StepFunction, levels: Int64Array, inner: BoolArray, tried: BoolArray
) -> Requantization:
    """The line with those of the channels to try whose halves go to even outputs marked so."""
    mantissa, exponent = np.frexp(slope)
    shift = 1 - exponent.astype(np.int64)
    tried = tried & (mantissa == 0.5) & (shift > 0)
    if not tried.any():
        return line
    begin = (levels << np.where(tried, shift, 0)[:, None]) + levels % 2 - steps.thresholds
    limits = np.iinfo(np.int64)
    least = np.where(inner, begin, limits.min).max(axis=1, initial=limits.min)
    most = np.where(inner, begin, limits.max).min(axis=1, initial=limits.max)
    marked = tried & (least <= most)
    return replace(
        line,
        multiplier=np.where(marked, 1, line.multiplier),
        bias=np.where(marked, least, line.bias),
        shift=np.where(marked, shift, line.shift),
        ties_to_even=marked if marked.any() else None,
    )


def _with_exceptions(line: Requantization, steps: StepFunction) -> Requantization:
    """The line with every accumulator at which it is a level too high as an exception."""
    early = step_function(line, steps.low, steps.high).thresholds
    channels = np.flatnonzero((early < steps.thresholds).any(axis=1))
    if not len(channels):
        return line
    if np.any((steps.thresholds - early).sum(axis=1) > _MOST_EXCEPTIONS):
        raise NoLineError
    found: dict[int, list[int]] = {}
    for channel in channels:
        spans = zip(early[channel], steps.thresholds[channel], strict=True)
        found[int(channel)] = [acc for first, last in spans for acc in range(int(first), int(last))]
    exceptions = np.full((line.channels, max(map(len, found.values()))), UNREACHED, np.int64)
    for channel, accumulators in found.items():
        exceptions[channel, : len(accumulators)] = accumulators
    return replace(line, exceptions=exceptions)
