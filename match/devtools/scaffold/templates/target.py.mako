"""${title}: what the chip is. Every number here is a placeholder for the chip's own.

% if scratchpad:
One engine convolves 16 input by 16 output channels a cycle, and an adder adds maps beside it, both out of 16 kB of
scratchpad that a DMA fills while the core waits. Everything that neither of them takes runs on the control core.
% else:
The core convolves with a kernel of its own, out of RAM and flash. What has no kernel is C that TVM generates.
% endif
"""

from __future__ import annotations

from pathlib import Path

from match.target import chip
from match.target.constraints import no_dilation${", whole_addend" if scratchpad else ""}
% if scratchpad:
from match.target.cost import Block, CostModel, CpuCostModel, Starting, Tile, ceil_div
from match.target.hardware import HwModule, MatchTarget, Pattern, Platform
% else:
from match.target.cost import CostModel, CpuCostModel, Tile
from match.target.hardware import DirectApi, HwModule, MatchTarget, Pattern, Platform
% endif
from match.ir.layer import Layer, Op
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.target.tile_constants import INT64

HERE = Path(__file__).resolve().parent


% if scratchpad:
class ModuleCost(CostModel):
    """What both modules share: the DMA, which does not work beside them, and a core that goes on when they start."""

    overlap = False

    def transfer(self, layer: Layer, block: Block) -> float:
        """Cycles of one transfer: 20 for each contiguous piece, then 4 bytes a cycle."""
        return 20 * block.chunks + block.bytes / 4

    def starting(self, layer: Layer, tile: Tile) -> Starting:
        """The core prepares the next call while a module computes; to start one takes no cycles."""
        return Starting()


class EngineCost(ModuleCost):
    """256 multiply-accumulates a cycle on whole groups of 16 channels."""

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of one tile: channels are rounded up to the array's 16 x 16."""
        return tile.oy * tile.ox * tile.fy * tile.fx * ceil_div(tile.c, 16) * ceil_div(tile.k, 16)


class AdderCost(ModuleCost):
    """8 additions a cycle."""

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of one tile."""
        return ceil_div(tile.oy * tile.ox * tile.k, 8)
% else:
class CoreCost(CostModel):
    """What the kernels take."""

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of a layer: 3 of a multiply-accumulate, 10 of an output."""
        outputs = tile.oy * tile.ox * tile.k
        return outputs * (3 * tile.fy * tile.fx * tile.c + 10)
% endif


class ControlCoreCost(CpuCostModel):
    """${"A core that takes 4 cycles a multiply-accumulate and 10 an output." if scratchpad else "What C that TVM generates takes: 6 cycles of a multiply-accumulate, 20 of an output."}"""

    def cycles(self, op: str, macs: int, outputs: int) -> float:
        """Cycles of one operator."""
        return ${"4 * macs + 10 * outputs" if scratchpad else "6 * macs + 20 * outputs"}


% if scratchpad:
SCRATCHPAD = Memory("scratchpad", 16 * 1024)


class Engine(HwModule):
    """The convolution engine."""

    name = "engine"
    memories = (SCRATCHPAD,)
    groups = True  # with what the adder takes, one after the other or both at once
    cost_model = EngineCost()
    requantizers = (INT64,)
    api = chip.module_api("${name}.h", under_way=1)
% else:
class Core(HwModule):
    """The core with kernels of its own, which read and write RAM."""

    name = "core"
    memories = ()
    cost_model = CoreCost()
    requantizers = (INT64,)
    api = DirectApi(("${name}.h",))
% endif

    def patterns(self) -> tuple[Pattern, ...]:
        """Convolutions without dilation."""
        return (Pattern(Op.CONV2D, (no_dilation,)),)

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        """The one kernel."""
        return "match_${name}_conv2d"


% if scratchpad:
class Adder(HwModule):
    """The adder, which shares the engine's scratchpad."""

    name = "adder"
    memories = (SCRATCHPAD,)
    groups = True
    cost_model = AdderCost()
    requantizers = (INT64,)
    api = chip.module_api("${name}.h", second=True, under_way=1)

    def patterns(self) -> tuple[Pattern, ...]:
        """Additions of two maps."""
        return (Pattern(Op.ADD, (whole_addend,)),)

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        """The one kernel."""
        return "match_${name}_add"


% endif
class ${title}(MatchTarget):
% if scratchpad:
    """The chip: the engine, the adder, a control core, 256 kB of main memory, 100 MHz."""
% else:
    """The chip: a core with 256 kB of RAM and 1 MB of flash, 100 MHz."""
% endif

    name = "${name}"
    clock_hz = 100e6
% if scratchpad:
    main_memory = Memory("main memory", 256 * 1024)
    modules = (Engine(), Adder())
% else:
    main_memory = Memory("RAM", 256 * 1024)
    flash = Memory("flash", 1024 * 1024)
    modules = (Core(),)
% endif
    cpu_cost_model = ControlCoreCost()
    activations = "uint8"
    api = chip.${"API" if scratchpad else "CORE_API"}

    @property
    def host(self) -> Platform:
        """The functions of ${"match_chip.h" if scratchpad else "match_core.h"} on a PC, and the kernels."""
        return chip.${"host" if scratchpad else "core_host"}(self, HERE, "${name}.c")
