"""${title}: what the chip is. Every number here is a placeholder for the chip's own.

One engine convolves 16 input by 16 output channels a cycle, out of 16 kB of scratchpad that a DMA fills while the core
waits. Everything the engine does not take runs on the control core.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from match.cost import Block, CostModel, CpuCostModel, Tile
from match.hardware import (
    ComputeApi,
    HwModule,
    LayerConstants,
    MatchTarget,
    MemoryApi,
    ModuleApi,
    Pattern,
    Platform,
    PlatformApi,
    SyncApi,
    TargetApi,
    Verdict,
)
from match.layer import Dim, Layer, Op, Operand
from match.operands import standard_operands
from match.requantize import Requantizer
from match.schedule.mapping import Memory

HERE = Path(__file__).resolve().parent
SCRATCHPAD = Memory("scratchpad", 16 * 1024)
PARAMETERS = np.dtype([("bias", "<i8"), ("multiplier", "<i4"), ("shift", "<i4")])


def no_dilation(layer: Layer) -> Verdict:
    """Filters have no holes: dilation is 1."""
    return Verdict(layer.dilation == (1, 1), f"its dilation is {layer.dilation[0]}x{layer.dilation[1]}, not 1x1")


class EngineCost(CostModel):
    """256 multiply-accumulates a cycle on whole groups of 16 channels; 4 bytes a cycle of DMA, and nothing overlaps."""

    overlap = False

    def compute(self, layer: Layer, tile: Tile) -> float:
        """Cycles of one tile: channels are rounded up to the array's 16 x 16."""
        return tile.oy * tile.ox * tile.fy * tile.fx * -(-tile.c // 16) * -(-tile.k // 16)

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
    memories = (SCRATCHPAD,)
    cost_model = EngineCost()
    requantizers = (
        Requantizer(
            name="int64",
            multiplier_bits=32,
            signed_multiplier=True,
            sum_bits=64,
            bias_bits=64,
            shift=(0, 63),
            per_channel_shift=True,
            negative_step=False,
            parameter_bytes=PARAMETERS.itemsize,
        ),
    )
    api = ModuleApi(
        headers=("${name}.h",),
        platform=PlatformApi(offload="${name}_offload"),
        memory=MemoryApi(
            allocate="${name}_alloc",
            free="${name}_free",
            transfer="${name}_transfer_t",
            copy_in="${name}_copy_in",
            copy_out="${name}_copy_out",
        ),
        sync=SyncApi(wait_transfer="${name}_wait_transfer", wait_compute="${name}_wait"),
        compute=ComputeApi(start="${name}_start"),
    )

    def patterns(self) -> tuple[Pattern, ...]:
        """Convolutions without dilation."""
        return (Pattern(Op.CONV2D, (no_dilation,)),)

    def operands(self, layer: Layer, requantizer: Requantizer | None) -> tuple[Operand, ...]:
        """HWC activations, filters (K, FY, FX, C), then an array of match_requant_t."""
        return standard_operands(layer, PARAMETERS.itemsize)

    def pack(
        self,
        layer: Layer,
        requantizer: Requantizer | None,
        constants: LayerConstants,
        spans: Mapping[Dim, tuple[int, int]],
    ) -> tuple[bytes, ...]:
        """Filters as they are and their requantization, of a range of output channels."""
        start, extent = spans[Dim.K]
        part = slice(start, start + extent)
        weights, requantization = constants.weights, constants.requantization
        if weights is None or requantization is None:
            raise ValueError(f"layer {layer.name} is no quantized convolution")
        parameters = np.zeros(extent, PARAMETERS)
        parameters["bias"] = requantization.bias[part]
        parameters["multiplier"] = requantization.multiplier[part]
        parameters["shift"] = requantization.shift[part]
        return weights[part].tobytes(), parameters.tobytes()

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        """The one kernel."""
        return "${name}_conv2d"


class ${title}(MatchTarget):
    """The chip: the engine, a control core, 256 kB of main memory, 100 MHz."""

    name = "${name}"
    clock_hz = 100e6
    main_memory = Memory("main memory", 256 * 1024)
    modules = (Engine(),)
    cpu_cost_model = ControlCoreCost()
    activations = "uint8"
    api = TargetApi(
        headers=("${name}.h",),
        open="${name}_open",
        close="${name}_close",
        allocate="${name}_main_alloc",
        free="${name}_main_free",
    )

    @property
    def host(self) -> Platform:
        """The functions of ${name}.h on a PC; the scratchpad is as large as the modules were given."""
        scratchpad = max((module.memories[-1].size for module in self.modules), default=SCRATCHPAD.size)
        return Platform(
            sources=(HERE / "${name}.c", Path("kernels/host/match_host_arena.c")),
            include=(HERE, Path("kernels/include"), Path("kernels/host")),
            defines={
                "${name.upper()}_SCRATCHPAD_BYTES": str(scratchpad),
                "${name.upper()}_MAIN_BYTES": str(self.main_memory.size),
            },
        )
