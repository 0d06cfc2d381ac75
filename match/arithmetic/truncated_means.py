"""Averages as C divides integers: rounded towards zero."""

from __future__ import annotations

import numpy as np

from match.arithmetic.line_fit import fit_line
from match.ir.requantization import Requantization
from match.ir.step_function import StepFunction


def truncated_mean(values: tuple[int, int], count: int, clip: tuple[int, int]) -> Requantization | None:
    """From the sum of `count` integers of a closed range to their mean, one channel.

    None where means are negative: twice as many sums give zero as give another level, which is no line.
    """
    if values[0] < 0:
        return None
    low, high = (np.array([count * end], np.int64) for end in values)
    first = np.arange(clip[0] + 1, clip[1] + 1, dtype=np.int64) * count
    thresholds = np.clip(first[None, :], low[:, None], high[:, None] + 1)
    return fit_line(StepFunction(low, high, clip, thresholds, np.array([False])), np.array([1 / count]))
