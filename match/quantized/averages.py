"""Sums and means as layers of the integer form: of windows, and along axes."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from match.graph.make import reshaped, transposed
from match.graph.sums import Average, Dense
from match.graph.value import Value, computed
from match.ir.requantization import Requantization


def averaged(
    x: Value,
    one: Requantization,
    dtype: str,
    window: tuple[int, int],
    strides: tuple[int, int] = (1, 1),
    *,
    exact: bool = True,
) -> Value:
    """The sums of windows of a map (N, H, W, C), without padding, each requantized by the one channel of `one`."""
    alike = one.take(np.zeros(x.shape[3], np.intp))
    whole = window == x.shape[1:3]
    steps = (1, 1) if whole else strides
    average = Average(requantization=alike, dtype=dtype, window=window, strides=steps, whole_map=whole)
    return computed(average, x, exact=exact)


def summed(x: Value, axes: Collection[int], one: Requantization, dtype: str, shape: Sequence[int]) -> Value:
    """The sums along axes, requantized by the one channel of `one`, in a shape.

    Over the first axes they are a pooling; others are put last, where sums are a product with ones.
    """
    longer = [axis for axis, extent in enumerate(x.shape) if extent > 1]
    kept = [place for place, axis in enumerate(longer) if axis not in axes]
    reduced = [place for place, axis in enumerate(longer) if axis in axes]
    extents = [x.shape[axis] for axis in longer]
    rows, count = (math.prod(extents[place] for place in places) for places in (kept, reduced))
    if kept and [*reduced, *kept] == list(range(len(longer))):
        return reshaped(averaged(reshaped(x, (1, count, 1, rows)), one, dtype, (count, 1)), shape)
    if [*kept, *reduced] != list(range(len(longer))):
        x = transposed(reshaped(x, extents), [*kept, *reduced])
    ones = Dense(weights=np.ones((1, count), np.int8), requantization=one, dtype=dtype)
    return reshaped(computed(ones, reshaped(x, (rows, count))), shape)
