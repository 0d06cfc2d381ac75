"""What the loops of kernels/pulp go through: words of vectors, windows in place or copied, strips, shares of cores."""

from __future__ import annotations

from dataclasses import replace

from match.ir.layer import Layer, Op, Padding
from match.target.cost import Tile, ceil_div, choose, larger, smaller

WORD = 4
"""Bytes of a vector that a core loads at once; shorter vectors are multiplied byte by byte."""


def align4(size: int) -> int:
    """Rounded up to whole words."""
    return ceil_div(size, 4) * 4


def columns_bytes(column: int) -> int:
    """Bytes of a core's windows as vectors of `column` bytes: two to sixteen of them, as many as fit 512 bytes."""
    return smaller(16 * column, larger(512, 2 * column))


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
    """Output columns whose windows are no run of bytes within a row of the input; of few columns more than there are.

    Spelled out, as it is asked for each tile.
    """
    if pixels_apart(layer):
        return layer.ox
    stride, left = layer.stride[1], layer.padding.left
    before = -(-left // stride)
    behind = layer.ox - 1 - (layer.ix - layer.fx + left) // stride
    return before + behind if behind > 0 else before


def are_runs(layer: Layer) -> bool:
    """Whether windows inside the input's rows are one run of bytes each: multiplied where they lie, if of whole words.

    Others are laid out, wherever they are.
    """
    row = layer.fy == 1 and not pixels_apart(layer)
    column = (layer.fx, layer.ix, layer.dilation[0]) == (1, 1, 1)
    return (row or column) and layer.op is Op.CONV2D


def unaligned(layer: Layer, tile: Tile) -> int:
    """Half cycles that two windows which share columns take longer for each of their words, as these cross borders."""
    stride = layer.stride[1] * layer.fy * tile.c
    return choose(stride % 2 > 0, 3, stride % WORD // 2 * 2)


def are_shared(layer: Layer, tile: Tile) -> bool:
    """Whether windows that are laid out share columns (`are_shared` of match_pulp_conv2d.c)."""
    again = layer.fx - layer.stride[1]
    if layer.dilation[1] > 1 or again <= 0:
        return False
    words = align4(layer.fy * layer.fx * tile.c) // WORD
    longer = unaligned(layer, tile) * ceil_div(tile.k, 4) * words
    return longer <= 16 * again * layer.fy * ceil_div(tile.c, WORD)


def border_rows(layer: Layer) -> int:
    """Rows of outputs whose windows reach above or below the input."""
    stride, top = layer.stride[0], layer.padding.top
    reach = (layer.fy - 1) * layer.dilation[0] + 1
    behind = layer.oy - 1 - (layer.iy - reach + top) // stride
    return min(layer.oy, ceil_div(top, stride) + max(0, behind))


def copied_column(layer: Layer, tile: Tile) -> float:
    """Cycles of the pixels of a column that is laid out.

    Pixels of up to a word are copied two at a time, with two steps to the next column; others by loops of two words.
    Those that are no whole words take `KernelCycles.pixel` more.
    """
    rows, words = layer.fy, tile.c // WORD
    small = choose(tile.c == 3, 3 + rows * 4.5, 3 + 2 * rows + rows % 2)
    large = rows * choose(words == 2, 4, 2 * words + 3 - words % 2)
    return choose(tile.c <= WORD, small, choose(tile.c % WORD == 0, large, rows * words * 2.5))


LEAST_INNER = 4
"""So many other strips are computed together, channel by channel (match_pulp_depthwise_strips.c)."""


def turned_columns(rows: int, loaded: float, stored: float) -> float:
    """Cycles of four columns that are turned by blocks of four rows, of bytes side by side (`match_turn_columns`).

    `loaded` and `stored` are shares of the words of blocks that lie across a border.
    """
    fours, rest = divmod(rows, 4)
    blocks = choose(fours > 0, fours * (18 + 4 * loaded + 4 * stored) + 3, 0)
    cycles: float = blocks + (rest & 2) / 2 * (11 + 2 * loaded) + (rest & 1) * 9
    return cycles


def outer_strips(layer: Layer) -> int:
    """Strips of a 3x3 depthwise layer that see padding beside them, or not all of whose columns can be read."""
    stride, left = layer.stride[1], layer.padding.left
    furthest = layer.ix - 3 - stride + left
    last = min(furthest // (2 * stride) + 1, layer.ox // 2)
    return ceil_div(layer.ox, 2) - max(0, last - ceil_div(left, 2 * stride))


def even(count: int) -> int:
    """Rounded up to pairs."""
    return ceil_div(count, 2) * 2


def crossing(distance: int) -> float:
    """How many words cross a border, of those that follow one another at this distance, bytes."""
    rest = distance % WORD
    return choose(rest == 0, 0, choose(rest == 2, 0.5, 0.75))


def strip_columns(layer: Layer) -> int:
    """Columns of outputs in a strip of a depthwise convolution; 0 if there is no kernel for its filter.

    The kernels for strips read five columns but for 3x3 at stride 1; at stride 2 that of 3x3 takes a column of padding
    in front.
    """
    columns = {(3, 3): 2, (5, 5): 1}.get((layer.fy, layer.fx), 0)
    if layer.dilation != (1, 1) or layer.stride not in ((1, 1), (2, 2)):
        return 0
    if (layer.fy, layer.stride[0]) == (3, 2) and layer.padding.left > 1:
        return 0
    return columns if layer.ix >= 5 or (layer.fy, layer.stride[0]) == (3, 1) else 0


STRIP_READS = 5
"""Columns of the input that those kernels read; maps with fewer get padding (match_pulp_depthwise_widened.c)."""


def is_narrow(layer: Layer, tile: Tile) -> bool:
    """Whether a tile at the layer's border sees fewer columns or rows than the kernels for strips of its filter read.

    Such a tile gathers its windows (match_pulp_is_depthwise_3x3, match_pulp_is_depthwise_5x5). Any part of a layer is
    taken to lie at the border with more padding.
    """
    left, bottom = max(layer.padding.left, layer.padding.right), layer.padding.bottom
    columns = choose(tile.ox >= layer.ox, layer.ix, tile.ix - left)
    rows = choose(tile.oy >= layer.oy, layer.iy, tile.iy - bottom)
    few_columns = columns < (0 if (layer.fy, layer.stride[0]) == (3, 1) else STRIP_READS)
    return few_columns | (rows < layer.fy - layer.stride[0])


SMALL_COLUMNS, SMALL_ROWS = 4, 12
"""Columns of a map whose rows are words, and rows that its outputs see, at most (match_pulp_depthwise_small_map.c)."""


def whole(layer: Layer) -> Tile:
    """The layer as one tile."""
    return Tile(layer.k, layer.c, layer.oy, layer.ox, layer.iy, layer.ix, layer.fy, layer.fx)


def is_small_map(layer: Layer, tile: Tile) -> bool:
    """Whether a tile is of a map that the kernel for few columns and rows takes, if its form has loops there."""
    if (layer.fy, layer.fx, layer.dilation) != (5, 5, (1, 1)):
        return False
    columns = (tile.ix <= SMALL_COLUMNS) & (tile.ox <= SMALL_COLUMNS)
    return columns & (seen_rows(layer, tile) <= SMALL_ROWS)


def has_two_words(layer: Layer, tile: Tile) -> bool:
    """The same of maps whose rows are two words, which overlap in some (match_pulp_depthwise_two_words.c)."""
    if (layer.fy, layer.fx, layer.dilation) != (5, 5, (1, 1)):
        return False
    most = 2 * SMALL_COLUMNS
    columns = (tile.ix > SMALL_COLUMNS) & (tile.ix <= most) & (tile.ox <= most)
    return columns & (seen_rows(layer, tile) <= SMALL_ROWS)


def columns_of_two_words(layer: Layer, tile: Tile) -> int:
    """Columns of outputs there that see both words of a row; all of a tile that has not all columns."""
    begins = (x * layer.stride[1] - layer.padding.left for x in range(layer.ox))
    inner = sum(0 <= begin < layer.ix - SMALL_COLUMNS for begin in begins)
    return choose(tile.ox >= layer.ox, inner, tile.ox)


def widened(layer: Layer) -> Layer | None:
    """A depthwise layer without a kernel for its own filter, as those for 3x3 and 5x5 compute it; None if they cannot.

    Zeros lie around the filter. Of a filter with holes it is one of the `phases`, outputs at equal distances, that are
    convolutions without.
    """
    rows, columns = phases(layer)
    stride = _even_stride(layer)
    longest = max(layer.fy, layer.fx)
    if strip_columns(layer) or longest > 5 or stride not in (1, 2) or (stride > 1 and (rows, columns) != (1, 1)):
        return None
    size = 3 if longest <= 3 else 5
    padding, seen = layer.padding, ceil_div(layer.ix, columns)
    top, left = ceil_div(padding.top, rows), ceil_div(padding.left, columns)
    above = max(0, min(size - layer.fy, size - stride - top))
    before = (size - layer.fx) // 2
    is_read = is_lone(layer) or ((rows, columns) == (1, 1) and (size == 5 or stride == 2))
    wide = replace(
        layer,
        oy=ceil_div(layer.oy, rows),
        ox=ceil_div(layer.ox, columns),
        iy=ceil_div(layer.iy, rows),
        ix=max(seen, STRIP_READS) if is_read else seen,
        fy=size,
        fx=size,
        stride=(stride, stride),
        dilation=(1, 1),
        padding=Padding(top + above, left + before, padding.bottom, padding.right),
    )
    return wide if strip_columns(wide) and _sees_few_rows(wide) else None


def is_lone(layer: Layer) -> bool:
    """Whether a depthwise filter sees one column, which stands for all that are read: others are multiplied by 0."""
    return (layer.fx, layer.ix, layer.ox, layer.padding.left) == (1, 1, 1, 0)


def as_column(layer: Layer) -> Layer:
    """A layer with rows as columns and columns as rows: of one row the same bytes."""
    top, left, bottom, right = layer.padding
    return replace(
        layer,
        oy=layer.ox,
        ox=layer.oy,
        iy=layer.ix,
        ix=layer.iy,
        fy=layer.fx,
        fx=layer.fy,
        stride=layer.stride[::-1],
        dilation=layer.dilation[::-1],
        padding=Padding(left, top, right, bottom),
    )


def turned(layer: Layer) -> Layer | None:
    """One row of a depthwise layer as a column; None if its filter has more rows, or if that is no faster."""
    if (layer.fy, layer.padding.top) != (1, 0):
        return None
    column = as_column(replace(layer, iy=1, oy=1))
    wide = widened(column)
    return column if wide and (wide.fy == 5 or wide.stride == (1, 1)) else None


def _sees_few_rows(wide: Layer) -> bool:
    """Whether strips can take the rows of padding above the first output and below the last one."""
    stride = wide.stride[0]
    before, top = wide.fy - stride, wide.padding.top
    below = (wide.oy - 1) * stride + wide.fy - top - wide.iy
    most = 1 if wide.fy == 3 else 2 if stride == 2 else wide.fy
    return top <= before <= top + wide.iy and below <= most


def phases(layer: Layer) -> tuple[int, int]:
    """Into how many convolutions without holes a depthwise layer is taken apart, by rows and by columns of outputs."""
    rows, columns = layer.dilation
    return rows if layer.fy > 1 else 1, columns if layer.fx > 1 else 1


def _even_stride(layer: Layer) -> int:
    """The stride both ways, that of the other axis where a layer has one row or column of outputs; 0 if they differ."""
    rows, columns = layer.stride
    rows = columns if layer.oy == 1 else rows
    columns = rows if layer.ox == 1 else columns
    return rows if rows == columns else 0


def share_of_channels(channels: int, cores: int, singles: int) -> int:
    """Channels of the busiest core, computed by fours, with at most `singles` behind them (match_pulp_share.h)."""
    each = ceil_div(channels, cores)
    return choose(each % 4 > singles, align4(each), each)


def seen_rows(layer: Layer, tile: Tile) -> int:
    """Input rows that the tile's outputs see, padding included."""
    return (tile.oy - 1) * layer.stride[0] + layer.window[0]


def seen_weights(layer: Layer) -> float:
    """Weights of a window that the input is multiplied by, and not padding, in the mean of all windows."""
    top, left = layer.padding.top, layer.padding.left
    rows = _seen_positions(layer.oy, layer.stride[0], layer.dilation[0], layer.fy, top, layer.iy)
    columns = _seen_positions(layer.ox, layer.stride[1], layer.dilation[1], layer.fx, left, layer.ix)
    return rows * columns / (layer.oy * layer.ox)


def _seen_positions(outputs: int, stride: int, dilation: int, positions: int, padding: int, inputs: int) -> int:
    """Positions of all windows along an axis that lie in the input."""
    begins = (output * stride - padding for output in range(outputs))
    return sum(0 <= begin + position * dilation < inputs for begin in begins for position in range(positions))
