"""What the MDMA of STM32H743 is believed to take, in cycles of its core at 480 MHz; kernels take what the family's do.

README.md has the sources. Nothing has been measured on the chip.
"""

from __future__ import annotations

from dataclasses import dataclass

from match.cost_models.cortex_m import CortexMCost
from match.ir.layer import Layer
from match.target.cost import Block, ceil_div

BUS = 2  # core cycles of a bus cycle: AXI and AHB run at 240 MHz
BUFFER = 128  # bytes that the MDMA reads before it writes them
BUFFER_LATENCY = 12  # bus cycles of a buffer beside its beats; estimated


@dataclass(frozen=True)
class MdmaCost(CortexMCost):
    """Kernels out of DTCM, the MDMA beside them."""

    overlap = True

    def launch(self, layer: Layer) -> float:
        return 60  # the tile's context, about 40 stores

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
