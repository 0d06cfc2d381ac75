"""A PULP cluster with 8-bit SIMD dot products, executing the kernels of kernels/pulp.

The formulas are those kernels' loops, and count the cycles of the core with the most work. A block of 4 output channels
x 2 pixels takes 6 loads and 8 dot products a word, 14 instructions for 32 multiply-accumulates in a hardware loop, as
in PULP-NN (Garofalo et al., 2020). What stands around the loops is `KernelCycles`, measured on open RTL.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal

from match.cost_models.dma import Mchan
from match.cost_models.pulp_loops import (
    WORD,
    align4,
    are_shared,
    border_rows,
    border_windows,
    columns_bytes,
    copied_column,
    crossing,
    even,
    is_in_place,
    is_pointwise,
    last_step,
    seen_rows,
    share_of_channels,
    short_step,
    step,
    strip_columns,
    unaligned,
)
from match.ir.layer import Layer, Op
from match.target.cost import Block, CostModel, Tile, ceil_div, choose, smaller

Form = Literal["int32", "high", "high_signed", "int64", "sums"]
"""Of requantization, by its name in match/tile_constants.py; int64 stands for int64_signed too, sums for none."""

REQUANTIZATION = {"high": 10.0, "high_signed": 12.0, "int64": 35.0}
"""Cycles of match_pulp_requantize for an output by form, for accelerators that leave accumulators.

Measured on RTL: 8 to 32 pixels of 16 and of 32 channels.
"""

EXCEPTIONS = (15.0, 0.4)
"""An accumulator's comparison with the exceptions of its channel: once, and for each word that a channel has for them.

Fitted to four layers measured on RTL, with 2, 2, 8 and 32 words: 19, 18, 14 and 29 cycles. Most
channels have fewer exceptions than words, and the first that is not above an accumulator ends its comparisons.
"""

BLOCK_EXCEPTIONS = 5.0
"""More for an output of a product by upper words, whose blocks are in C and not in assembly then.

Outputs take 30 to 38 cycles on one core's RTL, requantization included, the more the more exceptions channels have,
and 36 to 40 on GVSoC with eight.
"""

REQUANTIZATION_CALL = 200
"""A call of it beside its outputs."""

REQUANTIZATION_CHANNEL = 12
"""A channel, whose parameters are loaded for each row of a core's pixels; these are taken to lie in two."""

PAIR, SINGLE = 19, 15
"""Vectors of two words and more: a pair of pixels or a single one beside their blocks, counted in the assembly."""

BLOCK: dict[str, int] = {"int32": 7, "high": 9, "high_signed": 9}
"""A block of four channels of a pair beside its steps and outputs: addends, the loop, addresses. Of one pixel 1 less,
or 4 with addends."""

OUTPUT: dict[tuple[str, int], float] = {
    ("int32", 2): 5.25,
    ("high", 2): 8.75,
    ("high_signed", 2): 11.25,
    ("int32", 1): 6.75,
    ("high", 1): 9.75,
    ("high_signed", 1): 12.75,
}
"""One of its outputs by form and pixels: parameters, shared by two pixels, scaling, a quarter of a packed word. Five
cycles of the last two forms are the multiplication for the upper word."""

STRIP_ROW = {(3, 1): 12, (3, 2): 23, (5, 1): 19, (5, 2): 31}
"""A row of a strip of a depthwise convolution, by size of the filter and stride: loads, packs, dot products, moves."""

STRIP_OUTPUT: dict[str, int] = {"int32": 4, "high": 9}
"""One of its outputs by form, the five cycles of a multiplication for the upper word among them."""

STRIP_SUM = 2
"""An output whose sum is kept, in other forms."""

STRIP_HIGH = 9
"""What an output with exceptions takes less by upper words than in 64 bits, where `KernelCycles.called` is: measured on
RTL, 8 channels of 8x8 outputs with 2 and 8 words."""

SUM4 = 4
"""A window's element of four channels in an average: load, move, two additions."""

MATRIX_STEP = step(4, 2) + 2
"""Cycles of a word of a unit of matrices: the products, and the bytes of two rows added up."""

