"""What STM32H743 is believed to take, in cycles of its core at 480 MHz. README.md has the sources and a comparison.

Inner loops are those of kernels.c as GCC 12 compiles them (-O3 -mcpu=cortex-m7), at two instructions a cycle; DTCM has
no wait states. What stands around them is counted the same way, rounded. Nothing has been measured on the chip.
"""

from __future__ import annotations

from match.target.cost import Block, CostModel, Tile, ceil_div
from match.ir.layer import Layer, Op

BLOCK = 16  # 4 bytes of 2 channels x 2 pixels: 8 SMLAD, 12 to widen, 6 loads, 3 of the loop
WORD = 7  # 4 bytes of one channel and pixel: 2 SMLAD, 6 to widen, 2 loads, 3 of the loop
BYTE = 4  # one product: 2 loads, SMLABB, 3 of the loop, a load's wait
REQUANTIZE = 20  # one output: 5 loads, 64-bit product, sum and shift, clip, store
POSITION = 20  # one filter position of im2col: border tests, address, call of memcpy
LOOP = 10  # around an inner loop
ADD = 25  # one sum, or one element of a gate: two 64-bit products, or a load and two products; shift, clip
POOL = 14  # one element of a pooling window: border tests, address, load
BUS = 2  # core cycles of a bus cycle: AXI and AHB run at 240 MHz
BUFFER = 128  # bytes that the MDMA reads before it writes them
BUFFER_LATENCY = 12  # bus cycles of a buffer beside its beats; estimated


def vector(step: int, length: int) -> int:
    """Cycles of an inner loop over `length` bytes; those behind the last word take a step each."""
    return LOOP + step * (length // 4 + length % 4)


def matmul(channels: int, pixels: int, length: int) -> int:
    """Cycles of all channels of one or two pixels."""
    if pixels == 1:
        return channels * (vector(WORD, length) + REQUANTIZE)
    return channels // 2 * (vector(BLOCK, length) + 4 * REQUANTIZE) + channels % 2 * 2 * matmul(1, 1, length)


def is_pointwise(layer: Layer) -> bool:
    """Whether the kernel reads its vectors where they are: a dense layer, or a 1x1 convolution of every pixel."""
    products = layer.op in (Op.CONV2D, Op.DENSE)
    return products and (layer.fy, layer.fx, layer.stride) == (1, 1, (1, 1)) and not any(layer.padding)


class M7Cost(CostModel):
    """The kernels on the core, the MDMA beside it."""

    def scratch(self, layer: Layer, tile: Tile) -> int:
        if layer.op is Op.CONV2D:
            return 0 if is_pointwise(layer) else 2 * ceil_div(tile.fy * tile.fx * tile.c, 4) * 4
        return tile.fy * tile.fx * tile.k if layer.op is Op.DEPTHWISE_CONV2D else 0

    def compute(self, layer: Layer, tile: Tile) -> float:
        window, outputs = tile.fy * tile.fx, tile.oy * tile.ox * tile.k
        if layer.op in (Op.CONV2D, Op.DENSE):
            copied = 0 if is_pointwise(layer) else window * (POSITION + ceil_div(tile.c, 4))
            pairs, single = divmod(tile.ox, 2)
            length = window * tile.c
            row = pairs * (2 * copied + matmul(tile.k, 2, length)) + single * (copied + matmul(tile.k, 1, length))
            return tile.oy * row
        if layer.op is Op.DEPTHWISE_CONV2D:
            copied = window * (POSITION + ceil_div(tile.k, 4))
            return tile.oy * tile.ox * copied + outputs * (LOOP + window * BYTE + REQUANTIZE)
        return outputs * (ADD if layer.op in (Op.ADD, Op.OWN) else LOOP + window * POOL + REQUANTIZE)

    def launch(self, layer: Layer) -> float:
        return 60  # the tile's context, about 40 stores, and the call

    def transfer(self, layer: Layer, block: Block) -> float:
        """Every buffer is read, then written: in words, or in bytes where rows of channels are no multiple of 4."""
        channels = layer.k if block.operand == "output" else layer.input_channels
        beat = 4 if block.operand == "weights" or channels % 4 == 0 else 1
        buffers = block.chunks * ceil_div(ceil_div(block.bytes, block.chunks), BUFFER)
        return BUS * (2 * ceil_div(block.bytes, beat) + buffers * BUFFER_LATENCY)

    def issue(self, layer: Layer) -> float:
        return 150  # ten registers of a channel and its flags, over the bus; estimated

    def overhead(self, layer: Layer) -> float:
        return 4096  # the cache's 512 lines are emptied before and after: a store and its loop, 4 cycles each
