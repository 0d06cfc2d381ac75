"""The largest and the smallest along some axes of 8-bit values, as max pooling of maps, which modules take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection

import numpy as np

from match.graph.make import lookup, reshaped, transposed
from match.graph.maximum import Maximum
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.ir.layer import Padding


def pooled_largest(x: Value, axes: Collection[int]) -> Value:
    """The largest of `x` along axes: one pooling for each run of axes that are neighbours.

    The result has the elements of the axes that are left, in their order, and any shape. The axes after a run are the
    channels of its map; where nothing is after, the run is turned to the front, and all others are channels.
    """
    longer = [axis for axis, extent in enumerate(x.shape) if extent > 1]
    left = [x.shape[axis] for axis in longer]
    runs = itertools.groupby(range(len(longer)), key=lambda place: longer[place] in axes)
    for places in reversed([list(run) for reduced, run in runs if reduced]):
        first, last = places[0], places[-1] + 1
        x = _pooled(x, math.prod(left[:first]), math.prod(left[first:last]), math.prod(left[last:]))
        left[first:last] = []
    return x


def _pooled(x: Value, rows: int, window: int, channels: int) -> Value:
    if channels == 1:
        x, rows, channels = transposed(reshaped(x, (rows, window)), (1, 0)), 1, rows
    pooling = Maximum(window=(1, window), strides=(1, 1), padding=Padding(), dilation=(1, 1))
    return computed(pooling, reshaped(x, (1, rows, window, channels)))


def pooled_smallest(x: Value, axes: Collection[int]) -> Value:
    """The smallest, as `pooled_largest`: the largest of all numbers turned around, turned back."""
    low, high = value_range(x.dtype)
    around = np.arange(high, low - 1, -1).astype(x.dtype)
    return lookup(pooled_largest(lookup(x, around), axes), around)