CHANNEL_GROUP = 16
"""Input channels are cut at multiples of this, see `Cluster.tile_multiples`."""


@dataclass(frozen=True)
class KernelCycles:
    """Cycles of one core around the inner loops of kernels/pulp, with data and instructions at hand.

    Fitted by least squares to kernel calls on CV32E40P RTL: ``python -m benchmarks.rtl --fit``. GCC 12, -O2.

    call: a kernel call, on each core. group: a group of a grouped convolution, taken to be a call.
    product: the outputs of some pixels, whose registers are stored before and loaded behind. pair: two of these pixels,
    or a last one, where vectors are no whole words or sums partial. block: four channels of them beside their steps and
    outputs. rest: the last channels of some pixels, fewer than four. last: a pixel of that. single: a block of two
    channels or one.
    other_single: a block of one channel in memory, of sums and int64. rare: a block of four channels of int64.
    short: a pixel whose vectors are shorter than a word. short_block, short_single: its blocks of four channels and of
    one, beside bytes and outputs. short_left: a block left as sums. short_output: more for an output through memory.
    sums: an output that is left as a sum. resumed, taken: a partial sum that an output goes on from, which is left as
    a sum again, or requantized.
    int32, high, high_signed, int64: an output's requantization in a product; int32, high, int64: in pooling, too.
    line: a row of outputs of a convolution. band: columns of the input that are laid out at a time; row: a row of them
    where pixels have more than four channels; pixel: one of these that is no whole words, beside its pairs of words.
    strip: depthwise in strips of outputs (3x3: two columns, 5x5: one), what all channels of a strip have in common.
    channel3, channel5: a channel of it beside its rows, by filter.
    called: an output there in the other forms than int32 and high, a call.
    strip_row, gather: other depthwise, a filter column of a column of outputs; a byte of that. window: the calls around
    the products of one, and its output's requantization, which hardly depends on the form there.
    position: pooling, an output pixel. averages, maxima: four channels of it. sum_row: a row of a window of these.
    maximum4: a window's element of these.
    multiply, squared_difference: an element beside its requantization; turned_pixel, turned: a pixel of a transposition
    and an element of it. Counted in the compiled code of RV32IMC, with stalls and taken branches, not fitted.
    turned_unit, turned_word: an element of more than one byte, and a word of it; fitted to three layers on GVSoC
    (elements of 3, 12 and 20 bytes).
    gathered_run, gathered, gathered_word: a run of a gather, an output column of it, a word of that; fitted to ten
    layers on RTL (padding, steps, repetition and reversal, elements of 1 to 240 bytes), within 10 %.
    matrix_rows, matrix_word, matrix_byte: products of two matrices. A core sums up four rows of the second matrix: a
    constant, and more for each word of a row and for each byte behind the words. matrix_unit: these four rows times two
    rows of the first matrix, without steps and outputs. matrix_rest: more where rows are no whole words. matrix_int64:
    the requantization of an output in 64 bits.
    softmax_row, softmax: a row of softmax beside its elements, and an element; fitted to eight calls on RTL (2 to 16
    rows of 3 to 128).
    normalized_row, normalized: a row of a normalization beside its elements, and an element beside its
    requantization; fitted to three layers on RTL (16 rows of 64, 4 of 256, 64 of 16).
    lstm_step: a step of a sequence beside its units. lstm_unit: a unit in it beside its sums. lstm_sums: these of its
    gates over the input, or over the states, beside their products. Fitted by least squares to nine layers on RTL (3
    to 64 units, 2 to 64 features, one and two sequences), within 2.5 %.
    resized_pixel, resized: a pixel of a resize, fitted to two layers on GVSoC (16 x 16 pixels of 16 channels, 33 x 33
    of 5), and a channel of it, counted in the compiled code.
    channel_lookup_pixel, channel_lookup: a pixel of a lookup by channel beside its elements, and an element.
    addition: an addition beside its elements. run: elements to add or look up that lie behind a gap; measured
    apart, not fitted. add, add_int64, lookup, quantize, dequantize: an element, of additions by form.
    """

    call: float = 173.8
    group: float = 173.8
    product: float = 86.5
    pair: float = 24.0
    block: float = 7.3
    rest: float = 33.9
    last: float = 14.5
    single: float = 20.5
    other_single: float = 142.3
    rare: float = 195.8
    short: float = 25.6
    short_block: float = 23.2
    short_left: float = 3.2
    short_single: float = 179.8
    short_output: float = 39.2
    sums: float = 2.99
    resumed: float = 1.79
    taken: float = 3.6
    int32: float = 6.81
    high: float = 11.1
    high_signed: float = 14.7
    int64: float = 52.1
    line: float = 262.4
    band: float = 148.6
    pixel: float = 14.7
    row: float = 12.5
    strip: float = 177.1
    channel3: float = 67.2
    channel5: float = 102.2
    called: float = 58.3
    strip_row: float = 26.3
    gather: float = 11.2
    window: float = 74.6
    position: float = 105.7
    sum_row: float = 12.6
    averages: float = 44.8
    maxima: float = 42.3
    maximum4: float = 8.68
    addition: float = 173.7
    run: float = 45
    add: float = 6.72
    add_int64: float = 51.2
    lookup: float = 3.08
    channel_lookup_pixel: float = 22
    channel_lookup: float = 4
    multiply: float = 13
    squared_difference: float = 17
    turned_pixel: float = 36
    turned: float = 5
    turned_unit: float = 22
    turned_word: float = 1
    gathered_run: float = 73.5
    gathered: float = 8.35
    gathered_word: float = 1.75
    matrix_rows: float = 178.2
    matrix_word: float = 23.5
    matrix_byte: float = 28.8
    matrix_unit: float = 64.6
    matrix_rest: float = 86.3
    matrix_int64: float = 22.5
    softmax_row: float = 160
    softmax: float = 49.2
    normalized_row: float = 290
    normalized: float = 30.5
    lstm_step: float = 251
    lstm_unit: float = 154
    lstm_sums: float = 170
    resized_pixel: float = 38
    resized: float = 13
    quantize: float = 24.3
    dequantize: float = 6.36


