"""Fits a layer's requantization into the form that a module's hardware executes, and proves how close it comes.

A wide form takes the layer's integers as they are, but for corrections that it has no room for. A narrow one (a few
bits of multiplier, a sum that must fit a short register) gets the largest shift its sum has room for and, per channel,
the line ``(acc * M + B) / 2**S`` that steps where the layer steps. For a fixed M and S, output v begins exactly at
accumulator T[v] while B is in ``[v * 2**S - T[v] * M, v * 2**S - (T[v] - 1) * M)``: the best B is sought among the left
ends of these intervals, and one that lies in all of them makes the channel exact. What comes out is compared with the
layer on the thresholds of both step functions over all reachable accumulators, so that "exact" is a proof.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from match.plan import RequantizationFit
from match.requantize import Int64Array, Requantization, Requantizer
from match.step_function import step_function

BoolArray = npt.NDArray[np.bool_]

_MULTIPLIER_NEIGHBOURS = (0, 1, -1)
_BIAS_QUANTILES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 1.0)
_SHIFT_ATTEMPTS = 3


def fit(
    requantization: Requantization, low: Int64Array, high: Int64Array, requantizer: Requantizer
) -> tuple[Requantization, RequantizationFit] | None:
    """The requantization closest to the layer's own that `requantizer` can execute.

    Args:
        requantization: the layer's arithmetic.
        low: smallest reachable accumulator of each channel, shape (channels,).
        high: largest reachable accumulator of each channel, shape (channels,).
        requantizer: the form to fit into.

    Returns:
        The parameters in that form and how they compare over all accumulators from `low` to `high`, or None if the form
        cannot express them at all: no output range that holds the layer's, or a sum that overflows whatever the shift.
    """
    clip = _clip(requantization.clip, requantizer)
    if clip is None:
        return None
    if executes(requantization, low, high, requantizer) and clip == requantization.clip:
        return requantization, RequantizationFit(True)
    if np.any(requantization.multiplier < 0):
        return None
    steps = _Steps.of(requantization, low, high, clip)
    closest: tuple[Requantization, RequantizationFit] | None = None
    for fitter in (_same_slope, _narrow):
        fitted = fitter(requantization, steps, requantizer)
        if fitted is not None:
            verdict = compare(requantization, fitted, low, high)
            if verdict.exact:
                return fitted, verdict
            if closest is None or verdict.share < closest[1].share:
                closest = fitted, verdict
    return closest


def compare(layer: Requantization, fitted: Requantization, low: Int64Array, high: Int64Array) -> RequantizationFit:
    """How `fitted` differs from `layer` over the accumulators from `low` to `high`, by the thresholds of both.

    The output range of `fitted` must hold that of `layer`.
    """
    wanted = _Steps.of(layer, low, high, fitted.clip).thresholds
    got = step_function(fitted, low, high).thresholds
    distance = int(np.abs(wanted - got).sum())
    if distance == 0:
        return RequantizationFit(True)
    first = layer.clip[0] - fitted.clip[0]
    last = layer.clip[1] - fitted.clip[0] - 1
    between = int((wanted[:, last] - wanted[:, first]).sum())
    # The functions are m steps apart somewhere if one reaches a level before the other is within m of it.
    max_step, levels = 1, wanted.shape[1]
    while max_step < levels and bool(
        np.any(got[:, max_step:] < wanted[:, : levels - max_step])
        or np.any(wanted[:, max_step:] < got[:, : levels - max_step])
    ):
        max_step += 1
    return RequantizationFit(False, min(1.0, distance / max(1, between)), max_step)


def executes(requantization: Requantization, low: Int64Array, high: Int64Array, requantizer: Requantizer) -> bool:
    """Whether the form takes the parameters as they are, for accumulators from `low` to `high`; clips aside."""
    if requantization.negative_below is not None and not requantizer.negative_step:
        return False
    if requantization.exceptions is not None:
        return False
    if not requantizer.per_channel_shift and len(np.unique(requantization.shift)) > 1:
        return False
    return bool(np.all(_in_range(requantization, low, high, requantizer)))


def _clip(clip: tuple[int, int], requantizer: Requantizer) -> tuple[int, int] | None:
    """The tightest range of the form that holds `clip`."""
    if not requantizer.clips:
        return clip
    holding = [c for c in requantizer.clips if c[0] <= clip[0] and clip[1] <= c[1]]
    return min(holding, key=lambda c: c[1] - c[0], default=None)


def _in_range(requantization: Requantization, low: Int64Array, high: Int64Array, requantizer: Requantizer) -> BoolArray:
    """Whether multiplier, bias, shift and every reachable sum of each channel fit the form's registers."""
    least, most = _multiplier_range(requantizer)
    bias_limit = 1 << (requantizer.bias_bits - 1)
    multiplier, bias, shift = requantization.multiplier, requantization.bias, requantization.shift
    fits = (multiplier >= least) & (multiplier <= most)
    fits &= (bias >= -bias_limit) & (bias <= bias_limit - 1)
    fits &= (shift >= requantizer.shift[0]) & (shift <= requantizer.shift[1])
    if requantizer.sum_bits < 64:  # a Requantization's own sums fit 64 bits
        limit = np.int64(1) << (requantizer.sum_bits - 1)
        step = requantization.negative_step if requantization.negative_below is not None else 0
        ends = low * multiplier + bias, high * multiplier + bias
        fits &= (np.minimum(*ends) - step >= -limit) & (np.maximum(*ends) < limit)
    return fits


