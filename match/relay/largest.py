"""The largest and the smallest along some axes of 8-bit values, as max pooling of maps, which modules take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence

import numpy as np

from match.ir.dtypes import value_range
from match.relay import integer_form, relay


def pooled_largest(x: relay.Expr, extents: Sequence[int], axes: Collection[int]) -> relay.Expr:
    """The largest of `x`, of these extents, along axes: one pooling for each run of axes that are neighbours.

    The result has the elements of the axes that are left, in their order, and any shape. The axes after a run are the
    channels of its map; where nothing is after, the run is turned to the front, and all others are channels.
    """
    longer = [axis for axis, extent in enumerate(extents) if extent > 1]
    left = [extents[axis] for axis in longer]
    runs = itertools.groupby(range(len(longer)), key=lambda place: longer[place] in axes)
    for places in reversed([list(run) for reduced, run in runs if reduced]):
        first, last = places[0], places[-1] + 1
        x = _pooled(x, math.prod(left[:first]), math.prod(left[first:last]), math.prod(left[last:]))
        left[first:last] = []
    return x


def _pooled(x: relay.Expr, rows: int, window: int, channels: int) -> relay.Expr:
    if channels == 1:
        x, rows, channels = relay.transpose(relay.reshape(x, (rows, window))), 1, rows
    return relay.nn.max_pool2d(relay.reshape(x, (1, rows, window, channels)), (1, window), layout="NHWC")


def pooled_smallest(x: relay.Expr, dtype: str, extents: Sequence[int], axes: Collection[int]) -> relay.Expr:
    """The smallest, as `pooled_largest`: the largest of all numbers turned around, turned back."""
    low, high = value_range(dtype)
    around = np.arange(high, low - 1, -1)
    largest = pooled_largest(integer_form.lookup(x, around, dtype, dtype), extents, axes)
    return integer_form.lookup(largest, around, dtype, dtype)
