"""A PULP cluster with 8-bit SIMD dot products, executing the kernels of kernels/pulp.

The formulas are those kernels' loops, and count the cycles of the core with the most work. A block of 4 output channels
x 2 pixels takes 6 loads and 8 dot products a word, 14 instructions for 32 multiply-accumulates in a hardware loop, as
in PULP-NN (Garofalo et al., 2020). What stands around the loops is `KernelCycles`, measured on open RTL.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from match.cost_models.dma import Mchan
from match.ir.layer import Layer, Op
from match.target.cost import Block, CostModel, Tile, ceil_div

LOOP = 15
"""Around the loop over channels of match_pulp_requantize, for accelerators that leave accumulators."""

REQUANTIZE = 28
"""One of its outputs, ``clip((acc * M + B) >> S)`` in 64 bits: loads 5, product 6, sum 4, shift 3, clip 2, store 1,
waits for loads and the loop 7; counted in the compiled code."""

PIXEL = 35
"""The address of one of its pixels by the pixel's number."""

Form = Literal["int32", "high", "high_signed", "int64", "sums"]
"""Of requantization, by its name in match/tile_constants.py; int64 stands for int64_signed too, sums for none."""

WORD = 4
"""Bytes of a vector that a core loads at once; shorter vectors are multiplied byte by byte."""

ROW = 3
"""Cycles of a row of vectors in rows: its loop, and two steps across the gap behind it."""

STRIP_ROW = {(3, 1): 12, (3, 2): 23, (5, 1): 19, (5, 2): 31}
"""A row of a strip of a depthwise convolution, by size of the filter and stride: loads, packs, dot products, moves."""

STRIP_OUTPUT: dict[str, int] = {"int32": 4, "high": 9}
"""One of its outputs by form, the five cycles of a multiplication for the upper word among them."""

STRIP_SUM = 2
"""An output whose sum is kept, in other forms."""

SUM4 = 4
"""A window's element of four channels in an average: load, move, two additions."""

CHANNEL_GROUP = 16
"""Input channels are cut at multiples of this, see `Cluster.tile_multiples`."""


@dataclass(frozen=True)
class KernelCycles:
    """Cycles of one core around the inner loops of kernels/pulp, with data and instructions at hand.

    Fitted by least squares to kernel calls on CV32E40P RTL: ``python -m benchmarks.rtl --fit``. GCC 12, -O2.

    call: a kernel call, on each core. product: the outputs of some pixels, whose registers are stored before and loaded
    behind. pair: two of these pixels, or a last one. block: four channels of them beside their steps and outputs. rows:
    the same where vectors lie in rows. rest: the last channels of some pixels, fewer than four. last: a pixel of that.
    single: a block of two channels or one.
    other_single: a block of one channel in memory, of sums and int64. rare: a block of four channels of int64.
    short: a pixel whose vectors are shorter than a word. short_block, short_single: its blocks of four channels and of
    one, beside bytes and outputs. short_output: more for one of these that passes through memory.
    sums: an output that is left as a sum. resumed, taken: a partial sum that an output goes on from, which is left as
    a sum again, or requantized.
    int32, high, high_signed, int64: an output's requantization. four_int32, four_high, four_high_signed: the same in a
    product.
    line: a row of outputs of a convolution: what its windows have in common. padded: of one of
    these that sees rows above or below the input, a vector that is filled with them. column: of im2col, an output pixel
    beside its words. border, byte: one whose window reaches beyond a row of the input, or sees pixels that lie apart; a
    byte of it.
    strip: depthwise in strips of outputs (3x3: two columns, 5x5: one), what all channels of a strip have in common.
    channel3, channel5: a channel of it beside its rows, by filter.
    called: an output there in the other forms than int32 and high, a call.
    strip_row, gather: other depthwise, a filter column of a column of outputs; a byte of that. window: the calls around
    the products of one.
    position: pooling, an output pixel. averages, maxima: four channels of it. sum_row: a row of a window of these.
    maximum4: a window's element of these.
    addition: an addition beside its elements. run: elements to add or look up that lie behind a gap; measured
    apart, not fitted. add, add_int64, lookup: an element, of additions by form.
    """

    call: float = 201.3
    product: float = 57.2
    pair: float = 43.1
    block: float = 11.2
    rows: float = 19.3
    rest: float = 54.1
    last: float = 11.3
    single: float = 25.9
    other_single: float = 133.9
    rare: float = 193.9
    short: float = 43.2
    short_block: float = 23.5
    short_single: float = 182.8
    short_output: float = 39.1
    sums: float = 2.1
    resumed: float = 1.7
    taken: float = 3.7
    int32: float = 11.4
    high: float = 16.3
    high_signed: float = 19.3
    four_int32: float = 6.2
    four_high: float = 10.4
    four_high_signed: float = 13.3
    int64: float = 48.1
    line: float = 240.5
    padded: float = 60.4
    column: float = 28.9
    border: float = 242.1
    byte: float = 0.45
    strip: float = 171.7
    channel3: float = 66.8
    channel5: float = 100.8
    called: float = 52.1
    strip_row: float = 26.2
    gather: float = 11.2
    window: float = 61.0
    position: float = 100.5
    sum_row: float = 12.6
    averages: float = 54.3
    maxima: float = 43.4
    maximum4: float = 8.7
    addition: float = 34.9
    run: float = 45
    add: float = 6.7
    add_int64: float = 55.8
    lookup: float = 3.0


