"""Kernels of kernels/cortex_m on Arm's microcontroller cores.

Instructions of a kernel call follow from its loops and from what stands around them. The loops are counted in the
source, the rest is fitted to counts of 70 random layers each under QEMU (``-icount shift=0``, GCC 12.2, -O3): formulas
of convolutions are within 1 % in the mean and 5 % of each count, those of depthwise ones within 3 % and 11 %. Cores
without MVE execute the same instructions but for a percent; -Os takes up to 10 % more.

A core's cycles are its instructions times a mean, and what constants cost that come from flash. The means are
predictions; nothing has been measured on a chip:

- Cortex-M4: the loop of a convolution has 55 instructions and takes 78 cycles by the timing table of its technical
  reference manual (a load 2, a double one 3, a taken branch 3, all others 1), which is 1.42 each; 1.45 with calls.
- Cortex-M7: two instructions a cycle, of which one may be of the DSP extension, and only the first
  (quinapalus.com/cm7cycles.html). The same loop has 40 of these, so it takes 41 cycles at least: 0.75 each.
- Cortex-M33: no table is published. Between the two, with loads as in the Cortex-M4 that seldom stall: 1.3.
- Cortex-M55: a vector instruction takes two cycles, in which one of another kind may begin. The 18 instructions of the
  loop of a convolution have 8 products, 16 cycles, beside 6 loads; with what does not overlap 1.2 each. Vectors of one
  kind behind one another take 2, scalar instructions 1: 1.3 over all.

For comparison: 29.9 million instructions that TFLite Micro with CMSIS-NN takes for ResNet8 on a Cortex-M4 beside the
46.8 million cycles that MLPerf Tiny has of microTVM with CMSIS-NN (390 ms at 120 MHz, STM32L4R5) are 1.57 cycles each,
with the wait states of that flash.
"""

from __future__ import annotations

from dataclasses import dataclass

from match.ir.attributes import ChannelGroups, Concatenation
from match.ir.layer import Layer, Op
from match.target.cost import CostModel, Tile, ceil_div, choose

PAIR, VECTOR, WORD, LANES = 2, 16, 4, 8
"""Channels and bytes that the kernels take at once (match_arm.h)."""

STRIP_COLUMNS = 32
"""Columns of all rows of a strip of a depthwise layer (match_arm_depthwise_conv2d.c)."""

CALL = 120
"""Instructions of a layer's function and of its kernel call, whatever it computes."""

ELEMENTS = {
    Op.ADD: 10.0,
    Op.LOOKUP: 4.3,
    Op.CHANNEL_LOOKUP: 10.0,
    Op.MULTIPLY: 16.0,
    Op.SQUARED_DIFFERENCE: 17.0,
    Op.ABSOLUTE_DIFFERENCE: 18.0,
    Op.LOOKUP_SUM: 19.0,
    Op.LOOKUP_LINE: 18.0,
    Op.QUANTIZE: 24.0,
    Op.DEQUANTIZE: 5.0,
    Op.FLOAT_AVG_POOL2D: 98.0,
}
"""Instructions of an output of operators that compute each by itself, counted; of real averages those of 2x2."""

MOVED, ENOUGH = 6.5, 256
"""The same of slices and of inputs of concatenations, below so many elements: these are looked up in a table."""

COPIED, RUN, READ = 1.13, 14.0, 540.0
"""The same of more of them that the table does not change, of each run without gaps, and for reading the table."""

ROWS = {Op.SOFTMAX: (132.0, 31.0), Op.LOG_SOFTMAX: (190.0, 45.0), Op.NORMALIZE: (180.0, 33.0)}
"""Instructions of a row of operators that compute rows, and of each of its outputs, counted: of 3 to 256 outputs."""

VECTOR_ELEMENTS = {Op.ADD: 2.5, Op.LOOKUP: 0.27}
"""The same with MVE."""

OTHER = 20.0
"""The same of operators that are not counted: an estimate."""


