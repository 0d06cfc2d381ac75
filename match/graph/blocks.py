"""Blocks of a map's pixels as channels of one pixel, and the other way round; maps have their channels last."""

from __future__ import annotations

from match.graph.make import reshaped, transposed
from match.graph.value import Value


def space_to_depth(x: Value, block: int) -> Value:
    """A map whose pixels have the channels of all pixels of a block, pixel by pixel."""
    batch, rows, columns, channels = x.shape
    seen = reshaped(x, (batch, rows // block, block, columns // block, block, channels))
    turned = transposed(seen, (0, 1, 3, 2, 4, 5))
    return reshaped(turned, (batch, rows // block, columns // block, channels * block**2))


def depth_to_space(x: Value, block: int, *, by_channel: bool = False) -> Value:
    """A map with a block of pixels for each pixel, of which the channels are pixel by pixel, or `by_channel`."""
    batch, rows, columns, channels = x.shape
    after = channels // block**2
    if by_channel:
        seen = transposed(reshaped(x, (batch, rows, columns, after, block, block)), (0, 1, 4, 2, 5, 3))
    else:
        seen = transposed(reshaped(x, (batch, rows, columns, block, block, after)), (0, 1, 3, 2, 4, 5))
    return reshaped(seen, (batch, rows * block, columns * block, after))