def align4(size: int) -> int:
    """Rounded up to whole words."""
    return ceil_div(size, 4) * 4


def columns_bytes(column: int) -> int:
    """Bytes of a core's windows as vectors of `column` bytes: two to eight of them, as many as fit 512 bytes."""
    return min(8 * column, max(512, 2 * column))


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


def border_windows(layer: Layer) -> int:
    """Output columns whose windows are not copied row by row from within the input; of few columns more than there are.

    Spelled out, as it is asked for each tile.
    """
    if layer.dilation[1] > 1 and layer.fx > 1:
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


def row_in_place(layer: Layer, tile: Tile, fast: bool) -> Vectors | None:
    """The vectors of windows that are multiplied where they lie in the input, if the kernel does that."""
    row = tile.fx * tile.c
    if tile.c % 4 or (layer.dilation[1] > 1 and tile.fx > 1):
        return None
    if tile.fy == 1 or layer.ix == tile.fx:
        return Vectors(tile.fy * row)
    if not fast or tile.k % 4 or tile.k > row:
        return None
    return Vectors(tile.fy * row, tile.fy)


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
    around = 0 if words in (2, 3) else 1 if words == 1 else 3 + words % 2
    return tile.fy * (words * (2 + _crossing(layer.stride[1] * tile.c) + _crossing(row)) + around)


def _even(count: int) -> int:
    """Rounded up to pairs."""
    return ceil_div(count, 2) * 2


def _crossing(distance: int) -> float:
    """How many words cross a border, of those that follow one another at this distance, bytes."""
    return (0, 0.75, 0.5, 0.75)[distance % WORD]


def is_in_strips(layer: Layer, tile: Tile, size: int) -> bool:
    """Whether a depthwise convolution has the kernel for filters of `size` x `size`.

    That reads five columns but for 3x3 at stride 1, and computes two columns of outputs of 3x3 at stride 2.
    """
    if (layer.fy, layer.fx, layer.dilation) != (size, size, (1, 1)) or layer.stride not in ((1, 1), (2, 2)):
        return False
    narrow = size == 3 and layer.stride[0] == 1
    return narrow or (layer.ix >= 5 and (size == 5 or tile.ox > 1))


