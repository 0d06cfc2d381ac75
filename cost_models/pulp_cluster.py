"""A PULP cluster with 8-bit SIMD dot products, executing the kernels of kernels/pulp.

Every formula counts the cycles of the core with the most work: inner loops are hardware loops, loads hit L1. The inner
loops are those of PULP-NN (Garofalo et al., 2020): a block of 4 output channels x 2 pixels takes 6 loads and 8 dot
products, 14 instructions for 32 multiply-accumulates. What surrounds them is counted in the compiled kernels (GCC 12,
-O3, RV32IMC), in instructions and in RI5CY's stalls (taken branch 2, upper half of a product 4, use of a load 1), less
the counters, branches and pointer steps that Xpulp has in hardware. docs/cost-models.md has the counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from match.cost import Block, CostModel, Tile
from match.cost_models.dma import Mchan
from match.layer import Layer, Op

LOOP = 15
"""Around an inner loop: pointers and accumulators before it, the leftover test behind it; 5 + 10 in MATCH's model."""

REQUANTIZE = 40
"""One output, ``clip((acc * M + B) >> S)`` in 64 bits: parameters 6, product 6, sum 4, shift 4, clip 7, store 3, and
what the accumulators' detour through memory costs. PULP-NN's own, in 32 bits, takes 9 in MATCH's model."""

ADD = 37
"""One sum of two requantized operands: loads 3, two 64-bit products 12, sums 6, shift 5, clip 8, store 3."""

LOOKUP = 5
"""One byte through a table: load, load from the table at a register's offset, store; each of the two last waits a cycle
for the load before it."""

SUM_LOAD = 2
"""One partial sum taken up: load, addition."""

SUM_STORE = 1
"""One partial sum left for later input channels, instead of requantizing it."""

GATHER = 3
"""One byte of a depthwise window: load, wait, store, both with a step."""

COLUMN = 25
"""One column of the filter over all of its rows: position, border tests, the heads of three loops."""

WINDOW = 25
"""One depthwise output beside its dot product and requantization: call, address of the output."""

POSITION = 40
"""One filter position of im2col: address, border tests, call of the copy."""

PIXEL = 35
"""Address of a pixel by its number: a division and a remainder of small numbers, two products."""

POOL = 20
"""One element of a pooling window: border test 6, address 7, load, accumulate."""


