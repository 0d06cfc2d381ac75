"""A PULP cluster with 8-bit SIMD dot products, executing the kernels of kernels/pulp.

The formulas are those kernels' loops, and count the cycles of the core with the most work. A block of 4 output channels
x 2 pixels takes 6 loads and 8 dot products a word, 14 instructions for 32 multiply-accumulates in a hardware loop, as
in PULP-NN (Garofalo et al., 2020). What stands around the loops is `pulp_cycles.KernelCycles`, measured on open RTL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, NamedTuple

from match.cost_models.dma import Mchan
from match.cost_models.pulp_cycles import (
    BLOCK,
    CHANNEL_GROUP,
    COPIED_BYTES,
    COPIED_RUN,
    ENOUGH_SIGNS,
    LAST_OUTPUT,
    LINES,
    LOOKED_UP_ALONE,
    LOOKED_UP_AVERAGE,
    LOOKED_UP_OF_MATRICES,
    LOOKUP_BYTES,
    LOOKUP_RUN,
    MANY,
    MANY_RUNS,
    MANY_SUM4,
    MATRIX_LOADS,
    MATRIX_OUTPUT,
    MATRIX_STEP,
    MAXIMUM4,
    MAXIMUM_COLUMNS,
    MAXIMUM_ROW,
    OUTPUT,
    PAIR,
    ROUNDED_BEGIN,
    ROUNDED_SLOPES,
    SINGLE,
    SUM4,
    Form,
    KernelCycles,
    Sharing,
    looked_up,
)
from match.cost_models.pulp_depthwise import Depthwise
from match.cost_models.pulp_energy import PulpEnergy
from match.cost_models.pulp_int16 import INT16_ELEMENTS, Int16Cycles
from match.cost_models.pulp_loops import (
    STRIP_READS,
    WORD,
    align4,
    are_runs,
    are_shared,
    border_rows,
    border_windows,
    columns_bytes,
    crossing,
    even,
    is_lone,
    is_pointwise,
    last_step,
    seen_rows,
    share_of_channels,
    short_step,
    step,
    unaligned,
    widened,
)
from match.cost_models.pulp_transposition import transposition
from match.ir.attributes import Broadcast, ChannelGroups, Concatenation, Gathering, LookupTable
from match.ir.layer import GATES, Layer, Op
from match.target.cost import (
    Block,
    CostModel,
    Energy,
    Starting,
    Tile,
    at_each,
    ceil_div,
    choose,
    choose_for,
    larger,
    smaller,
)


class Product(NamedTuple):
    """Cycles of some output channels of pixels: beside the pixels, of a pair of pixels, of a single one."""

    call: float
    pair: float
    one: float

    def cycles(self, pixels: int) -> float:
        """Cycles of so many pixels, in pairs and at most a single one."""
        pairs, single = divmod(pixels, 2)
        return self.call + pairs * self.pair + single * self.one


@dataclass(frozen=True)
class PulpClusterCost(CostModel):
    """Cycles and scratch of the cluster's kernels.

    cores: workers that share out a tile: pairs of pixels by fours of channels (convolutions), strips of channels
        (depthwise), elements (addition, lookup) or channels (others).
    form: of requantization. listed: exceptions of an output channel in the mean.
    banks: what the cluster loses in each cycle in which NE16 computes another operator of a group: they share the banks
        of L1. Read off ten networks on GVSoC.
    kernel: cycles of a kernel call beside the work: filling in the tile's context (about 40 stores), fork and barrier
        of the event unit (tens of cycles, Glaser et al., 2020). Estimated.
    offload: cycles of a layer beside tiles: the control core's task, waking the cluster, the prologue. GVSoC counts
        that for the dense layers of ResNet8 and DS-CNN beyond their tiles (docs/pulp-open.md).
    cycles: of one core; int16: of activations of 16 bits. sharing: what all of them lose.
    ahead: of `kernel`, until the workers begin, where a master that is none of them starts them and goes on; None where
        it works, too, or waits.
    held: cycles that a call of a small kernel in a group takes less, if the kernel was called before and the call in
        front is of a small one, too: caches still hold its instructions.
    consumption: of the chip's units, None where it is not known.
    """

    cores: int = 8
    form: Form = "split"
    listed: float = 0
    banks: float = 0.2
    kernel: int = 150
    offload: int = 920
    cycles: KernelCycles = field(default_factory=KernelCycles.measured)
    int16: Int16Cycles = field(default_factory=Int16Cycles.measured)
    sharing: Sharing = field(default_factory=Sharing.measured)
    dma: Mchan = field(default_factory=Mchan)
    ahead: int | None = None
    held: int = 0
    consumption: PulpEnergy | None = None

    overlap = True
    arrays = True

    @property
    def energy(self) -> Energy | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What all its cores consume in a kernel."""
        return self.consumption and self.consumption.of_cluster(self.cores)

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Bytes, as kernels/pulp/match_pulp.h gives them for each kernel."""
        if layer.op in GATES:
            return align4((5 if layer.op is Op.GRU_RESET_FIRST else 2) * tile.ox * tile.k)
        if layer.input_dtype == "int16":
            return 0
        if layer.op is Op.GROUPED_CONV2D or (layer.op is Op.CONV2D and not is_pointwise(layer)):
            return self.cores * columns_bytes(align4(tile.fy * tile.fx * tile.c) + WORD)
        if layer.op is Op.DEPTHWISE_CONV2D:
            columns = self.cores * align4(tile.fx * seen_rows(layer, tile))
            wide = widened(layer)
            if wide is None:
                return columns
            some = (wide.fy == 5 or wide.stride[0] == 2) and not is_lone(layer)
            narrow = STRIP_READS * tile.iy * tile.k if some else 0
            return columns + align4(wide.fy * wide.fx * tile.k) + narrow
        return 0

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of the busiest core, and what it waits for others."""
        cycles = self.cycles.call + self._work(layer, tile)
        if layer.op is Op.DENSE and self.form in LAST_OUTPUT and layer.input_dtype != "int16":
            length = tile.c
            words = self._is_fast(tile) & (length % WORD == 0) & (length >= 2 * WORD)
            cycles = choose(words & (tile.oy * tile.ox == 1), self._row_of_words(tile), cycles)
        return cycles * self.sharing.factor(self.cores, layer)

    def sees_padding(self, layer: Layer) -> bool:
        """Depthwise convolutions: narrow tiles have kernels of their own."""
        return layer.op is Op.DEPTHWISE_CONV2D

    def launch(self, layer: Layer) -> float:
        """The same for every kernel."""
        return self.kernel

    def starting(self, layer: Layer, tile: Tile) -> Starting:
        """The master goes on, if it is none of the workers."""
        return super().starting(layer, tile) if self.ahead is None else Starting(self.ahead)

    def beside(self, layer: Layer) -> float:
        """They share the banks of L1."""
        return self.banks

    def transfer(self, layer: Layer, block: Block) -> float:
        """MCHAN's, and what the cores' use of L1's banks adds."""
        return self.dma.transfer(block) * self.sharing.transfer(self.cores, layer.op)

    def issue(self, layer: Layer) -> float:
        """MCHAN's."""
        return self.dma.call

    def overhead(self, layer: Layer) -> float:
        """The offload from the control core, and loading the instructions of all kernels."""
        return self.offload + sum(self.sharing.calls(layer.operators, self.cores))

    def group_overhead(self, layer: Layer) -> float:
        """The offload."""
        return self.offload

    def group_calls(self, layers: Sequence[Layer]) -> Sequence[float]:
        """Loading the instructions of each operator's kernel, or again if others have displaced them."""
        loaded, held = self.sharing.calls(layers, self.cores), self.sharing.held(layers, self.cores)
        return [cycles - self.held * again for cycles, again in zip(loaded, held, strict=True)]

    @property
    def requantize(self) -> float:
        """Cycles of an output's requantization."""
        cycles: float = getattr(self.cycles, self.form)
        return cycles

    def _work(self, layer: Layer, tile: Tile) -> float:
        if layer.input_dtype == "int16":
            return self._of_int16(layer, tile)
        match layer.op:
            case Op.CONV2D:
                return self._pointwise(tile) if is_pointwise(layer) else self._convolution(layer, tile)
            case Op.GROUPED_CONV2D:
                group = self._convolution(layer, tile._replace(k=layer.get(ChannelGroups).outputs))
                begin = self.cycles.group + (self.cycles.group_share if self.cores > 1 else 0)
                return tile.k * (begin + group)
            case Op.DEPTHWISE_CONV2D:
                fetched = self.sharing.phase * (self.cores - 1) / 7
                gathered = self.sharing.of_gathered(self.cores)
                depthwise = Depthwise(self.cores, self.form, self.listed, self.cycles, fetched, gathered)
                return depthwise.work(layer, tile)
            case Op.DENSE:
                return tile.oy * self._product(ceil_div(tile.k, self.cores), tile.c, tile).cycles(tile.ox)
            case Op.MATRICES:
                return self._matrices(tile)
            case Op.ADD | Op.MULTIPLY if layer.get(Broadcast).kind and self.form in LINES and not self.listed:
                return self._lines_of_one(layer, tile)
            case Op.ADD:
                each = {"int32": self.cycles.add, "split": self.cycles.add_split}.get(self.form, self.cycles.add_int64)
                return self.cycles.addition + self._elements(layer, tile, each)
            case Op.LOOKUP if layer.get(LookupTable).turns_signs:
                signs = self.cycles.signs + self._elements(layer, tile, self.cycles.sign)
                enough = tile.oy * tile.ox * tile.k >= ENOUGH_SIGNS * self.cores
                return choose(enough, signs, self._looked_up(layer, tile))
            case Op.LOOKUP:
                return self._looked_up(layer, tile)
            case Op.SLICE:
                return self._sliced(layer, tile)
            case Op.REQUANTIZE | Op.LEAKY_RELU | Op.LOGISTIC | Op.TANH:
                return self._of_int16(layer, tile)
            case Op.QUANTIZE | Op.DEQUANTIZE | Op.DEQUANTIZE_SUMS:
                return self._elements(layer, tile, getattr(self.cycles, layer.op))
            case Op.CHANNEL_LOOKUP:
                pixels = tile.oy * tile.ox
                rows = ceil_div(pixels, self.cores) * self.cycles.channel_lookup_pixel
                return rows + self._elements(layer, tile, self.cycles.channel_lookup)
            case Op.MULTIPLY:
                alone = self.cycles.multiply_alone if self.listed and self.form in LINES else 0
                each = self._by_form("multiply") + alone + looked_up(self.listed)
                return self.cycles.addition + self._elements(layer, tile, each)
            case Op.SQUARED_DIFFERENCE:
                each = self.cycles.squared_difference + self.requantize + looked_up(self.listed)
                return self.cycles.addition + self._elements(layer, tile, each)
            case Op.LOOKUP_SUM | Op.ABSOLUTE_DIFFERENCE:
                return self._elements(layer, tile, getattr(self.cycles, layer.op))
            case Op.LOOKUP_LINE:
                return self._lines(layer, tile)
            case Op.CONCATENATE:
                return self._concatenation(layer, tile)
            case Op.TRANSPOSE:
                return transposition(layer, tile, self.cores, self.cycles)
            case Op.GATHER:
                return self._gathered(layer, tile)
            case Op.SOFTMAX:
                row = self.cycles.softmax_row + self.cycles.softmax * tile.k
                return ceil_div(tile.oy * tile.ox, self.cores) * row
            case Op.LOG_SOFTMAX:
                row = self.cycles.logarithm_row + self.cycles.logarithm * tile.k
                return ceil_div(tile.oy * tile.ox, self.cores) * row
            case Op.NORMALIZE:
                return self._normalization(tile)
            case Op.LSTM:
                return self._lstm(tile)
            case Op.GRU | Op.GRU_RESET_FIRST:
                return self._gru(tile, layer.op is Op.GRU_RESET_FIRST)
            case Op.RESIZE:
                pixel = self.cycles.resized_pixel + self.cycles.resized * tile.k
                return ceil_div(tile.oy * tile.ox, self.cores) * pixel
            case Op.AVG_POOL2D | Op.MAX_POOL2D:
                return self._pool(layer, tile)
            case Op.FLOAT_AVG_POOL2D:
                return self._float_average(tile)
            case Op.OWN:
                raise NotImplementedError(f"{layer.what}: who brings an operator says what it costs")

    def _lstm(self, tile: Tile) -> float:
        """Units are shared out; in the first step states are zero and not multiplied."""
        cycles, units = self.cycles, ceil_div(tile.k, self.cores)
        fed, back = (self._gate_sums(length) for length in (tile.c, tile.k))
        unit = tile.oy * (cycles.lstm_unit + fed) + (tile.oy - 1) * back
        return tile.oy * cycles.lstm_step + tile.ox * units * unit

    def _gru(self, tile: Tile, reset_first: bool) -> float:
        """As an LSTM; two gates are summed up together, the third by itself."""
        cycles, units = self.cycles, ceil_div(tile.k, self.cores)
        fed, back = (sum(_gate_products(gates, length) for gates in (2, 1)) for length in (tile.c, tile.k))
        if reset_first:
            unit = tile.oy * (cycles.reset_first_unit + fed) + (tile.oy - 1) * (cycles.reset_first_back + back)
            step = cycles.reset_first_step + self.sharing.meeting * (self.cores - 1) / 7
            return tile.oy * step + tile.ox * units * unit
        unit = tile.oy * (cycles.gru_unit + cycles.gru_sums + fed) + (tile.oy - 1) * (cycles.gru_sums + back)
        return tile.oy * cycles.gru_step + tile.ox * units * unit

    def _gate_sums(self, length: int) -> float:
        """Cycles of the sums of four gates over a vector, scaled to 16 bits."""
        return self.cycles.lstm_sums + _gate_products(4, length)

    def _gathered(self, layer: Layer, tile: Tile) -> float:
        """Columns of a gather; those of a run are one copy where a tile has all of their channels."""
        pixels = ceil_div(tile.oy * tile.ox, self.cores)
        runs = ceil_div(ceil_div(layer.get(Gathering).runs * tile.ox, layer.ox) * tile.oy, self.cores)
        together = tile.k == layer.k
        copies = choose(together, runs, pixels) * choose(tile.k % (2 * WORD) == 0, 0, self.cycles.gathered_rest)
        apart = pixels * choose(together, 0, self.cycles.gathered_apart)
        column = self.cycles.gathered + self.cycles.gathered_word * ceil_div(tile.k, WORD)
        return runs * self.cycles.gathered_run + pixels * column + copies + apart

    def _normalization(self, tile: Tile) -> float:
        """Rows are shared out; of few rows the channels, whose sums every core makes (match_pulp_normalize.c)."""
        rows = tile.oy * tile.ox
        sums = self.cycles.normalized_row + self.cycles.normalized_sums * tile.k
        output = self.cycles.normalized + self.requantize
        by_rows = ceil_div(rows, self.cores) * (sums + output * tile.k)
        by_channels = rows * (sums + output * ceil_div(tile.k, self.cores))
        return choose((rows == 1) | (3 * rows <= self.cores), by_channels, by_rows)

    def _matrices(self, tile: Tile) -> float:
        """Units of four rows of the second matrix and two of the first are shared out, those of a four one by one."""
        cycles = self.cycles
        words, rest = divmod(tile.c, WORD)
        pairs = ceil_div(tile.ox, 2)
        units = ceil_div(tile.oy * ceil_div(tile.k, 4) * pairs, self.cores)
        rows = cycles.matrix_rows + cycles.matrix_word * words
        output = cycles.matrix_int64 if self.listed else MATRIX_OUTPUT.get(self.form, cycles.matrix_int64)
        if self.listed:
            output += looked_up(self.listed) + LOOKED_UP_OF_MATRICES
        across = MATRIX_LOADS * crossing(rest)
        unit = cycles.matrix_unit + (MATRIX_STEP + across) * words + choose(rest > 0, cycles.matrix_rest, 0)
        return ceil_div(units, pairs) * rows + units * (unit + 8 * output)

    def _product(self, channels: int, length: int, tile: Tile) -> Product:
        """Output channels of pixels, two at a time: blocks of four channels, then the last ones pixel by pixel."""
        blocks, rest = divmod(channels, 4)
        call, pair, one = self._blocks(blocks, length, tile)
        last = choose(rest > 0, self.cycles.last + self._last_channels(rest, length, tile), 0)
        call = call + choose(rest > 0, self.cycles.rest, 0)
        short, is_short = self._short_pixel(channels, length, tile), length < WORD
        asked, corrected = self._corrections(channels, length, tile)
        return Product(
            choose(is_short, self.cycles.product, call) + asked,
            choose(is_short, 2 * short, pair + 2 * last) + 2 * corrected,
            choose(is_short, short, one + last) + corrected,
        )

    def _corrections(self, channels: int, length: int, tile: Tile) -> tuple[float, float]:
        """What exceptions take of a product's channels: beside its pixels, and a pixel."""
        if not self.listed or self.form == "int64":
            return 0, 0
        cycles, found = self.cycles, choose(tile.end, channels * self.listed, 0)
        asked = choose(tile.end, channels * cycles.asked, 0) + found * cycles.exception
        again = cycles.product_again + step(1, 1) * (length // WORD)
        return asked, found * (cycles.compared + cycles.alike * again)

    def _blocks(self, blocks: int, length: int, tile: Tile) -> tuple[float, float, float]:
        """The same of blocks of four channels; in int64 they pass through memory."""
        cycles = self.cycles
        two, one = (cycles.pair + blocks * self._block(4, pixels, length, tile) for pixels in (2, 1))
        if self.form in BLOCK:
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
        form = self.form
        block = BLOCK[form] - (0 if pixels == 2 else 1 if form == "int32" else 4)
        return block + step(4, pixels) * (length // WORD) + 4 * pixels * OUTPUT[form, pixels]

    def _row_of_words(self, tile: Tile) -> float:
        """A dense layer's single row of outputs, of vectors of two words or more, in assembly (match_words_pixel)."""
        blocks, last = divmod(ceil_div(tile.k, self.cores), 4)
        output, words = LAST_OUTPUT[self.form], tile.c // WORD
        asked, corrected = self._corrections(ceil_div(tile.k, self.cores), tile.c, tile)
        twos = choose(last >= 2, 4 + 5 * words + 2 * output, 0)
        one = choose(last % 2 > 0, 1 + step(1, 1) * words + output, 0)
        return self.cycles.row_of_words + blocks * self._words(1, tile.c) + twos + one + asked + corrected

    def _is_fast(self, tile: Tile) -> bool:
        """Whether outputs are requantized in a form with loops of its own, and no sums are partial."""
        return tile.begin & tile.end & (self.form in ("int32", "split", "split_signed"))

    def _block(self, channels: Literal[1, 2, 4], pixels: Literal[1, 2], length: int, tile: Tile) -> float:
        """Some channels of a pixel or two."""
        beside = self.cycles.single if channels < 4 else self.cycles.block
        output = self._finish(tile)
        if self.form == "split" and (channels, pixels) == (4, 1):
            output = output + choose(tile.begin, 0, choose(tile.end, self.cycles.taken_alone, 0))
        return beside + self._steps(channels, pixels, length, tile) + pixels * channels * output

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
        return _block_steps(channels, pixels, length, smaller(length // WORD, tile.c % CHANNEL_GROUP // 4))

    def _finish(self, tile: Tile) -> float:
        """An accumulator behind its dot product: it may go on from a partial sum, and be left as one."""
        cycles = self.cycles
        left = cycles.sums + choose(tile.begin, 0, cycles.resumed)
        if self.form == "sums":
            return left
        output = self.requantize
        if self.form == "int64" and self.listed:
            output += looked_up(self.listed) + LOOKED_UP_ALONE
        return choose(tile.end, output + choose(tile.begin, 0, cycles.taken), left)

    def _convolution(self, layer: Layer, tile: Tile) -> float:
        """Pairs of pixels by fours of channels are shared out; a core that has a row or less has no single pixel.

        A tile is taken to have as many windows beside the input as the layer, and its share of those above and below:
        where it lies changes nothing.
        """
        share = self._share(tile.oy, tile.ox, tile.k)
        row = self._mean_row(layer, tile)
        rows = ceil_div(tile.oy, self.cores) * self.cycles.line
        if self.cores == 1:
            return rows + share * row
        row = choose(tile.oy <= self.cores, self._mean_row(layer, tile._replace(ox=even(tile.ox))), row)
        return rows + choose_for(tile, share < 1, partial(self._part_of_row, layer), share * row)

    def _part_of_row(self, layer: Layer, tile: Tile) -> float:
        """What a core has of a tile that is less than a row: pairs of pixels, or some channels of one."""

        def channels(some: Tile) -> float:
            pair = some._replace(ox=smaller(2, some.ox))
            return at_each(self._units(some), lambda units: self._mean_row(layer, pair._replace(k=4 * units)))

        pairs = ceil_div(tile.oy * ceil_div(tile.ox, 2), self.cores)
        pixels = at_each(smaller(2 * pairs, tile.ox), lambda ox: self._mean_row(layer, tile._replace(ox=ox)))
        return choose_for(tile, self._units(tile) < ceil_div(tile.k, 4), channels, pixels)

    def _of_int16(self, layer: Layer, tile: Tile) -> float:
        if layer.op in INT16_ELEMENTS:
            return self._elements(layer, tile, getattr(self.int16, layer.op))
        return self.int16.work(layer, tile, self.cores)

    def _units(self, tile: Tile) -> int:
        """Pairs of pixels by fours of channels that a core has."""
        return ceil_div(tile.oy * ceil_div(tile.ox, 2) * ceil_div(tile.k, 4), self.cores)

    def _mean_row(self, layer: Layer, tile: Tile) -> float:
        """A row of outputs, with its share of windows above and below the input; independent of `tile.oy`."""
        product = self._product(tile.k, align4(tile.fy * tile.fx * tile.c), tile)
        laid_out = self._laid_out(layer, tile, tile.ox, product)
        if not are_runs(layer):
            return laid_out
        row = choose(tile.c % WORD == 0, self._row_in_place(layer, tile, product), laid_out)
        outside = border_rows(layer) / layer.oy
        return row + outside * (laid_out - row)

    def _share(self, rows: int, columns: int, channels: int) -> float:
        """Rows of the busiest core: pairs of pixels by fours of channels are shared out."""
        units = ceil_div(columns, 2) * ceil_div(channels, 4)
        return ceil_div(rows * units, self.cores) / units

    def _row_in_place(self, layer: Layer, tile: Tile, product: Product) -> float:
        """A row of outputs, whose windows are multiplied where they lie; those beside the input are laid out."""
        beside = smaller(border_windows(layer), tile.ox)
        run = tile.ox - beside
        work = choose(run > 0, product.cycles(run), 0)
        return work + choose(beside > 0, self._laid_out(layer, tile, beside, product), 0)

    def _laid_out(self, layer: Layer, tile: Tile, windows: int, product: Product) -> float:
        """Windows that are laid out by columns of the input, and multiplied, as many at a time as there is room for."""
        cycles = self.cycles
        length = align4(tile.fy * tile.fx * tile.c)
        shared = are_shared(layer, tile)
        distance = choose(shared, layer.stride[1] * tile.fy * tile.c, length)
        room = (columns_bytes(length + WORD) - length - WORD) // distance + 1
        at_once = room // 2 * 2
        whole, some = divmod(windows, at_once)
        times = ceil_div(windows, at_once)
        work = whole * product.cycles(at_once) + choose(some > 0, product.cycles(some), 0)
        longer = choose(shared, unaligned(layer, tile) / 4, 0)
        work = work + windows * ceil_div(tile.k, 4) * (length // WORD) * longer
        calls = times * choose(shared, 1, layer.fx)
        columns = choose(shared, windows * layer.stride[1] + times * (layer.fx - layer.stride[1]), windows * layer.fx)
        return work + cycles.laid_out(layer, tile, columns, calls, shared | (layer.stride[1] == 1))

    def _pointwise(self, tile: Tile) -> float:
        """Pairs of pixels by fours of channels are shared out."""
        product = self._product(tile.k, tile.c, tile)
        if self.cores == 1:
            return product.cycles(tile.oy * tile.ox)
        pixels, begin = even(tile.oy * tile.ox), self.cycles.product
        share = self._share(1, pixels, tile.k)
        products = choose(share * pixels <= 2, 1, 2)
        pairs = choose(tile.oy * tile.ox == 1, product.one, pixels / 2 * product.pair)
        return products * begin + share * (product.call - begin) + share * pairs

    def _pool(self, layer: Layer, tile: Tile) -> float:
        """Pixels are shared out or, of fewer than cores, channels, four at a time; fewer take as long."""
        pixels, cycles = tile.oy * tile.ox, self.cycles
        by_pixels = pixels >= self.cores
        share = choose(by_pixels, ceil_div(pixels, self.cores), pixels)
        rows = choose(by_pixels, ceil_div(share, tile.ox), tile.oy)
        fours = share_of_channels(tile.k, self.cores, 0)
        channels = choose(by_pixels, tile.k, smaller(fours, tile.k))
        shared = cycles.pool_share if self.cores > 1 else 0
        if layer.op is Op.AVG_POOL2D:
            pixel = cycles.average_pixel + ceil_div(channels, 4) * self._average(layer, tile)
            return shared + rows * cycles.average_row + share * pixel
        return shared + rows * cycles.maximum_row + share * self._maximum(layer, tile, channels)

    def _average(self, layer: Layer, tile: Tile) -> float:
        """Four channels of a window."""
        elements = tile.fy * tile.fx
        rows = 1 if tile.fx == layer.ix else tile.fy  # rows without gaps between them are one
        sums = elements * choose(elements // rows >= MANY, MANY_SUM4, SUM4)
        outputs = self._by_form("averages")
        if self.listed:
            alone = self.form == "int64"
            outputs = outputs + 4 * LOOKED_UP_AVERAGE if alone else self.cycles.averages_apart
            outputs += 4 * looked_up(self.listed)
        return outputs + rows * self.cycles.sum_row + sums

    def _maximum(self, layer: Layer, tile: Tile, channels: int) -> float:
        """All of some channels of a window; of four or more the last ones are computed with those before them."""
        cycles = self.cycles
        rows, columns = (1, tile.fy * tile.fx) if tile.fx == layer.ix else (tile.fy, tile.fx)
        parts, last = divmod(columns, MAXIMUM_COLUMNS)
        of_parts = [MAXIMUM4 + rows * MAXIMUM_ROW[MAXIMUM_COLUMNS]] * parts
        of_parts += [MAXIMUM4 + rows * MAXIMUM_ROW[last]] if last else []
        fours, rest = divmod(channels, 4)
        call = cycles.maximum_call + (len(of_parts) - 1) * cycles.maximum_part
        whole = call * choose(rest > 0, 2, 1) + (fours + choose(rest > 0, 1, 0)) * sum(of_parts)
        few = rest * (cycles.maximum_one + cycles.maximum_element * tile.fy * tile.fx)
        return cycles.maximum_pixel + choose(fours > 0, whole, few)

    def _float_average(self, tile: Tile) -> float:
        """Outputs are shared out. Of an even number of values, one sum in so many is a half, which float32 decides."""
        cycles, count = self.cycles, tile.fy * tile.fx
        share = ceil_div(tile.oy * tile.ox * tile.k, self.cores)
        halves = (1 - count % 2) / count
        output = cycles.float_average + count * cycles.float_element
        in_float = cycles.float_half + count * cycles.float_sum
        return ceil_div(share, tile.k) * cycles.float_window + share * (output + halves * in_float)

    def _elements(self, layer: Layer, tile: Tile, each: float) -> float:
        """Elements in runs without gaps."""
        elements = tile.oy * tile.ox * tile.k
        return self._begun(_runs_of(layer, tile)) * self.cycles.run + self._largest_part(elements) * each

    def _by_form(self, name: str) -> float:
        """What a kernel takes for an element by form: the field for int32 has no form in its name."""
        form = {"int32": "", "rows": "", "split": "_split", "split_signed": "_split_signed"}.get(self.form, "_int64")
        cycles: float = getattr(self.cycles, name + form)
        return cycles

    def _lines_of_one(self, layer: Layer, tile: Tile) -> float:
        """An input with one pixel or channel: fours of channels of pixels are shared out (match_pulp_lines.c)."""
        cycles, pixels = self.cycles, tile.oy * tile.ox
        of_pixels = layer.get(Broadcast).kind != "pixel"
        fours, rest = divmod(tile.k, 4)

        def shared(blocks: int, each: float, part: float) -> float:
            """So many blocks of each pixel; those with the same lines, of a pixel or a block, are a row."""
            share, row = ceil_div(blocks * pixels, self.cores), blocks if of_pixels else pixels
            parts = choose((share % row == 0) | (row % share == 0), 0, choose(share < row, 1, 2))
            return begin + share * each + ceil_div(share, row) * line + parts * part

        begin, line = cycles.lines + (cycles.lines_share if self.cores > 1 else 0), cycles.lines_row
        if self.form == "rows":
            begin, line = begin + ROUNDED_BEGIN, line + ROUNDED_SLOPES
        whole = choose(fours > 0, shared(larger(fours, 1), LINES[self.form], cycles.lines_part), 0)
        return whole + choose(rest > 0, shared(larger(rest, 1), self._by_form("lines_byte"), 0), 0)

    def _lines(self, layer: Layer, tile: Tile) -> float:
        """Lines that another tensor chooses; those of one channel are chosen once for each run."""
        if not layer.get(Broadcast).single_channel:
            return self._elements(layer, tile, self.cycles.lookup_line)
        chosen = self._begun(_runs_of(layer, tile)) * self.cycles.chosen_line
        return chosen + self._elements(layer, tile, self.cycles.same_line)

    def _looked_up(self, layer: Layer, tile: Tile) -> float:
        """Bytes through a table, in runs without gaps."""
        return self._runs_of_bytes(_runs_of(layer, tile), tile.oy * tile.ox * tile.k)

    def _sliced(self, layer: Layer, tile: Tile) -> float:
        """Bytes through a table that changes nothing."""
        elements = tile.oy * tile.ox * tile.k
        runs, enough = _runs_of(layer, tile), elements >= ENOUGH_SIGNS * self.cores
        gaps = self._runs_of_bytes(runs, elements, copied=True, apart=tile.k % WORD > 0)
        plain = self._largest_part(elements) * self.cycles.sign
        copied = self.cycles.signs + choose(runs == 1, plain, gaps)
        return choose(enough, copied, self._looked_up(layer, tile))

    def _runs_of_bytes(self, runs: int, elements: int, *, copied: bool = False, apart: bool = False) -> float:
        """So many bytes through a table in so many runs, with gaps between them if there are several.

        Those that it does not change are `copied`, word by word; `apart` tells that runs begin inside words.
        """
        cycles, byte = self.cycles, 1.0 if copied else self.sharing.of_tables(self.cores)
        plain = self._largest_part(elements) * cycles.lookup * byte
        fours, rest = divmod(elements // runs, 4)
        table, run = (COPIED_BYTES, COPIED_RUN) if copied else (LOOKUP_BYTES, LOOKUP_RUN)
        four = table[4] + choose(apart, cycles.copied_apart, 0)
        behind = sum(choose(rest == n, table[n], 0) for n in (1, 2, 3)) * byte
        share = ceil_div(runs, self.cores)
        last = choose(rest > 0, share * (behind + LOOKUP_RUN - 1), 0)
        whole = choose(fours > 0, share * (run + fours * four * byte), 0)
        whole = whole + choose((fours > 0) & (rest > 0), cycles.lookup_rest, 0)
        of_fours = ceil_div(runs * fours, self.cores)
        part = cycles.lookup_fours + ceil_div(of_fours, larger(fours, 1)) * run
        part = part + of_fours * four * byte + choose(rest > 0, cycles.lookup_rest, 0)
        many = (runs >= MANY_RUNS * self.cores) | (fours == 0)
        begin = cycles.lookup_gaps + (cycles.lookup_share if self.cores > 1 else 0)
        return choose(runs == 1, plain, begin + last + choose(many, whole, part))

    def _concatenation(self, layer: Layer, tile: Tile) -> float:
        """Each input through its table, pixel by pixel."""
        pixels, cycles = tile.oy * tile.ox, self.cycles.concatenation
        both = (layer.input_channels, layer.k - layer.input_channels)
        for channels, same in zip(both, layer.get(Concatenation).unchanged or (False, False), strict=True):
            looked_up = self._runs_of_bytes(pixels, pixels * channels)
            if same:
                words = self._runs_of_bytes(pixels, pixels * channels, copied=True, apart=layer.k % WORD > 0)
                enough = pixels * channels >= ENOUGH_SIGNS * self.cores
                looked_up = choose(enough, self.cycles.signs + words, looked_up)
            cycles = cycles + looked_up
        return cycles

    def _begun(self, runs: int) -> int:
        """Runs of a core that lie behind a gap: elements are shared out, and runs with them."""
        return ceil_div(runs, self.cores) - (runs == 1)

    def _largest_part(self, elements: int) -> int:
        """Elements of the core that has most, whole words."""
        share: int = smaller(elements, align4(ceil_div(elements, self.cores)))
        return share


def _runs_of(layer: Layer, tile: Tile) -> int:
    """Runs without gaps of a tile's elements.

    Whole rows are one run. Of others each row may be one, and each pixel where a tile has some of the channels, or
    another tensor has one pixel for all.
    """
    pixels = tile.oy * tile.ox
    rows = choose(tile.ox == layer.ox, 1, tile.oy)
    runs: int = pixels if layer.get(Broadcast).kind else choose(tile.k == layer.k, rows, pixels)
    return runs


def _block_steps(channels: int, pixels: int, length: int, loose: int) -> float:
    """The steps of a block of products; `loose` of its words may lie across borders."""
    words, rest = divmod(length, WORD)
    across = channels * crossing(rest) * (loose + 1)
    broken = step(channels, pixels) + across + last_step(channels, pixels)
    return step(channels, pixels) * words + choose(rest == 0, 0, broken)


def _gate_products(gates: int, length: int) -> float:
    """Cycles of the products of so many gates of recurrent cells over a vector, summed up together."""
    return choose(length < WORD, short_step(gates) * length, _block_steps(gates, 1, length, length // WORD))