@dataclass(frozen=True)
class PulpClusterCost(CostModel):
    """Cycles and scratch of the cluster's kernels.

    cores: workers that share out a tile: pairs of pixels by fours of channels (convolutions), strips of channels
        (depthwise), elements (addition, lookup) or channels (others).
    form: of requantization.
    kernel: cycles of a kernel call beside the work: filling in the tile's context (about 40 stores), fork and barrier
        of the event unit (tens of cycles, Glaser et al., 2020). Estimated.
    offload: cycles of a layer beside tiles: the control core's task, waking the cluster, the prologue. GVSoC counts
        that for the dense layers of ResNet8 and DS-CNN beyond their tiles (docs/pulp-open.md).
    """

    cores: int = 8
    form: Form = "high"
    kernel: int = 150
    offload: int = 920
    cycles: KernelCycles = field(default_factory=KernelCycles)
    dma: Mchan = field(default_factory=Mchan)

    overlap = True

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Bytes, as kernels/pulp/match_pulp.h gives them for each kernel."""
        if layer.op is Op.CONV2D and not is_pointwise(layer):
            return self.cores * columns_bytes(align4(tile.fy * tile.fx * tile.c) + WORD)
        if layer.op is Op.DEPTHWISE_CONV2D:
            return self.cores * align4(tile.fx * _seen_rows(layer, tile))
        return 0

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of the busiest core."""
        return self.cycles.call + self._work(layer, tile)

    def launch(self, layer: Layer) -> float:
        """The same for every kernel."""
        return self.kernel

    def transfer(self, layer: Layer, block: Block) -> float:
        """MCHAN's."""
        return self.dma.transfer(block)

    def issue(self, layer: Layer) -> float:
        """MCHAN's."""
        return self.dma.call

    def overhead(self, layer: Layer) -> float:
        """The offload from the control core."""
        return self.offload

    @property
    def requantize(self) -> float:
        """Cycles of an output's requantization."""
        cycles: float = getattr(self.cycles, self.form)
        return cycles

    def _work(self, layer: Layer, tile: Tile) -> float:
        match layer.op:
            case Op.CONV2D:
                return self._pointwise(tile) if is_pointwise(layer) else self._convolution(layer, tile)
            case Op.DEPTHWISE_CONV2D:
                if is_in_strips(layer, tile, 3):
                    return self._depthwise_strips(layer, tile, 2, self.cycles.channel3)
                if is_in_strips(layer, tile, 5):
                    return self._depthwise_strips(layer, tile, 1, self.cycles.channel5)
                return self._depthwise(layer, tile)
            case Op.DENSE:
                return tile.oy * self._product(ceil_div(tile.k, self.cores), tile.ox, Vectors(tile.c), tile)
            case Op.ADD:
                each = self.cycles.add if self.form == "int32" else self.cycles.add_int64
                return self.cycles.addition + self._elements(layer, tile, each)
            case Op.LOOKUP:
                return self._elements(layer, tile, self.cycles.lookup)
            case Op.AVG_POOL2D | Op.MAX_POOL2D:
                return self._pool(layer, tile)

    def _product(self, channels: int, pixels: float, vectors: Vectors, tile: Tile) -> float:
        """Output channels of some pixels, two at a time: blocks of four channels, then the last ones pixel by pixel."""
        if vectors.bytes < WORD:
            return self.cycles.product + pixels * self._short_pixel(channels, vectors.bytes, tile)
        pairs, single = divmod(pixels, 2)
        blocks, rest = divmod(channels, 4)
        cycles, work = self.cycles, 0.0
        if self.form == "int64" and tile.end:
            two, one = (self._rare_block(n, vectors, tile) for n in (2, 1))
            work += cycles.product + pairs * blocks * two + single * blocks * one
        elif blocks:
            work += cycles.product + pairs * (cycles.pair + blocks * self._block(4, 2, vectors, tile))
            work += single * (cycles.pair + blocks * self._block(4, 1, vectors, tile))
        if rest and self._is_fast(tile):
            work += cycles.rest + pixels * (cycles.last + self._last_channels(rest, vectors, tile))
        elif rest:
            one = cycles.other_single + self._steps(1, 1, vectors, tile) + self._finish(tile)
            work += cycles.rest + pixels * (cycles.last + rest * one)
        return work

    def _is_fast(self, tile: Tile) -> bool:
        """Whether outputs are requantized in a form with loops of its own, and no sums are partial."""
        return tile.begin and tile.end and self.form in ("int32", "high", "high_signed")

    def _block(self, channels: Literal[1, 2, 4], pixels: Literal[1, 2], vectors: Vectors, tile: Tile) -> float:
        """Some channels of a pixel or two."""
        cycles = self.cycles
        if channels < 4:
            beside = cycles.single
        else:
            beside = cycles.block if vectors.rows == 1 else cycles.rows + ROW * vectors.rows
        return beside + self._steps(channels, pixels, vectors, tile) + pixels * channels * self._finish(tile)

    def _last_channels(self, channels: int, vectors: Vectors, tile: Tile) -> float:
        """One to three channels of a pixel."""
        work = self._block(2, 1, vectors, tile) if channels >= 2 else 0.0
        return work + (self._block(1, 1, vectors, tile) if channels % 2 else 0.0)

    def _rare_block(self, pixels: Literal[1, 2], vectors: Vectors, tile: Tile) -> float:
        """Four channels of a pixel or two in int64, which pass through memory."""
        return self.cycles.rare + self._steps(4, pixels, vectors, tile) + 4 * pixels * self._finish(tile)

    def _short_pixel(self, channels: int, length: int, tile: Tile) -> float:
        """A pixel whose vectors are shorter than a word."""
        blocks, rest = divmod(channels, 4)
        cycles, each = self.cycles, self._finish(tile)
        kept = 0.0 if self.form != "int64" or not tile.end else cycles.short_output
        fours = cycles.short_block + short_step(4) * length + 4 * (each + kept)
        ones = cycles.short_single + short_step(1) * length + each
        return cycles.short + blocks * fours + rest * ones

    def _steps(self, channels: int, pixels: int, vectors: Vectors, tile: Tile) -> float:
        """Loads and dot products of a block.

        Of vectors that are no whole words the last bytes take a step of their own; rows of weights then begin anywhere,
        and words across a border take a cycle more. That is charged for the channels behind the last multiple of
        `CHANNEL_GROUP`: the others can be cut off.
        """
        words, rest = divmod(vectors.bytes, WORD)
        if rest == 0:
            return step(channels, pixels) * words
        loose = tile.c % CHANNEL_GROUP // 4
        crossing = channels * (0.5 if rest == 2 else 0.75) * (min(words, loose) + 1)
        return step(channels, pixels) * (words + 1) + crossing + last_step(channels, pixels)

    def _finish(self, tile: Tile) -> float:
        """An accumulator behind its dot product: it may go on from a partial sum, and be left as one."""
        cycles = self.cycles
        if not tile.end or self.form == "sums":
            return cycles.sums + (0 if tile.begin else cycles.resumed)
        fours = {"int32": cycles.four_int32, "high": cycles.four_high, "high_signed": cycles.four_high_signed}
        return fours.get(self.form, cycles.int64) + (0 if tile.begin else cycles.taken)

    def _convolution(self, layer: Layer, tile: Tile) -> float:
        """Pairs of pixels by fours of channels are shared out; a core that has less than a row has no single pixel.

        A tile is taken to have as many windows beside the input as the layer, and its share of those above and below:
        where it lies changes nothing.
        """
        share = self._share(tile.oy, tile.ox, tile.k)
        if share <= 1 < self.cores:
            tile = tile._replace(ox=_even(tile.ox))
        row = self._row(layer, tile, inside=True)
        outside = border_rows(layer) / layer.oy
        if outside:
            row += outside * (self._row(layer, tile, inside=False) - row)
        return math.ceil(share) * self.cycles.line + share * row

    def _share(self, rows: int, columns: int, channels: int) -> float:
        """Rows of the busiest core: pairs of pixels by fours of channels are shared out."""
        units = ceil_div(columns, 2) * ceil_div(channels, 4)
        return ceil_div(rows * units, self.cores) / units

    def _row(self, layer: Layer, tile: Tile, *, inside: bool) -> float:
        """A row of outputs, whose windows lie inside the input's rows or not."""
        cycles = self.cycles
        length = tile.fy * tile.fx * tile.c
        border = min(border_windows(layer), tile.ox)
        place = row_in_place(layer, tile, self._is_fast(tile)) if inside else None
        run = tile.ox - border if place else 0
        if run % 2 and run < tile.ox:
            run -= 1
        work = self._product(tile.k, run, place, tile) if place and run else 0.0
        copied = tile.ox - run
        if not copied:
            return work
        at_once = columns_bytes(align4(length) + WORD) // (align4(length) + WORD) // 2 * 2
        if not inside:
            work += min(copied, at_once) * cycles.padded
        vectors = Vectors(align4(length))
        whole, some = divmod(copied, at_once)
        work += whole * self._product(tile.k, at_once, vectors, tile)
        work += self._product(tile.k, some, vectors, tile) if some else 0.0
        windows = border * (cycles.border + length * cycles.byte)
        return work + windows + (copied - border) * (cycles.column + copied_rows(layer, tile))

    def _pointwise(self, tile: Tile) -> float:
        """Pairs of pixels by fours of channels are shared out."""
        pixels = tile.oy * tile.ox if self.cores == 1 else _even(tile.oy * tile.ox)
        share = self._share(1, pixels, tile.k)
        products = 1 if self.cores == 1 or share * pixels <= 2 else 2
        whole = self._product(tile.k, pixels, Vectors(tile.c), tile) - self.cycles.product
        return products * self.cycles.product + share * whole

    def _depthwise_strips(self, layer: Layer, tile: Tile, columns: int, channel: float) -> float:
        """Strips of `columns` columns of outputs are shared out, all channels of one, then of the next.

        The rows of outputs are counted in the assembly (match_pulp_depthwise_strips.c, match_pulp_depthwise_5x5.c).
        """
        cycles = self.cycles
        strips = ceil_div(tile.ox, columns)
        share = ceil_div(tile.k * strips, self.cores)
        row = STRIP_ROW[tile.fy, layer.stride[0]]
        each = STRIP_OUTPUT.get(self.form, STRIP_SUM + cycles.called)
        return ceil_div(share, tile.k) * cycles.strip + share * (channel + tile.oy * (row + columns * each))

    def _depthwise(self, layer: Layer, tile: Tile) -> float:
        """Columns of outputs are shared out; the windows of one are gathered, then multiplied one by one.

        `window` is paid for each of them, whole words or not.
        """
        cycles = self.cycles
        strip = tile.fx * (cycles.strip_row + _seen_rows(layer, tile) * cycles.gather)
        lengths = [tile.fy * tile.fx] if layer.dilation[0] == 1 else [tile.fx] * tile.fy
        rests = last_step(1, 1) if lengths[0] % WORD else 0
        dots = step(1, 1) * ceil_div(lengths[0], WORD) + rests + cycles.window
        output = len(lengths) * dots + self.requantize
        return ceil_div(tile.k * tile.ox, self.cores) * (strip + tile.oy * output)

    def _pool(self, layer: Layer, tile: Tile) -> float:
        """Channels are shared out, four at a time; fewer take as long."""
        cycles = self.cycles
        elements = tile.fy * tile.fx
        if layer.op is Op.AVG_POOL2D:
            rows = 1 if tile.fx == layer.ix else tile.fy  # rows without gaps between them are one
            four = cycles.averages + rows * cycles.sum_row + elements * SUM4 + 4 * self.requantize
        else:
            four = cycles.maxima + elements * cycles.maximum4
        fours = share_of_channels(tile.k, self.cores, 0) // 4
        return tile.oy * tile.ox * (cycles.position + fours * four)

    def _elements(self, layer: Layer, tile: Tile, each: float) -> float:
        """Elements are shared out, words of them, in runs without gaps.

        Whole rows are one run. Of others each row may be one, and each pixel where a tile has some of the channels.
        """
        rows = 1 if tile.ox == layer.ox else tile.oy
        runs = rows if tile.k == layer.k else tile.oy * tile.ox
        elements = tile.oy * tile.ox * tile.k
        share = min(elements, align4(ceil_div(elements, self.cores)))
        return (ceil_div(runs, self.cores) - (runs == 1)) * self.cycles.run + share * each


def share_of_channels(channels: int, cores: int, singles: int) -> int:
    """Channels of the busiest core, computed by fours, with at most `singles` behind them (match_pulp_share.h)."""
    each = ceil_div(channels, cores)
    return align4(each) if each % 4 > singles else each


def _seen_rows(layer: Layer, tile: Tile) -> int:
    """Input rows that the tile's outputs see, padding included."""
    return (tile.oy - 1) * layer.stride[0] + layer.window[0]
