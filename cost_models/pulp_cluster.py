"""A PULP cluster with 8-bit SIMD dot products, executing the kernels of kernels/pulp.

The formulas are those kernels' loops, and count the cycles of the core with the most work. A block of 4 output channels
x 2 pixels takes 6 loads and 8 dot products a word, 14 instructions for 32 multiply-accumulates in a hardware loop, as
in PULP-NN (Garofalo et al., 2020). What stands around the loops is `KernelCycles`, measured on open RTL.
"""

from __future__ import annotations

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

    call: a kernel call, on each core. product: all output channels of one pixel or two. pair: more for two.
    fours: the loop over blocks of four channels, as registers are stored before it and loaded behind. block: one of
    these beside its steps and outputs. single: the block of one channel.
    short: a pixel whose vectors are shorter than a word. short_block, short_single: its blocks of four channels and of
    one, beside bytes and outputs.
    sums: an output that is left as a sum. resumed, taken: a partial sum that an output goes on from, which is left as
    a sum again, or requantized.
    int32, high, high_signed, int64: an output's requantization. rare: a block in int64 beside that, which is copied to
    memory.
    line: a row of outputs of a convolution: what its windows have in common, and filter rows in the padding.
    column, row, byte: of im2col, an output pixel, a filter row of it, a byte of that. odd: such a row, where it is no
    pairs of words. border: an output pixel whose window reaches beyond a row of the input, or sees pixels that lie
    apart. pixel: a pixel's address.
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

    call: float = 198.0
    product: float = 72.0
    pair: float = 19.6
    fours: float = 64.4
    block: float = 16.9
    single: float = 21.3
    short: float = 138.7
    short_block: float = 25.1
    short_single: float = 20.1
    sums: float = 1.7
    resumed: float = 1.7
    taken: float = 4.1
    int32: float = 6.6
    high: float = 10.6
    high_signed: float = 13.2
    int64: float = 43.9
    rare: float = 140.2
    line: float = 151.8
    column: float = 32.0
    row: float = 17.6
    odd: float = 14.4
    byte: float = 0.4
    border: float = 61.7
    pixel: float = 19.6
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

    cores: workers that share out a tile: output rows (convolution), pixels (pointwise), elements (addition, lookup),
        strips of channels (depthwise) or channels (others).
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
    regular = True

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Bytes, as kernels/pulp/match_pulp.h gives them for each kernel."""
        if layer.op is Op.CONV2D and not is_pointwise(layer):
            return self.cores * 2 * align4(tile.fy * tile.fx * tile.c)
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
                channels = share_of_channels(tile.k, self.cores, 2)
                return tile.oy * tile.ox * self._product(channels, 1, tile.c, tile)
            case Op.ADD:
                each = self.cycles.add if self.form == "int32" else self.cycles.add_int64
                return self.cycles.addition + self._elements(layer, tile, each)
            case Op.LOOKUP:
                return self._elements(layer, tile, self.cycles.lookup)
            case Op.AVG_POOL2D | Op.MAX_POOL2D:
                return self._pool(layer, tile)

    def _product(self, channels: int, pixels: int, length: int, tile: Tile) -> float:
        """Output channels of a pixel or two: blocks of four channels, then one by one.

        Vectors shorter than a word are a pixel's after the other's.
        """
        if length < WORD:
            return self.cycles.product + pixels * self._short_product(channels, length, tile)
        blocks, rest = divmod(channels, 4)
        work = self.cycles.product + (pixels - 1) * self.cycles.pair
        if blocks:
            work += self.cycles.fours + blocks * self._block(4, pixels, length, tile)
        if rest:
            work += rest * self._block(1, pixels, length, tile)
        return work

    def _block(self, channels: Literal[1, 4], pixels: int, length: int, tile: Tile) -> float:
        """Four channels of a pixel or two, or one of them."""
        beside = self.cycles.block if channels == 4 else self.cycles.single
        if self.form == "int64" and tile.end:
            beside += self.cycles.rare
        return beside + self._steps(channels, pixels, length, tile) + pixels * channels * self._finish(tile)

    def _short_product(self, channels: int, length: int, tile: Tile) -> float:
        """A pixel whose vectors are shorter than a word."""
        blocks, rest = divmod(channels, 4)
        cycles, each = self.cycles, self._finish(tile)
        rare = cycles.rare if self.form == "int64" and tile.end else 0
        fours = cycles.short_block + rare + short_step(4) * length + 4 * each
        ones = cycles.short_single + rare + short_step(1) * length + each
        return cycles.short + blocks * fours + rest * ones

    def _steps(self, channels: int, pixels: int, length: int, tile: Tile) -> float:
        """Loads and dot products of a block, for vectors of `length` bytes.

        Of vectors that are no whole words the last bytes take a step of their own; rows of weights then begin anywhere,
        and words across a border take a cycle more. That is charged for the channels behind the last multiple of
        `CHANNEL_GROUP`: the others can be cut off.
        """
        words, rest = divmod(length, WORD)
        if rest == 0:
            return step(channels, pixels) * words
        loose = length // tile.c * (tile.c % CHANNEL_GROUP) // 4
        crossing = channels * (0.5 if rest == 2 else 0.75) * (min(words, loose) + 1)
        return step(channels, pixels) * (words + 1) + crossing + last_step(channels, pixels)

    def _finish(self, tile: Tile) -> float:
        """An accumulator behind its dot product: it may go on from a partial sum, and be left as one."""
        cycles = self.cycles
        if not tile.end or self.form == "sums":
            return cycles.sums + (0 if tile.begin else cycles.resumed)
        return self.requantize + (0 if tile.begin else cycles.taken)

    def _convolution(self, layer: Layer, tile: Tile) -> float:
        """Rows are shared out; the windows of two pixels at a time are copied into vectors.

        A tile is taken to have as many windows at the border as the layer: where it lies changes nothing.
        """
        cycles = self.cycles
        row_bytes = tile.fx * tile.c
        length = tile.fy * row_bytes
        each = cycles.row + (cycles.odd if row_bytes % 8 else 0)
        column = cycles.column + tile.fy * each + length * cycles.byte
        pairs, single = divmod(tile.ox, 2)
        border = border_windows(layer)
        row = cycles.line + (border if border < tile.ox else tile.ox) * cycles.border
        row += pairs * (2 * column + self._product(tile.k, 2, length, tile))
        if single:
            row += column + self._product(tile.k, 1, length, tile)
        return ceil_div(tile.oy, self.cores) * row

    def _pointwise(self, tile: Tile) -> float:
        """Pixels are shared out."""
        pixels = ceil_div(tile.oy * tile.ox, self.cores)
        pairs, single = divmod(pixels, 2)
        work = pairs * self._product(tile.k, 2, tile.c, tile)
        if single:
            work += self._product(tile.k, 1, tile.c, tile)
        return pixels * self.cycles.pixel + work

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
