"""The largest along some axes of 8-bit values, as max pooling of a map, which modules take."""

from __future__ import annotations

import math
from collections.abc import Collection

from match.relay import relay


def pooled_largest(x: relay.Expr, extents: tuple[int, ...], axes: Collection[int]) -> relay.Expr | None:
    """The largest of `x`, of these extents, along axes that are neighbours but for those of one element; else None.

    The result has the elements of the axes that are left, in their order, and any shape. The axes behind are the
    channels of the map; where nothing is behind, `axes` are turned to the front, and all others are channels.
    """
    longer = sorted(axis for axis in axes if extents[axis] > 1)
    if not longer:
        return x
    first, last = longer[0], longer[-1] + 1
    if math.prod(extents[first:last]) != math.prod(extents[axis] for axis in longer):
        return None
    rows, window, channels = (math.prod(part) for part in (extents[:first], extents[first:last], extents[last:]))
    if channels == 1:
        x, rows, channels = relay.transpose(relay.reshape(x, (rows, window))), 1, rows
    return relay.nn.max_pool2d(relay.reshape(x, (1, rows, window, channels)), (1, window), layout="NHWC")