def _multiplier_range(requantizer: Requantizer) -> tuple[int, int]:
    if requantizer.signed_multiplier:
        limit = 1 << (requantizer.multiplier_bits - 1)
        return -limit, limit - 1
    return 0, (1 << requantizer.multiplier_bits) - 1


@dataclass(frozen=True)
class _Steps:
    """The step function to fit, per channel: `thresholds[k, i]` is where output ``clip[0] + 1 + i`` begins.

    Entries lie between `low` (reached everywhere) and `high` + 1 (never reached). Shapes: (channels, levels) and
    (channels,).
    """

    thresholds: Int64Array
    low: Int64Array
    high: Int64Array
    clip: tuple[int, int]

    @classmethod
    def of(cls, requantization: Requantization, low: Int64Array, high: Int64Array, clip: tuple[int, int]) -> _Steps:
        """The steps of a requantization seen through a wider output range."""
        own = step_function(requantization, low, high).thresholds
        below = np.repeat(low[:, None], requantization.clip[0] - clip[0], axis=1)
        above = np.repeat(high[:, None] + 1, clip[1] - requantization.clip[1], axis=1)
        return cls(np.concatenate([below, own, above], axis=1), low, high, clip)

    @property
    def levels(self) -> Int64Array:
        """The output values that begin at the thresholds, shape (levels,)."""
        return np.arange(self.clip[0] + 1, self.clip[1] + 1, dtype=np.int64)

    @property
    def interior(self) -> BoolArray:
        """The thresholds that some reachable accumulators are below and some are not."""
        return (self.thresholds > self.low[:, None]) & (self.thresholds <= self.high[:, None])

    def take(self, channels: npt.NDArray[np.intp]) -> _Steps:
        """The steps of some channels."""
        return _Steps(self.thresholds[channels], self.low[channels], self.high[channels], self.clip)

    def left_ends(self, multiplier: Int64Array, shift: Int64Array) -> Int64Array:
        """Smallest B that reaches each level at its threshold; meaningful where `interior`."""
        return (self.levels << shift[:, None]) - self.thresholds * multiplier[:, None]

    def bias_window(self, multiplier: Int64Array, shift: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Smallest and largest B with every interior threshold exact; empty where the first exceeds the second.

        A channel without interior thresholds is constant and gets a window of the one B that says so if M is 0.
        """
        interior = self.interior
        ends = self.left_ends(multiplier, shift)
        limit = np.iinfo(np.int64)
        least = np.where(interior, ends, limit.min).max(axis=1)
        most = np.where(interior, ends, limit.max - multiplier[:, None]).min(axis=1) + multiplier - 1
        constant: Int64Array = (self.clip[0] + np.count_nonzero(self.thresholds <= self.low[:, None], axis=1)) << shift
        varies = interior.any(axis=1)
        return np.where(varies, least, constant), np.where(varies, most, constant)


def _same_slope(requantization: Requantization, steps: _Steps, requantizer: Requantizer) -> Requantization | None:
    """The layer's own multipliers and shifts, with the biases that best do without corrections and exceptions.

    None if the form has no room for them.
    """
    line = replace(requantization, clip=steps.clip, negative_below=None, negative_step=0, exceptions=None)
    least, most = steps.bias_window(line.multiplier, line.shift)
    candidates = [line.bias, np.where(least <= most, np.clip(line.bias, least, np.maximum(least, most)), line.bias)]
    if requantization.negative_below is not None:
        candidates.append(line.bias - requantization.negative_step)
    misses = np.stack([_misses(replace(line, bias=bias), steps) for bias in candidates])
    bias = np.stack(candidates)[misses.argmin(axis=0), np.arange(line.channels)]
    fitted = replace(line, bias=bias)
    return fitted if executes(fitted, steps.low, steps.high, requantizer) else None


def _narrow(requantization: Requantization, steps: _Steps, requantizer: Requantizer) -> Requantization | None:
    """Multipliers, biases and shifts chosen anew for a form with a sum of at most 32 bits; None if there are none."""
    if requantizer.sum_bits > 32:
        return None
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
    slope: npt.NDArray[np.float64], offset: npt.NDArray[np.float64], steps: _Steps, requantizer: Requantizer
) -> Int64Array:
    """Largest shift of each channel at which multiplier, bias and sum fit, one output step to spare."""
    reach = np.maximum(np.abs(steps.low * slope + offset), np.abs(steps.high * slope + offset)) + 1
    constant = np.maximum(np.abs(steps.clip[0]), np.abs(steps.clip[1])) + 1
    reach = np.where(slope > 0, reach, constant)
    by_sum = requantizer.sum_bits - 1 - np.log2(reach)
    by_bias = requantizer.bias_bits - 1 - np.log2(np.where(slope > 0, np.abs(offset) + 1, constant))
    by_multiplier = np.log2(_multiplier_range(requantizer)[1] / np.where(slope > 0, slope, 1.0))
    largest = np.floor(np.minimum(np.minimum(by_sum, by_bias), by_multiplier)).astype(np.int64)
    return np.minimum(largest, requantizer.shift[1])


def _line(
    slope: npt.NDArray[np.float64], shift: Int64Array, steps: _Steps, requantizer: Requantizer
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
        for bias in _biases(multiplier, shifts, part):
            line = Requantization(multiplier, bias, shifts, steps.clip)
            misses = np.where(
                _in_range(line, part.low, part.high, requantizer), _misses(line, part), np.iinfo(np.int64).max
            )
            better = misses < best_misses[searched]
            chosen = searched[better]
            best_misses[chosen] = misses[better]
            best_multiplier[chosen], best_bias[chosen] = multiplier[better], bias[better]
    return best_multiplier, best_bias, best_misses < np.iinfo(np.int64).max


def _biases(multiplier: Int64Array, shift: Int64Array, steps: _Steps) -> list[Int64Array]:
    """Biases worth trying, shape (channels,) each: one from the exact window, else quantiles of the left ends."""
    least, most = steps.bias_window(multiplier, shift)
    if np.all(least <= most):
        return [least]
    ends = np.sort(np.where(steps.interior, steps.left_ends(multiplier, shift), np.iinfo(np.int64).max), axis=1)
    last = np.maximum(0, steps.interior.sum(axis=1) - 1)
    rows = np.arange(len(multiplier))
    quantiles = [ends[rows, np.rint(quantile * last).astype(np.intp)] for quantile in _BIAS_QUANTILES]
    return [np.where(least <= most, least, quantile) for quantile in quantiles]


def _misses(line: Requantization, steps: _Steps) -> Int64Array:
    """Accumulators at which the line's output differs from the steps', counted once per step, shape (channels,)."""
    got = step_function(line, steps.low, steps.high).thresholds
    return np.abs(got - steps.thresholds).sum(axis=1)