@dataclass(frozen=True)
class Sharing:
    """What cores lose in a cluster, beside one that has L1 and instructions at hand.

    Fitted by least squares to the cycles of 95 layers of five networks on GVSoC, eight cores (docs/pulp-open.md).

    waits: share of a kernel's cycles on eight cores: banks of L1 that others use, instructions that a core's own cache
    does not hold, the last core to finish. Of fewer cores it is less by the neighbours that are not there.
    recurrent: the same of an LSTM, whose unit has more instructions than a core's own cache holds, so that each unit
    fetches them anew. It and the first call of an LSTM are fitted to three layers (8, 16 and 40 features, 16, 32 and
    64 units).
    pointwise, convolution, depthwise, addition, pooling, dense, matrices, lstm, other: the first call of a kernel in a
    layer, whose instructions come from the main memory.
    """

    waits: float = 0.10
    recurrent: float = 0.28
    pointwise: float = 1650
    convolution: float = 1700
    depthwise: float = 1900
    addition: float = 1150
    pooling: float = 1000
    dense: float = 200
    matrices: float = 1800
    lstm: float = 1560
    other: float = 660

    def factor(self, cores: int, op: Op | None = None) -> float:
        """What the cycles of a kernel are multiplied with, that of an operator or any."""
        waits = self.recurrent if op is Op.LSTM else self.waits
        return 1 + waits * (cores - 1) / 7

    def first(self, layer: Layer) -> float:
        """Cycles of the first call of the kernel of an operator beyond those of the next ones."""
        match layer.op:
            case Op.CONV2D | Op.GROUPED_CONV2D:
                return self.pointwise if is_pointwise(layer) else self.convolution
            case Op.DEPTHWISE_CONV2D:
                return self.depthwise
            case Op.ADD | Op.MULTIPLY | Op.SQUARED_DIFFERENCE:
                return self.addition
            case Op.AVG_POOL2D | Op.MAX_POOL2D:
                return self.pooling
            case Op.DENSE:
                return self.dense
            case Op.MATRICES:
                return self.matrices
            case Op.LSTM:
                return self.lstm
            case _:
                return self.other