@dataclass(frozen=True)
class CortexMCost(CostModel):
    """Cycles of kernels of kernels/cortex_m, of whole layers and of tiles.

    vectors: whether the core has MVE, and kernels read weights as it multiplies them.
    cycles: of an instruction, in the mean.
    flash: cycles that the core waits for a byte of constants, in the mean; 0 in memory without wait states.
    cache: bytes of constants that are read once, though the kernel reads them again and again.
    long: whether outputs are requantized in 64 bits (match_arm_requant_long_t).
    """

    vectors: bool = False
    cycles: float = 1.45
    flash: float = 0.0
    cache: int = 0
    long: bool = False

    overlap = False

    def scratch(self, layer: Layer, tile: Tile) -> int:
        """Bytes, as kernels/cortex_m/match_arm.h gives them for each kernel."""
        length = tile.fy * tile.fx * tile.c
        match layer.op:
            case Op.DENSE if _is_row(layer):
                return 0
            case Op.CONV2D | Op.GROUPED_CONV2D | Op.DENSE if self.vectors:
                return 2 * _up(length, VECTOR)
            case Op.CONV2D | Op.GROUPED_CONV2D | Op.DENSE:
                return 8 * _up(length, WORD) + (_up(length, WORD) + WORD if tile.c % WORD else 0)
            case Op.DEPTHWISE_CONV2D if self.vectors:
                return 32 * tile.fy * tile.fx + tile.k
            case Op.DEPTHWISE_CONV2D:
                strip = _Strip.of(layer, tile)
                words = WORD * strip.rows * strip.columns * strip.window + 8 * tile.fx * strip.window
                return 4 * (words + strip.rows * strip.outputs * strip.each)
            case _:
                return 0

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of the instructions, and of waits for constants."""
        return self.cycles * self.instructions(layer, tile) + self.flash * self.constants(layer, tile)

    def instructions(self, layer: Layer, tile: Tile) -> float:
        """Instructions of one kernel call."""
        match layer.op:
            case Op.CONV2D:
                return CALL + self._convolution(layer, tile)
            case Op.GROUPED_CONV2D:
                return CALL + tile.k * self._convolution(layer, tile._replace(k=layer.get(ChannelGroups).outputs))
            case Op.DENSE:
                return CALL + (self._row(tile) if _is_row(layer) else self._convolution(layer, tile))
            case Op.DEPTHWISE_CONV2D:
                return CALL + (self._lanes(layer, tile) if self.vectors else self._strips(layer, tile))
            case Op.MATRICES:
                return CALL + tile.oy * tile.ox * tile.k * (20 + 4.2 * tile.c)
            case Op.AVG_POOL2D:
                seen = (1.35 if self.vectors else 1.65) * tile.fy * tile.fx
                return CALL + tile.oy * tile.ox * (110 + tile.k * (36 + seen))
            case Op.MAX_POOL2D:
                return CALL + self._maximum(layer, tile)
            case Op.SLICE:
                return CALL + _moved(tile, tile.k, unchanged=True)
            case Op.CONCATENATE:
                both = layer.input_channels, layer.k - layer.input_channels
                unchanged = layer.get(Concatenation).unchanged or (False, False)
                return CALL + sum(_moved(tile, k, unchanged=same) for k, same in zip(both, unchanged, strict=True))
            case Op.SOFTMAX | Op.LOG_SOFTMAX | Op.NORMALIZE:
                row, output = ROWS[layer.op]
                return CALL + tile.oy * tile.ox * (row + tile.k * output)
            case _:
                own = VECTOR_ELEMENTS.get(layer.op) if self.vectors else None
                return CALL + tile.oy * tile.ox * tile.k * (own or ELEMENTS.get(layer.op, OTHER))

    def constants(self, layer: Layer, tile: Tile) -> float:
        """Bytes of weights that come from flash: for each group of pixels that the kernel takes at once, or once."""
        pixels, window = tile.oy * tile.ox, tile.fy * tile.fx
        match layer.op:
            case Op.CONV2D | Op.DENSE | Op.GROUPED_CONV2D:
                channels = tile.k * layer.get(ChannelGroups).outputs
                weights, groups = channels * window * tile.c, 2 if self.vectors else 4
            case Op.DEPTHWISE_CONV2D:
                weights, groups = tile.k * window, 2 if self.vectors else pixels
            case _:
                return 0
        return weights * (1 if weights <= self.cache else ceil_div(pixels, groups))

    def _row(self, tile: Tile) -> float:
        """A dense layer of one row."""
        blocks = ceil_div(tile.k, 4)
        if self.vectors:
            return blocks * (11 * ceil_div(tile.c, VECTOR) + (167 if self.long else 59))
        return blocks * (30 + 22 * ceil_div(tile.c, WORD)) + tile.k * (71 if self.long else 31.5)

    def _convolution(self, layer: Layer, tile: Tile) -> float:
        """Blocks of columns by channels, and the columns."""
        pixels, length = tile.oy * tile.ox, tile.fy * tile.fx * tile.c
        if self.vectors:
            groups = ceil_div(pixels, 2)
            block = 16 * ceil_div(length, VECTOR) + (67 if self.long else 40)
            return groups * (82 + ceil_div(tile.k, 4) * block) + self._columns(layer, tile)
        groups, pairs = ceil_div(pixels, 4), ceil_div(tile.k, PAIR)
        words = ceil_div(length, WORD)
        loops = groups * pairs * (27.5 * words + 3 * (words % 2))
        usual = 0 if self.long else pixels // 4 * (tile.k // PAIR)
        block, output = (107, 13) if self.long else (107, 2)
        rest = block * (groups * pairs - usual) + output * (pixels * tile.k - 8 * usual)
        return loops + 77 * usual + rest + self._columns(layer, tile)

    def _columns(self, layer: Layer, tile: Tile) -> float:
        """What windows see laid out, column by column; windows at the border take longer."""
        pixels, run = tile.oy * tile.ox, tile.fx * tile.c
        alone = tile.fy * tile.fx == 1 and not any(layer.padding)
        inside = pixels if alone else _inside(layer, tile)
        border = pixels - inside
        if self.vectors:
            copied = 4 * pixels * tile.fy * ceil_div(run, VECTOR)
            if alone:
                return copied
            return copied + inside * (41 + 7 * tile.fy) + border * (106 + 54 * tile.fy)
        if alone:
            return pixels * (51 + 1.9 * run + (10 if tile.c % WORD else 0))
        if tile.c % WORD == 0:
            copied = 1.9 * run * tile.fy
            return pixels * copied + inside * (98 + 12 * tile.fy) + border * (154 + 67 * tile.fy)
        copied = 4 * ceil_div(run, WORD) * tile.fy + 1.9 * run * tile.fy
        return pixels * copied + inside * (80 + 16 * tile.fy) + border * (268 + 43 * tile.fy)

    def _strips(self, layer: Layer, tile: Tile) -> float:
        """Depthwise with the DSP extension."""
        strip = _Strip.of(layer, tile)
        groups, strips = ceil_div(tile.k, 4), ceil_div(strip.all_rows, strip.rows)
        pairs = groups * strips * (strip.rows + 1 if strip.shared and strip.rows > 1 else strip.rows * strip.window)
        widened = tile.k * (271 + 4 * tile.fx * strip.window)
        laid_out = widened + pairs * (156 + 29 * tile.ix) + 74 * groups * strips * strip.each * 4
        if tile.fx == 3 and strip.window == 2 and layer.dilation[1] == 1 and layer.stride[1] <= 2:
            row = 9.5 * strip.outputs if layer.stride[1] == 1 else 12 * tile.ox
        else:
            row = 12.5 * tile.ox * tile.fx * strip.window
        return laid_out + tile.k * tile.oy * (23 + row + tile.ox * (47 if self.long else 8))

    def _maximum(self, layer: Layer, tile: Tile) -> float:
        """Max pooling; a window as wide as the input is one row to the kernel."""
        rows = 1 if tile.fx == layer.ix else tile.fy
        if self.vectors:
            group = ceil_div(tile.k, VECTOR) * (18 + 11 * rows + 5 * tile.fy * tile.fx)
        else:
            group = (tile.k // WORD + tile.k % WORD) * (13 + 8.5 * rows + 6 * tile.fy * tile.fx)
        return tile.oy * tile.ox * (107 + group)

    def _lanes(self, layer: Layer, tile: Tile) -> float:
        """Depthwise with MVE."""
        pixels, window = tile.oy * tile.ox, tile.fy * tile.fx
        pairs, border = ceil_div(pixels, 2), pixels - _inside(layer, tile)
        found = 144 * pairs + border * (110 + 9 * window)
        return found + pairs * ceil_div(tile.k, LANES) * (258 + 24.5 * window if self.long else 65 + 16 * window)


@dataclass(frozen=True)
class _Strip:
    """How match_arm_depthwise_conv2d.c lays out a layer.

    window: words of a column. outputs: room for sums of an output row. columns: of a row. each: output rows of a row.
    all_rows: of the layer. rows: of a strip. shared: whether rows share words with the next ones.
    """

    window: int
    outputs: int
    columns: int
    each: int
    all_rows: int
    rows: int
    shared: bool

    @staticmethod
    def of(layer: Layer, tile: Tile) -> _Strip:
        window, outputs = tile.fy // 2 + 1, _up(tile.ox, 2)
        columns = (outputs - 1) * layer.stride[1] + (tile.fx - 1) * layer.dilation[1] + 1
        each = 2 if layer.stride[0] == layer.dilation[0] == 1 else 1
        all_rows = ceil_div(tile.oy, each)
        rows = max(1, min(all_rows, STRIP_COLUMNS // columns))
        shared = window == 2 and each * layer.stride[0] == 2 and layer.dilation[0] == 1
        return _Strip(window, outputs, columns, each, all_rows, rows, shared)


def _moved(tile: Tile, channels: int, *, unchanged: bool) -> float:
    """Instructions for so many channels of a tile's pixels."""
    pixels = tile.oy * tile.ox
    elements = pixels * channels
    looked_up = MOVED * elements
    return choose(elements < ENOUGH, looked_up, READ + RUN * pixels + COPIED * elements) if unchanged else looked_up


def _is_row(layer: Layer) -> bool:
    return layer.oy * layer.ox == 1


def _up(size: int, multiple: int) -> int:
    return ceil_div(size, multiple) * multiple


def _inside(layer: Layer, tile: Tile) -> int:
    """Output pixels whose windows are inside the input."""
    padding = layer.padding
    return _inside_axis(tile.oy, layer.stride[0], padding.top, (tile.fy - 1) * layer.dilation[0] + 1, layer.iy) * (
        _inside_axis(tile.ox, layer.stride[1], padding.left, (tile.fx - 1) * layer.dilation[1] + 1, layer.ix)
    )


def _inside_axis(outputs: int, stride: int, before: int, window: int, inputs: int) -> int:
    first = ceil_div(before, stride)
    last = min(outputs - 1, (inputs + before - window) // stride)
    return max(0, last - first + 1)
