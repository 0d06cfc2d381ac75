"""${title}: what the chip is. Every number here is a placeholder for the chip's own.

One engine convolves 16 input by 16 output channels a cycle, out of 16 kB of scratchpad that a DMA fills while the core
waits. Everything the engine does not take runs on the control core.
"""

from __future__ import annotations

from pathlib import Path

from match.target import chip
from match.target.constraints import no_dilation
from match.target.cost import Block, CostModel, CpuCostModel, Tile, ceil_div
from match.target.hardware import HwModule, MatchTarget, Pattern, Platform
from match.ir.layer import Layer, Op
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.target.tile_constants import INT64

HERE = Path(__file__).resolve().parent


class EngineCost(CostModel):
    """256 multiply-accumulates a cycle on whole groups of 16 channels; 4 bytes a cycle of DMA, and nothing overlaps."""

    overlap = False

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of one tile: channels are rounded up to the array's 16 x 16."""
        return tile.oy * tile.ox * tile.fy * tile.fx * ceil_div(tile.c, 16) * ceil_div(tile.k, 16)

    def transfer(self, layer: Layer, block: Block) -> float:
        """Cycles of one transfer: 20 for each contiguous piece, then 4 bytes a cycle."""
        return 20 * block.chunks + block.bytes / 4


class ControlCoreCost(CpuCostModel):
    """A core that takes 4 cycles a multiply-accumulate and 10 an output."""

    def cycles(self, op: str, macs: int, outputs: int) -> float:
        """Cycles of one operator."""
        return 4 * macs + 10 * outputs


class Engine(HwModule):
    """The convolution engine."""

    name = "engine"
    memories = (Memory("scratchpad", 16 * 1024),)
    cost_model = EngineCost()
    requantizers = (INT64,)
    api = chip.module_api("${name}.h")

    def patterns(self) -> tuple[Pattern, ...]:
        """Convolutions without dilation."""
        return (Pattern(Op.CONV2D, (no_dilation,)),)

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        """The one kernel."""
        return "match_${name}_conv2d"


class ${title}(MatchTarget):
    """The chip: the engine, a control core, 256 kB of main memory, 100 MHz."""

    name = "${name}"
    clock_hz = 100e6
    main_memory = Memory("main memory", 256 * 1024)
    modules = (Engine(),)
    cpu_cost_model = ControlCoreCost()
    activations = "uint8"
    api = chip.API

    @property
    def host(self) -> Platform:
        """The functions of match_chip.h on a PC, and the kernels."""
        return chip.host(self, HERE, "${name}.c")
