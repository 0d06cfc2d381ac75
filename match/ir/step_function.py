"""A requantization as what it is: per channel, a monotone step function from the accumulator to 8 bits.

Two requantizations are the same function over the accumulators a layer can reach if, and only if, they step at the same
accumulators. Everything that is called exact, constant or off by one in this package is decided here, on the steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from match.ir.requantization import UNREACHED, Int64Array, Requantization

_INT64_SAFE_SHIFT = 52
_INT64_SAFE_BIAS = 1 << 62


@dataclass(frozen=True, eq=False)
class StepFunction:
    """Per channel, where the output steps from one level to the next over the reachable accumulators.

    low, high: int64 arrays (channels,), the smallest and largest accumulator that is reachable, inclusive.
    clip: the closed range of output values; its lower end is the level below the first step.
    thresholds: int64 array (channels, clip[1] - clip[0]). Entry j is the smallest reachable accumulator whose output is
        at least ``clip[0] + 1 + j``, or ``high + 1`` where none is.
    decreasing: bool array (channels,). Where it is set the output falls with the accumulator, and the channel's low,
        high and thresholds are those of the negated accumulator.
    """

    low: Int64Array
    high: Int64Array
    clip: tuple[int, int]
    thresholds: Int64Array
    decreasing: npt.NDArray[np.bool_]

    @property
    def channels(self) -> int:
        """Number of output channels."""
        return len(self.low)

    @cached_property
    def minimum(self) -> Int64Array:
        """Smallest output of each channel."""
        return self.clip[0] + np.count_nonzero(self.thresholds <= self.low[:, None], axis=1)

    @cached_property
    def maximum(self) -> Int64Array:
        """Largest output of each channel."""
        return self.clip[0] + np.count_nonzero(self.thresholds <= self.high[:, None], axis=1)

    @cached_property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Whether a channel has one output for every reachable accumulator."""
        return self.minimum == self.maximum

    def take(self, channels: npt.NDArray[np.intp]) -> StepFunction:
        """The step functions of some channels."""
        return StepFunction(
            self.low[channels],
            self.high[channels],
            self.clip,
            self.thresholds[channels],
            self.decreasing[channels],
        )

    def equal(self, other: StepFunction) -> npt.NDArray[np.bool_]:
        """Per channel, whether both give the same output for every reachable accumulator.

        Raises:
            ValueError: if the two are not about the same accumulators.
        """
        if not np.array_equal(self._reachable, other._reachable):
            raise ValueError("step functions over different accumulators cannot be compared")
        clip = (min(self.clip[0], other.clip[0]), max(self.clip[1], other.clip[1]))
        same_steps = (self.padded(clip) == other.padded(clip)).all(axis=1) & (self.decreasing == other.decreasing)
        return same_steps | (self.constant & other.constant & (self.minimum == other.minimum))

    def __call__(self, accumulator: npt.NDArray[np.integer]) -> Int64Array:
        """Outputs for reachable accumulators of shape (..., channels)."""
        signed = np.where(self.decreasing, -accumulator.astype(np.int64), accumulator.astype(np.int64))
        outputs = np.empty(signed.shape, np.int64)
        for channel in range(self.channels):
            steps = np.searchsorted(self.thresholds[channel], signed[..., channel], side="right")
            outputs[..., channel] = self.clip[0] + steps
        return outputs

    @property
    def _reachable(self) -> Int64Array:
        """Shape (2, channels): low and high of the accumulator itself, whatever the direction."""
        return np.where(self.decreasing, [-self.high, -self.low], [self.low, self.high])

    def padded(self, clip: tuple[int, int]) -> Int64Array:
        """Thresholds of the levels of a wider range; levels outside `self.clip` are always or never reached."""
        below = np.repeat(self.low[:, None], self.clip[0] - clip[0], axis=1)
        above = np.repeat(self.high[:, None] + 1, clip[1] - self.clip[1], axis=1)
        return np.concatenate([below, self.thresholds, above], axis=1)


