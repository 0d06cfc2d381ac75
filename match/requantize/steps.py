"""The step function to fit, as thresholds, and what they ask of a line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from match.ir.requantization import Int64Array, Requantization
from match.ir.step_function import step_function

BoolArray = npt.NDArray[np.bool_]

# Half of the left ends or more: a smaller B misses levels that are reached too late by more than the others gain.
_BIAS_QUANTILES = (0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class Steps:
    """The step function to fit, per channel: `thresholds[k, i]` is where output ``clip[0] + 1 + i`` begins.

    Entries lie between `low` (reached everywhere) and `high` + 1 (never reached). Shapes: (channels, levels) and
    (channels,).
    """

    thresholds: Int64Array
    low: Int64Array
    high: Int64Array
    clip: tuple[int, int]

    @classmethod
    def of(cls, requantization: Requantization, low: Int64Array, high: Int64Array, clip: tuple[int, int]) -> Steps:
        """The steps of a requantization seen through a wider output range."""
        return cls(step_function(requantization, low, high).padded(clip), low, high, clip)

    @property
    def levels(self) -> Int64Array:
        """The output values that begin at the thresholds, shape (levels,)."""
        return np.arange(self.clip[0] + 1, self.clip[1] + 1, dtype=np.int64)

    @cached_property
    def interior(self) -> BoolArray:
        """The thresholds that some reachable accumulators are below and some are not."""
        return (self.thresholds > self.low[:, None]) & (self.thresholds <= self.high[:, None])

    @cached_property
    def lowest(self) -> Int64Array:
        """Output of each channel at its smallest accumulator, shape (channels,)."""
        return self.clip[0] + np.count_nonzero(self.thresholds <= self.low[:, None], axis=1)

    def take(self, channels: npt.NDArray[np.intp]) -> Steps:
        """The steps of some channels."""
        return Steps(self.thresholds[channels], self.low[channels], self.high[channels], self.clip)

    def left_ends(self, multiplier: Int64Array, shift: Int64Array) -> Int64Array:
        """Smallest B that reaches each level at its threshold; meaningful where `interior`."""
        return (self.levels << shift[:, None]) - self.thresholds * multiplier[:, None]

    def bias_window(
        self, multiplier: Int64Array, shift: Int64Array, below: Int64Array | None = None, step: Int64Array | None = None
    ) -> tuple[Int64Array, Int64Array]:
        """Smallest and largest B with every interior threshold exact; empty where the first exceeds the second.

        `step` is taken off the sum of accumulators less than `below`; both are of shape (channels,). A channel without
        interior thresholds is constant, as all are without levels, and gets a window of the one B that says so if M is
        0.
        """
        interior = self.interior
        at = before = self.left_ends(multiplier, shift)
        if below is not None and step is not None:
            before = at + np.where(self.thresholds <= below[:, None], step[:, None], 0)
            at = at + np.where(self.thresholds < below[:, None], step[:, None], 0)
        limit = np.iinfo(np.int64)
        least = np.where(interior, at, limit.min).max(axis=1, initial=limit.min)
        most = np.where(interior, before + multiplier[:, None] - 1, limit.max).min(axis=1, initial=limit.max)
        constant = self.lowest << shift
        varies = interior.any(axis=1)
        return np.where(varies, least, constant), np.where(varies, most, constant)


def candidate_biases(multiplier: Int64Array, shift: Int64Array, steps: Steps) -> list[Int64Array]:
    """Biases worth trying, shape (channels,) each: one from the exact window, else quantiles of the left ends."""
    least, most = steps.bias_window(multiplier, shift)
    if np.all(least <= most):
        return [least]
    ends = np.sort(np.where(steps.interior, steps.left_ends(multiplier, shift), np.iinfo(np.int64).max), axis=1)
    last = np.maximum(0, steps.interior.sum(axis=1) - 1)
    rows = np.arange(len(multiplier))
    quantiles = [ends[rows, np.rint(quantile * last).astype(np.intp)] for quantile in _BIAS_QUANTILES]
    return [np.where(least <= most, least, quantile) for quantile in quantiles]


def count_misses(line: Requantization, steps: Steps) -> Int64Array:
    """Accumulators at which the line's output differs from the steps', counted once per step, shape (channels,)."""
    got = step_function(line, steps.low, steps.high).thresholds
    return np.abs(got - steps.thresholds).sum(axis=1)