def ceil_div(a: int, b: int) -> int:
    """The quotient, rounded up."""
    return -(-a // b)


def dot_products(channels: int, pixels: int, length: int) -> int:
    """Cycles of `channels` x `pixels` accumulators over vectors of `length` bytes.

    Each step loads a word of every row and every vector and multiplies all pairs; the last bytes take a step each.
    """
    step = channels + pixels + channels * pixels
    words, rest = divmod(length, 4)
    return LOOP + step * words + (LOOP + step * rest if rest else 0)


def finish(tile: Tile) -> int:
    """Cycles of an accumulator behind its dot product: it may start from a partial sum, and become one."""
    return (0 if tile.begin else SUM_LOAD) + (REQUANTIZE if tile.end else SUM_STORE)


def outputs(channels: int, pixels: int, length: int, each: int = REQUANTIZE) -> int:
    """Cycles of a block of outputs, with those that each of them takes behind its dot product."""
    return dot_products(channels, pixels, length) + channels * pixels * each


def matmul_pixel(channels: int, length: int, each: int) -> int:
    """Cycles of all output channels of one pixel, one after the other."""
    return channels * outputs(1, 1, length, each)


def matmul_pixels(channels: int, length: int, each: int) -> int:
    """Cycles of all output channels of two pixels: blocks of four channels, then the rest pixel by pixel."""
    blocks, rest = divmod(channels, 4)
    return blocks * outputs(4, 2, length, each) + 2 * matmul_pixel(rest, length, each)


def align4(size: int) -> int:
    """Rounded up to whole words."""
    return ceil_div(size, 4) * 4


def is_pointwise(layer: Layer) -> bool:
    """Whether the convolution reads every pixel once and needs no im2col."""
    return (layer.fy, layer.fx, layer.stride) == (1, 1, (1, 1)) and not any(layer.padding)


@dataclass(frozen=True)
class PulpClusterCost(CostModel):
    """Cycles and scratch of the cluster's kernels.

    cores: workers that share out a tile: output rows (convolution), pixels (pointwise, addition), elements (lookup) or
        channels (others).
    kernel: cycles of a kernel call beside the work: filling in the tile's context (about 40 stores), fork and barrier
        of the event unit (tens of cycles, Glaser et al., 2020), sharing out the work. Estimated.
    offload: cycles of a layer beside tiles: the control core's task, waking the cluster, the prologue. Estimated.
    """

    cores: int = 8
    kernel: int = 150
    offload: int = 1000
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
        match layer.op:
            case Op.CONV2D:
                return self._pointwise(tile) if is_pointwise(layer) else self._convolution(tile)
            case Op.DEPTHWISE_CONV2D:
                return self._depthwise(layer, tile)
            case Op.DENSE:
                return tile.oy * tile.ox * matmul_pixel(ceil_div(tile.k, self.cores), tile.c, finish(tile))
            case Op.ADD:
                return ceil_div(tile.oy * tile.ox, self.cores) * (LOOP + PIXEL + tile.k * ADD)
            case Op.LOOKUP:
                return self._lookup(layer, tile)
            case Op.AVG_POOL2D | Op.MAX_POOL2D:
                window = LOOP + tile.fy * tile.fx * POOL + REQUANTIZE
                return tile.oy * tile.ox * ceil_div(tile.k, self.cores) * window

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

    def _convolution(self, tile: Tile) -> int:
        """Rows are shared out; two pixels at a time are copied into vectors, a cycle a byte (2P in MATCH's model)."""
        length = tile.fy * tile.fx * tile.c
        im2col = tile.fy * tile.fx * POSITION + length
        pairs, single = divmod(tile.ox, 2)
        each = finish(tile)
        row = pairs * (2 * im2col + matmul_pixels(tile.k, length, each))
        row += single * (im2col + matmul_pixel(tile.k, length, each))
        return ceil_div(tile.oy, self.cores) * row

    def _pointwise(self, tile: Tile) -> int:
        """Pairs of pixels are shared out."""
        pixels = tile.oy * tile.ox
        if pixels == 1:
            return 2 * PIXEL + matmul_pixel(tile.k, tile.c, finish(tile))
        pairs = ceil_div(ceil_div(pixels, 2), self.cores)
        return pairs * (4 * PIXEL + matmul_pixels(tile.k, tile.c, finish(tile)))

    def _depthwise(self, layer: Layer, tile: Tile) -> int:
        """Channels are shared out; the windows of a column of outputs are gathered, then multiplied one by one."""
        gather = tile.fx * (COLUMN + _seen_rows(layer, tile) * GATHER)
        if layer.dilation[0] == 1:
            output = WINDOW + outputs(1, 1, tile.fy * tile.fx)
        else:
            output = WINDOW + tile.fy * dot_products(1, 1, tile.fx) + REQUANTIZE
        return ceil_div(tile.k, self.cores) * tile.ox * (gather + tile.oy * output)

    def _lookup(self, layer: Layer, tile: Tile) -> int:
        """Elements are shared out, in runs: whole rows, but pixel by pixel where a tile has some of the channels."""
        runs = tile.oy if tile.k == layer.k else tile.oy * tile.ox
        return (ceil_div(runs, self.cores) + 1) * LOOP + ceil_div(tile.oy * tile.ox * tile.k, self.cores) * LOOKUP


def _seen_rows(layer: Layer, tile: Tile) -> int:
    """Input rows that the tile's outputs see, padding included."""
    return (tile.oy - 1) * layer.stride[0] + layer.window[0]