def step_function(requantization: Requantization, low: npt.ArrayLike, high: npt.ArrayLike) -> StepFunction:
    """The steps of a requantization over accumulators `low` to `high`, inclusive, per channel.

    Computed exactly from ``acc * M + B >= level << S``, without trying accumulators. A negative multiplier makes a
    decreasing function. A channel with multiplier 0 steps at most at its `negative_below`.

    Raises:
        ValueError: where the function is not monotone: `negative_below` is reachable and multiplier or step is
            negative, or an exception is not at a step.
    """
    channels = requantization.channels
    low64 = np.broadcast_to(np.asarray(low, np.int64), channels)
    high64 = np.broadcast_to(np.asarray(high, np.int64), channels)
    decreasing = requantization.multiplier < 0
    first = np.where(decreasing, -high64, low64)
    last = np.where(decreasing, -low64, high64)

    upper = _crossings(requantization, requantization.bias, first, last)
    thresholds = upper
    border, step = requantization.negative_below, requantization.negative_step
    if border is not None and step is not None:
        crossed = (border > low64) & (border <= high64)
        all_below = border > high64
        if np.any(crossed & (decreasing | (step < 0))):
            raise ValueError("a requantization with this sign correction is not monotone")
        lower = _crossings(requantization, requantization.bias - step, first, last)
        joined = np.where(lower < border[:, None], lower, np.maximum(upper, border[:, None]))
        thresholds = np.where(all_below[:, None], lower, np.where(crossed[:, None], joined, upper))
    if requantization.exceptions is not None:
        reachable = (requantization.exceptions >= low64[:, None]) & (requantization.exceptions <= high64[:, None])
        thresholds = _delayed(thresholds, requantization, np.where(reachable, requantization.exceptions, UNREACHED))
    return StepFunction(first, last, requantization.clip, thresholds, decreasing)


def _delayed(thresholds: Int64Array, requantization: Requantization, exceptions: Int64Array) -> Int64Array:
    """Thresholds with the step to the level that is reached at an exception moved after it."""
    low, high = requantization.clip
    delayed = thresholds.copy()
    for channel, accumulator in sorted(
        {(int(k), int(exceptions[k, n])) for k, n in np.argwhere(exceptions > UNREACHED)}
    ):
        multiplier, bias, shift = (
            int(part[channel]) for part in (requantization.multiplier, requantization.bias, requantization.shift)
        )
        below, step = requantization.negative_below, requantization.negative_step
        if below is not None and step is not None and accumulator < below[channel]:
            bias -= int(step[channel])
        level = (accumulator * multiplier + bias) >> shift
        if low < level <= high:
            if delayed[channel, level - low - 1] != accumulator or multiplier < 0:
                raise ValueError(f"the exception {accumulator} of channel {channel} is not at a step")
            delayed[channel, level - low - 1] += 1
    return delayed


def reachable_sums(weights: npt.NDArray[np.integer], input_range: tuple[int, int]) -> tuple[Int64Array, Int64Array]:
    """Smallest and largest ``sum(w * x)`` per channel, for weights (K, ...) and any x in a closed range of integers."""
    flat = weights.astype(np.int64).reshape(len(weights), -1)
    positive = np.maximum(flat, 0).sum(axis=1)
    negative = np.minimum(flat, 0).sum(axis=1)
    smallest, largest = input_range
    return positive * smallest + negative * largest, positive * largest + negative * smallest


def _crossings(requantization: Requantization, bias: Int64Array, low: Int64Array, high: Int64Array) -> Int64Array:
    """Thresholds of ``(acc * |M| + bias) >> S`` (of the negated accumulator where M < 0) for one bias per channel."""
    shift = requantization.shift
    # Levels shifted left leave int64 where shifts are large; Python's integers then take the place of NumPy's.
    wide = bool(np.any(shift > _INT64_SAFE_SHIFT) or np.any(np.abs(bias) >= _INT64_SAFE_BIAS))
    dtype: Any = object if wide else np.int64
    levels = np.arange(requantization.clip[0] + 1, requantization.clip[1] + 1).astype(dtype)
    slope = np.abs(requantization.multiplier).astype(dtype)
    # In place: arrays of a thousand channels by 255 levels take longer to allocate than to compute.
    crossing = levels[None, :] * -(2 ** shift.astype(dtype))[:, None]
    crossing += bias.astype(dtype)[:, None]
    if requantization.ties_to_even is not None:  # halves belong to the level below an odd one
        crossing[requantization.ties_to_even] -= levels % 2
    level = slope == 0
    reached = crossing[level] >= 0
    crossing //= np.where(level, 1, slope)[:, None]
    np.negative(crossing, out=crossing)
    if level.any():
        crossing[level] = np.where(reached, low[level, None], high[level, None] + 1)
    np.maximum(crossing, low[:, None], out=crossing)
    np.minimum(crossing, high[:, None] + 1, out=crossing)
    return crossing.astype(np.int64, copy=False)