ALONE = Sharing(*[0] * len(fields(Sharing)))
"""One core, whose instructions are at hand."""


def compare(exceptions: int) -> float:
    """Cycles of an accumulator's comparison with a channel's exceptions, of which the parameters hold so many words."""
    once, each = EXCEPTIONS
    return once + each * exceptions if exceptions else 0.0


@dataclass(frozen=True)
class PulpClusterCost(CostModel):
    """Cycles and scratch of the cluster's kernels.

    cores: workers that share out a tile: pairs of pixels by fours of channels (convolutions), strips of channels
        (depthwise), elements (addition, lookup) or channels (others).
    form: of requantization. exceptions: 32-bit words of each channel that list exceptions of its form.
    kernel: cycles of a kernel call beside the work: filling in the tile's context (about 40 stores), fork and barrier
        of the event unit (tens of cycles, Glaser et al., 2020). Estimated.
    offload: cycles of a layer beside tiles: the control core's task, waking the cluster, the prologue. GVSoC counts
        that for the dense layers of ResNet8 and DS-CNN beyond their tiles (docs/pulp-open.md).
    cycles: of one core. sharing: what all of them lose.
    """

    cores: int = 8
    form: Form = "high"
    exceptions: int = 0
    kernel: int = 150
    offload: int = 920
    cycles: KernelCycles = field(default_factory=KernelCycles)
    sharing: Sharing = field(default_factory=Sharing)
    dma: Mchan = field(default_factory=Mchan)

    overlap = True
    arrays = True

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Bytes, as kernels/pulp/match_pulp.h gives them for each kernel."""
        if layer.op is Op.GROUPED_CONV2D or (layer.op is Op.CONV2D and not is_pointwise(layer)):
            return self.cores * columns_bytes(align4(tile.fy * tile.fx * tile.c) + WORD)
        if layer.op is Op.DEPTHWISE_CONV2D:
            return self.cores * align4(tile.fx * seen_rows(layer, tile))
        if layer.op is Op.LSTM:
            return align4(2 * tile.ox * tile.k)
        return 0

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of the busiest core, and what it waits for others."""
        return (self.cycles.call + self._work(layer, tile)) * self.sharing.factor(self.cores, layer.op)

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
        """The offload from the control core, and the first calls of all kernels."""
        return self.offload + sum(self.sharing.first(operator) for operator in layer.operators)

    @property
    def requantize(self) -> float:
        """Cycles of an output's requantization."""
        cycles: float = getattr(self.cycles, self.form)
        return cycles + compare(self.exceptions)

    def _work(self, layer: Layer, tile: Tile) -> float:
        match layer.op:
            case Op.CONV2D:
                return self._pointwise(tile) if is_pointwise(layer) else self._convolution(layer, tile)
            case Op.GROUPED_CONV2D:
                group = self._convolution(layer, tile._replace(k=layer.group_outputs))
                return tile.k * (self.cycles.group + group)
            case Op.DEPTHWISE_CONV2D:
                return self._depthwise(layer, tile)
            case Op.DENSE:
                return tile.oy * self._product(ceil_div(tile.k, self.cores), tile.ox, tile.c, tile)
            case Op.MATRICES:
                return self._matrices(tile)
            case Op.ADD:
                each = self.cycles.add if self.form == "int32" else self.cycles.add_int64
                return self.cycles.addition + self._elements(layer, tile, each)
            case Op.LOOKUP | Op.QUANTIZE | Op.DEQUANTIZE:
                each = getattr(self.cycles, layer.op)
                return self._elements(layer, tile, each)
            case Op.CHANNEL_LOOKUP:
                pixels = tile.oy * tile.ox
                rows = ceil_div(pixels, self.cores) * self.cycles.channel_lookup_pixel
                return rows + self._elements(layer, tile, self.cycles.channel_lookup)
            case Op.SLICE:
                return self._elements(layer, tile, self.cycles.lookup)
            case Op.MULTIPLY | Op.SQUARED_DIFFERENCE:
                each: float = getattr(self.cycles, layer.op)
                return self.cycles.addition + self._elements(layer, tile, each + self.requantize)
            case Op.CONCATENATE:
                parts = layer.first_channels, layer.k - layer.first_channels
                pixels = tile.oy * tile.ox
                return sum(self._runs(pixels, pixels * part, self.cycles.lookup) for part in parts)
            case Op.TRANSPOSE:
                pixel = self.cycles.turned_pixel + self._turned(layer.unit) * tile.k
                return ceil_div(tile.oy * tile.ox, self.cores) * pixel
            case Op.GATHER:
                return self._gathered(layer, tile)
            case Op.SOFTMAX:
                row = self.cycles.softmax_row + self.cycles.softmax * tile.k
                return ceil_div(tile.oy * tile.ox, self.cores) * row
            case Op.NORMALIZE:
                row = self.cycles.normalized_row + (self.cycles.normalized + self.requantize) * tile.k
                return ceil_div(tile.oy * tile.ox, self.cores) * row
            case Op.LSTM:
                return self._lstm(tile)
            case Op.RESIZE:
                pixel = self.cycles.resized_pixel + self.cycles.resized * tile.k
                return ceil_div(tile.oy * tile.ox, self.cores) * pixel
            case Op.AVG_POOL2D | Op.MAX_POOL2D:
                return self._pool(layer, tile)
            case Op.OWN:
                raise NotImplementedError(f"{layer.own}: who brings an operator says what it costs")

    def _lstm(self, tile: Tile) -> float:
        """Units are shared out; in the first step states are zero and not multiplied."""
        cycles, units = self.cycles, ceil_div(tile.k, self.cores)
        fed, back = (self._gate_sums(length, tile) for length in (tile.c, tile.k))
        unit = tile.oy * (cycles.lstm_unit + fed) + (tile.oy - 1) * back
        return tile.oy * cycles.lstm_step + tile.ox * units * unit

    def _gate_sums(self, length: int, tile: Tile) -> float:
        """Of four gates over a vector, scaled to 16 bits."""
        words = self._steps(4, 1, length, tile._replace(c=length))
        return self.cycles.lstm_sums + choose(length < WORD, short_step(4) * length, words)

    def _gathered(self, layer: Layer, tile: Tile) -> float:
        """Columns of a gather, some of which are copied together where a tile has all of their channels."""
        pixels = ceil_div(tile.oy * tile.ox, self.cores)
        runs = ceil_div(layer.runs * tile.ox, layer.ox) * tile.oy
        copies = choose(tile.k == layer.k, ceil_div(runs, self.cores), pixels)
        column = self.cycles.gathered + self.cycles.gathered_word * ceil_div(tile.k, WORD)
        return copies * self.cycles.gathered_run + pixels * column

    def _turned(self, unit: int) -> float:
        """Cycles of an element of a transposition, of so many bytes."""
        if unit == 1:
            return self.cycles.turned
        return self.cycles.turned_unit + self.cycles.turned_word * ceil_div(unit, WORD)

    def _matrices(self, tile: Tile) -> float:
        """Units of four rows of the second matrix and two of the first are shared out, those of a four one by one."""
        cycles = self.cycles
        words, rest = divmod(tile.c, WORD)
        pairs = ceil_div(tile.ox, 2)
        units = ceil_div(tile.oy * ceil_div(tile.k, 4) * pairs, self.cores)
        rows = cycles.matrix_rows + cycles.matrix_word * words + cycles.matrix_byte * rest
        output = cycles.matrix_int64 + compare(self.exceptions) if self.form == "int64" else self.requantize
        unit = cycles.matrix_unit + MATRIX_STEP * words + choose(rest > 0, cycles.matrix_rest, 0)
        return ceil_div(units, pairs) * rows + units * (unit + 8 * output)

    def _product(self, channels: int, pixels: int, length: int, tile: Tile) -> float:
        """Output channels of some pixels, two at a time: blocks of four channels, then the last ones pixel by pixel.

        What a pair of pixels takes does not depend on their number: arrays are multiplied with that in the end.
        """
        pairs, single = divmod(pixels, 2)
        call, pair, one = self._product_parts(channels, length, tile)
        return call + pairs * pair + single * one

    def _product_parts(self, channels: int, length: int, tile: Tile) -> tuple[float, float, float]:
        """Of a product: beside its pixels, a pair of pixels, a single one."""
        blocks, rest = divmod(channels, 4)
        call, pair, one = self._blocks(blocks, length, tile)
        last = choose(rest > 0, self.cycles.last + self._last_channels(rest, length, tile), 0)
        call = call + choose(rest > 0, self.cycles.rest, 0)
        short, is_short = self._short_pixel(channels, length, tile), length < WORD
        return (
            choose(is_short, self.cycles.product, call),
            choose(is_short, 2 * short, pair + 2 * last),
            choose(is_short, short, one + last),
        )

    def _blocks(self, blocks: int, length: int, tile: Tile) -> tuple[float, float, float]:
        """The same of blocks of four channels; in int64 they pass through memory."""
        cycles = self.cycles
        two, one = (cycles.pair + blocks * self._block(4, pixels, length, tile) for pixels in (2, 1))
        if self.form in BLOCK and not self.exceptions:
            words = self._is_fast(tile) & (length % WORD == 0) & (length >= 2 * WORD)
            two = choose(words, PAIR + blocks * self._words(2, length), two)
            one = choose(words, SINGLE + blocks * self._words(1, length), one)
        call, two, one = (choose(blocks > 0, each, 0) for each in (cycles.product, two, one))
        if self.form != "int64":
            return call, two, one
        rare = (blocks * self._rare_block(pixels, length, tile) for pixels in (2, 1))
        two, one = (choose(tile.end, each, usual) for each, usual in zip(rare, (two, one), strict=True))
        return choose(tile.end, cycles.product, call), two, one

    def _words(self, pixels: Literal[1, 2], length: int) -> float:
        """Four channels of a pixel or two whose vectors are two words or more, in assembly (match_pulp_words.h)."""
        block = BLOCK[self.form] - (0 if pixels == 2 else 1 if self.form == "int32" else 4)
        return block + step(4, pixels) * (length // WORD) + 4 * pixels * OUTPUT[self.form, pixels]

    def _is_fast(self, tile: Tile) -> bool:
        """Whether outputs are requantized in a form with loops of its own, and no sums are partial."""
        return tile.begin & tile.end & (self.form in ("int32", "high", "high_signed"))

    def _block(self, channels: Literal[1, 2, 4], pixels: Literal[1, 2], length: int, tile: Tile) -> float:
        """Some channels of a pixel or two."""
        beside = self.cycles.single if channels < 4 else self.cycles.block
        return beside + self._steps(channels, pixels, length, tile) + pixels * channels * self._finish(tile)

    def _last_channels(self, channels: int, length: int, tile: Tile) -> float:
        """One to three channels of a pixel: blocks of two and of one, or each in memory."""
        two, one = (self._block(n, 1, length, tile) for n in (2, 1))
        other = self.cycles.other_single + self._steps(1, 1, length, tile) + self._finish(tile)
        return choose(self._is_fast(tile), channels // 2 * two + channels % 2 * one, channels * other)

    def _rare_block(self, pixels: Literal[1, 2], length: int, tile: Tile) -> float:
        """Four channels of a pixel or two in int64, which pass through memory."""
        return self.cycles.rare + self._steps(4, pixels, length, tile) + 4 * pixels * self._finish(tile)

    def _short_pixel(self, channels: int, length: int, tile: Tile) -> float:
        """A pixel whose vectors are shorter than a word."""
        blocks, rest = divmod(channels, 4)
        cycles, each = self.cycles, self._finish(tile)
        kept = choose(tile.end, cycles.short_output, 0) if self.form == "int64" else 0
        block = choose(tile.end, cycles.short_block, cycles.short_left)
        if self.form == "sums":
            block = cycles.short_left
        fours = block + short_step(4) * length + 4 * (each + kept)
        ones = cycles.short_single + short_step(1) * length + each
        return cycles.short + blocks * fours + rest * ones

    def _steps(self, channels: int, pixels: int, length: int, tile: Tile) -> float:
        """Loads and dot products of a block.

        Of vectors that are no whole words the last bytes take a step of their own; rows of weights then begin anywhere,
        and words across a border take a cycle more. That is charged for the channels behind the last multiple of
        `CHANNEL_GROUP`: the others can be cut off.
        """
        words, rest = divmod(length, WORD)
        loose = tile.c % CHANNEL_GROUP // 4
        across = channels * crossing(rest) * (smaller(words, loose) + 1)
        broken = step(channels, pixels) + across + last_step(channels, pixels)
        return step(channels, pixels) * words + choose(rest == 0, 0, broken)

    def _finish(self, tile: Tile) -> float:
        """An accumulator behind its dot product: it may go on from a partial sum, and be left as one."""
        cycles = self.cycles
        left = cycles.sums + choose(tile.begin, 0, cycles.resumed)
        if self.form == "sums":
            return left
        more = BLOCK_EXCEPTIONS if self.exceptions and self.form == "high" else 0
        return choose(tile.end, self.requantize + more + choose(tile.begin, 0, cycles.taken), left)

    def _convolution(self, layer: Layer, tile: Tile) -> float:
        """Pairs of pixels by fours of channels are shared out; a core that has a row or less has no single pixel.

        A tile is taken to have as many windows beside the input as the layer, and its share of those above and below:
        where it lies changes nothing.
        """
        share = self._share(tile.oy, tile.ox, tile.k)
        row = self._mean_row(layer, tile)
        if self.cores > 1:
            row = choose(tile.oy <= self.cores, self._mean_row(layer, tile._replace(ox=even(tile.ox))), row)
        return ceil_div(tile.oy, self.cores) * self.cycles.line + share * row

    def _mean_row(self, layer: Layer, tile: Tile) -> float:
        """A row of outputs, with its share of windows above and below the input; independent of `tile.oy`."""
        row = self._row(layer, tile, inside=True)
        outside = border_rows(layer) / layer.oy
        return row + outside * (self._row(layer, tile, inside=False) - row) if outside else row

    def _share(self, rows: int, columns: int, channels: int) -> float:
        """Rows of the busiest core: pairs of pixels by fours of channels are shared out."""
        units = ceil_div(columns, 2) * ceil_div(channels, 4)
        return ceil_div(rows * units, self.cores) / units

    def _row(self, layer: Layer, tile: Tile, *, inside: bool) -> float:
        """A row of outputs, whose windows lie inside the input's rows or not."""
        length = align4(tile.fy * tile.fx * tile.c)
        place = is_in_place(layer, tile) if inside else False
        run = choose(place, tile.ox - smaller(border_windows(layer), tile.ox), 0)
        work = choose(run > 0, self._product(tile.k, run, length, tile), 0)
        return work + choose(tile.ox > run, self._laid_out(layer, tile, tile.ox - run), 0)

    def _laid_out(self, layer: Layer, tile: Tile, windows: int) -> float:
        """Windows that are laid out by columns of the input, and multiplied, as many at a time as there is room for."""
        cycles = self.cycles
        length = align4(tile.fy * tile.fx * tile.c)
        shared = are_shared(layer, tile)
        distance = choose(shared, layer.stride[1] * tile.fy * tile.c, length)
        room = (columns_bytes(length + WORD) - length - WORD) // distance + 1
        at_once = room // 2 * 2
        whole, some = divmod(windows, at_once)
        times = ceil_div(windows, at_once)
        work = whole * self._product(tile.k, at_once, length, tile)
        work = work + choose(some > 0, self._product(tile.k, some, length, tile), 0)
        longer = choose(shared, unaligned(layer, tile) / 4, 0)
        work = work + windows * ceil_div(tile.k, 4) * (length // WORD) * longer
        calls = times * choose(shared, 1, layer.fx)
        columns = choose(shared, windows * layer.stride[1] + times * (layer.fx - layer.stride[1]), windows * layer.fx)
        large = tile.c > WORD
        loose = choose(large & (tile.c % WORD > 0), tile.fy * cycles.pixel, 0)
        work = work + calls * (cycles.band + choose(large, tile.fy * cycles.row, 0))
        return work + columns * (copied_column(layer, tile) + loose)

    def _pointwise(self, tile: Tile) -> float:
        """Pairs of pixels by fours of channels are shared out."""
        if self.cores == 1:
            return self._product(tile.k, tile.oy * tile.ox, tile.c, tile)
        pixels, product = even(tile.oy * tile.ox), self.cycles.product
        share = self._share(1, pixels, tile.k)
        call, pair, _ = self._product_parts(tile.k, tile.c, tile)
        products = choose(share * pixels <= 2, 1, 2)
        return products * product + share * (call - product) + share * pixels / 2 * pair

    def _depthwise(self, layer: Layer, tile: Tile) -> float:
        """In strips, if there is a kernel for them; at stride 2 it computes no fewer columns than a strip has."""
        columns, others = strip_columns(layer), self._depthwise_windows(layer, tile)
        if not columns:
            return others
        least = 1 if layer.stride == (1, 1) else columns
        return choose(tile.ox >= least, self._depthwise_strips(layer, tile, columns), others)

    def _depthwise_strips(self, layer: Layer, tile: Tile, columns: int) -> float:
        """Strips of `columns` columns of outputs are shared out, all channels of one, then of the next.

        The rows of outputs are counted in the assembly (match_pulp_depthwise_strips.c, match_pulp_depthwise_5x5.c).
        """
        cycles = self.cycles
        strips = ceil_div(tile.ox, columns)
        share = ceil_div(tile.k * strips, self.cores)
        channel = cycles.channel3 if layer.fy == 3 else cycles.channel5
        row = STRIP_ROW[layer.fy, layer.stride[0]]
        other = STRIP_SUM + cycles.called + compare(self.exceptions)
        excepting = self.exceptions > 0 and self.form == "high"
        each = other - STRIP_HIGH if excepting else STRIP_OUTPUT.get(self.form, other)
        return ceil_div(share, tile.k) * cycles.strip + share * (channel + tile.oy * (row + columns * each))

    def _depthwise_windows(self, layer: Layer, tile: Tile) -> float:
        """Columns of outputs are shared out; the windows of one are gathered, then multiplied one by one."""
        cycles = self.cycles
        strip = tile.fx * (cycles.strip_row + seen_rows(layer, tile) * cycles.gather)
        lengths = [tile.fy * tile.fx] if layer.dilation[0] == 1 else [tile.fx] * tile.fy
        rests = last_step(1, 1) if lengths[0] % WORD else 0
        output = len(lengths) * (step(1, 1) * ceil_div(lengths[0], WORD) + rests + cycles.window)
        return ceil_div(tile.k * tile.ox, self.cores) * (strip + tile.oy * output)

    def _pool(self, layer: Layer, tile: Tile) -> float:
        """Channels are shared out, four at a time; fewer take as long.

        Other forms than int32 and high are requantized by one function, which takes int64's time.
        """
        cycles = self.cycles
        elements = tile.fy * tile.fx
        if layer.op is Op.AVG_POOL2D:
            rows = 1 if tile.fx == layer.ix else tile.fy  # rows without gaps between them are one
            inlined = self.form in ("int32", "high") and not self.exceptions
            each = self.requantize if inlined else cycles.int64 + compare(self.exceptions)
            four = cycles.averages + rows * cycles.sum_row + elements * SUM4 + 4 * each
        else:
            four = cycles.maxima + elements * cycles.maximum4
        fours = share_of_channels(tile.k, self.cores, 0) // 4
        return tile.oy * tile.ox * (cycles.position + fours * four)

    def _elements(self, layer: Layer, tile: Tile, each: float) -> float:
        """Elements in runs without gaps.

        Whole rows are one run. Of others each row may be one, and each pixel where a tile has some of the channels, or
        another tensor has one pixel for all.
        """
        pixels = tile.oy * tile.ox
        rows = choose(tile.ox == layer.ox, 1, tile.oy)
        runs = pixels if layer.broadcast else choose(tile.k == layer.k, rows, pixels)
        return self._runs(runs, pixels * tile.k, each)

    def _runs(self, runs: int, elements: int, each: float) -> float:
        """Elements are shared out, words of them, and runs with them."""
        share = smaller(elements, align4(ceil_div(elements, self.cores)))
        return (ceil_div(runs, self.cores) - (runs == 1)) * self.cycles.run + share * each
