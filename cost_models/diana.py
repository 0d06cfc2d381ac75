"""DIANA's digital accelerator, its DMA and its RISC-V core.

The array has 16 x 16 multiply-accumulate units: 16 output channels by 16 output columns of a row or, of a fully
connected layer, 16 output by 16 input channels. Cycles of a block of outputs follow the model published with MATCH: a
cycle for each product of one output, two reads for each input channel and filter row, 23 for the element-wise stage and
the store. That a fully connected layer and an addition count alike on their own unrolling is an inference.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from match.cost_models.riscv_core import RiscvCoreCost
from match.ir.layer import Layer, Op
from match.target.cost import Block, CostModel, Energy, Tile, ceil_div, choose, larger, smaller

ARRAY = 16
"""Output channels and output columns, or input channels, that are computed at once."""

READS = 2
"""Cycles to read the columns that one input channel and filter row has for a block."""

STORE = 23
"""Cycles of the element-wise stage and the store of a block."""

JOB_WORDS = 24

DIANA_CORE = RiscvCoreCost(convolution=2.0, dense=1.9, output=103.0)
"""TVM's C on DIANA's core, from its latencies on three networks at 260 MHz (MATCH paper, Table III): cycles of a
multiply-accumulate and of an output are the line through the two networks of convolutions (ResNet, DS-CNN), a dense
layer's are what they leave of the auto-encoder."""


@dataclass(frozen=True)
class DianaEnergy:
    """pJ of DIANA's units at 0.8 V and 260 MHz, of a cycle unless said otherwise; estimated, see docs/cost-models.md.

    soc: the core's domain, in any cycle, and core: more while the core computes or serves the accelerator.
    digital: the digital accelerator, in any cycle. array: more while it works. mac: one of its multiply-accumulates.
    l1_byte: a byte between L2 and the accelerator's memories.
    """

    soc: float = 7.4
    core: float = 15.0
    digital: float = 21.7
    array: float = 21.7
    mac: float = 0.085
    l1_byte: float = 3.2

    def of_core(self) -> Energy:
        """The core, while the accelerator waits."""
        return Energy(0.0, cycle=self.soc + self.digital, kernel=self.core)

    def of_digital(self) -> Energy:
        """The accelerator, while the core waits; the core launches jobs and starts transfers."""
        return Energy(self.mac, {"L1": self.l1_byte}, self.soc + self.digital, self.array, self.core)


DIANA_ENERGY = DianaEnergy()


@dataclass(frozen=True)
class DianaDma:
    """Cycles of a transfer between L2 and the accelerator's memories, which blocks the core.

    bytes: in a cycle, the width of the port to L2, 128 bits.
    chunk: cycles of each contiguous piece, its call included (MATCH paper).
    """

    bytes: int = 16
    chunk: int = 70

    def __post_init__(self) -> None:
        if self.bytes < 1:
            raise ValueError("a DMA moves at least a byte in a cycle")

    def transfer(self, block: Block) -> int:
        """The set-up of each contiguous piece, and the bytes at the port's width."""
        return self.chunk * block.chunks + ceil_div(block.bytes, self.bytes)


@dataclass(frozen=True)
class DianaDigitalCost(CostModel):
    """Cycles of the digital accelerator. Nothing overlaps: a transfer blocks the core, and a job has to be waited for.

    access: cycles of a register access. Estimated, as NE16's.
    kernel: cycles of a kernel call beside its jobs: the tile's context, working out the registers. Estimated.
    energy: pJ, None where they are not known.
    """

    access: int = 4
    kernel: int = 100
    dma: DianaDma = field(default_factory=DianaDma)
    energy: Energy | None = None

    overlap = False
    arrays = True

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of all jobs of a tile: one for each depthwise channel or pixel of a fully connected layer."""
        job = self.access * (JOB_WORDS + 1)
        channels, columns = ceil_div(tile.k, ARRAY), ceil_div(tile.ox, ARRAY)
        match layer.op:
            case Op.CONV2D:
                return job + channels * columns * _rows(layer, tile, tile.c)
            case Op.DEPTHWISE_CONV2D:
                return tile.k * (job + columns * _rows(layer, tile, 1))
            case Op.DENSE:
                return tile.oy * tile.ox * (job + channels * (ceil_div(tile.c, ARRAY) * (1 + READS) + STORE))
            case _:
                return job + channels * columns * tile.oy * (ARRAY * READS + STORE)

    def launch(self, layer: Layer) -> float:
        """The same for every tile."""
        return self.kernel

    def transfer(self, layer: Layer, block: Block) -> float:
        """As the DMA has it."""
        return self.dma.transfer(block)


def _rows(layer: Layer, tile: Tile, channels: int) -> int:
    """Cycles of 16 columns of all rows of a tile; rows of the filter that see padding alone are skipped."""
    filter_rows = tile.oy * tile.fy - _padded_rows(layer, tile)
    return filter_rows * channels * (tile.fx + READS) + tile.oy * STORE


def _padded_rows(layer: Layer, tile: Tile) -> int:
    """Rows of the filter that lie above or below the input, counted for each output row of the tile.

    Of a tile's missing input rows as many are above as the layer has padding there, the others below. Where a part of
    the layer sees all input rows, they may be on either side: they are shared out so that the fewest are skipped. Rows
    between windows, where the stride is larger than the filter, are not among them.
    """
    stride, padding = min(layer.stride[0], tile.fy), layer.padding
    missing = larger(0, (tile.oy - 1) * stride + tile.fy - tile.iy)
    above = smaller(missing, padding.top)
    least = smaller(above, larger(missing // 2, missing - padding.bottom))
    above = choose((tile.iy == layer.iy) & (tile.oy < layer.oy), least, above)
    sides = (above, smaller(missing - above, padding.bottom))
    rows = range(max(padding.top, padding.bottom))
    skipped: int = sum(choose(tile.oy > row, larger(0, side - row * stride), 0) for side in sides for row in rows)
    return skipped
