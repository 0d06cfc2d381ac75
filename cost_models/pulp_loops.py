"""What the loops of kernels/pulp go through: words of vectors, windows in place or copied, strips, shares of cores."""

from __future__ import annotations

from dataclasses import dataclass

from match.ir.layer import Layer, Op
from match.target.cost import Tile, ceil_div, choose, larger, smaller

WORD = 4
"""Bytes of a vector that a core loads at once; shorter vectors are multiplied byte by byte."""


def align4(size: int) -> int:
    """Rounded up to whole words."""
    return ceil_div(size, 4) * 4


def columns_bytes(column: int) -> int:
    """Bytes of a core's windows as vectors of `column` bytes: two to eight of them, as many as fit 512 bytes."""
    return smaller(8 * column, larger(512, 2 * column))


def step(channels: int, pixels: int) -> int:
    """Cycles of a step of `channels` x `pixels` accumulators: a word of every row and vector, all products of pairs.

    A single product waits a cycle for its load.
    """
    return channels + pixels + channels * pixels + (channels == pixels == 1)


def last_step(channels: int, pixels: int) -> int:
    """Cycles of the last bytes of vectors that are no whole words, beside a step's, counted in the compiled code.

    They are taken from the last four of every row and vector (`match_rest`): an address each, and of a vector the other
    bytes masked. 6 instructions make the mask. Those of four channels lie apart: 4 cycles to jump there and back.
    """
    return channels + 2 * pixels + (6 if channels == 1 else 10)


def short_step(channels: int) -> int:
    """Cycles of a byte of `channels` rows and of a vector, all shorter than a word: addresses, loads and products."""
    return 5 + 4 * channels


def is_pointwise(layer: Layer) -> bool:
    """Whether the convolution reads every pixel once and needs no im2col."""
    return (layer.fy, layer.fx, layer.stride) == (1, 1, (1, 1)) and not any(layer.padding)


def pixels_apart(layer: Layer) -> bool:
    """Whether the pixels that a row of a window sees do not lie side by side: holes, or other groups' channels."""
    return layer.fx > 1 and (layer.dilation[1] > 1 or layer.op is Op.GROUPED_CONV2D)


def border_windows(layer: Layer) -> int:
    """Output columns whose windows are not copied row by row from within the input; of few columns more than there are.

    Spelled out, as it is asked for each tile.
    """
    if pixels_apart(layer):
        return layer.ox
    stride, left = layer.stride[1], layer.padding.left
    before = -(-left // stride)
    behind = layer.ox - 1 - (layer.ix - layer.fx + left) // stride
    return before + behind if behind > 0 else before


@dataclass(frozen=True)
class Vectors:
    """What a product multiplies of a pixel: `rows` rows that make up `bytes` bytes."""

    bytes: int
    rows: int = 1


def vectors_in_place(layer: Layer, tile: Tile) -> Vectors:
    """The vectors of windows that are multiplied where they lie in the input."""
    connected = layer.fy == 1 or layer.ix == layer.fx
    return Vectors(tile.fy * tile.fx * tile.c, 1 if connected else layer.fy)


def is_in_place(layer: Layer, tile: Tile, fast: bool) -> bool:
    """Whether the kernel does that; vectors in rows have loops in `fast` forms only, see `PulpClusterCost._is_fast`."""
    if pixels_apart(layer):
        return False
    words = tile.c % WORD == 0
    if vectors_in_place(layer, tile).rows == 1:
        return words
    return words & fast & (tile.k % 4 == 0) & (tile.k <= tile.fx * tile.c)


def border_rows(layer: Layer) -> int:
    """Rows of outputs whose windows reach above or below the input."""
    stride, top = layer.stride[0], layer.padding.top
    reach = (layer.fy - 1) * layer.dilation[0] + 1
    behind = layer.oy - 1 - (layer.iy - reach + top) // stride
    return min(layer.oy, ceil_div(top, stride) + max(0, behind))


def copied_rows(layer: Layer, tile: Tile) -> float:
    """Cycles of the rows of a window that are copied word by word; words across a border take a cycle more."""
    row = tile.fx * tile.c
    words = ceil_div(row, WORD)
    around = choose(words > 3, 3 + words % 2, choose(words == 1, 1, 0))
    return tile.fy * (words * (2 + crossing(layer.stride[1] * tile.c) + crossing(row)) + around)


def even(count: int) -> int:
    """Rounded up to pairs."""
    return ceil_div(count, 2) * 2


def crossing(distance: int) -> float:
    """How many words cross a border, of those that follow one another at this distance, bytes."""
    rest = distance % WORD
    return choose(rest == 0, 0, choose(rest == 2, 0.5, 0.75))


def strip_columns(layer: Layer) -> int:
    """Columns of outputs in a strip of a depthwise convolution; 0 if there is no kernel for its filter.

    The kernels for strips read five columns but for 3x3 at stride 1.
    """
    columns = {(3, 3): 2, (5, 5): 1}.get((layer.fy, layer.fx), 0)
    if layer.dilation != (1, 1) or layer.stride not in ((1, 1), (2, 2)):
        return 0
    return columns if layer.ix >= 5 or (layer.fy, layer.stride[0]) == (3, 1) else 0


def share_of_channels(channels: int, cores: int, singles: int) -> int:
    """Channels of the busiest core, computed by fours, with at most `singles` behind them (match_pulp_share.h)."""
    each = ceil_div(channels, cores)
    return choose(each % 4 > singles, align4(each), each)


def seen_rows(layer: Layer, tile: Tile) -> int:
    """Input rows that the tile's outputs see, padding included."""
    return (tile.oy - 1) * layer.stride[0] + layer.window[0]
