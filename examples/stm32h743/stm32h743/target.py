"""STM32H743: a Cortex-M7 at 480 MHz that computes out of DTCM, which the MDMA fills from AXI SRAM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from match.target import chip
from match.target.constraints import no_dilation, uint8_input, whole_addend
from match.cost_models.riscv_core import RiscvCoreCost
from match.target.hardware import HwModule, MatchTarget, Pattern, Platform
from match.ir.layer import Dim, Layer, Op
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.target.tile_constants import INT64, INT64_SIGNED

from stm32h743.cost import M7Cost, is_pointwise
from stm32h743.gate import gate

HERE = Path(__file__).resolve().parent
OPS = (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.DENSE, Op.ADD, Op.AVG_POOL2D, Op.MAX_POOL2D)


class CortexM7(HwModule):
    """The core with its DTCM, the MDMA and the kernels of kernels.c."""

    name = "cortex_m7"
    memories = (Memory("DTCM", 128 * 1024),)
    cost_model = M7Cost()
    requantizers = (INT64, INT64_SIGNED)
    api = chip.module_api("kernels.h")

    def patterns(self) -> tuple[Pattern, ...]:
        """All of `OPS`, a convolution with the pooling of its outputs, and an operator of its own."""
        pooled = Pattern(Op.MAX_POOL2D, before=(Op.CONV2D,))
        return (
            *(Pattern(op, (uint8_input, no_dilation, whole_addend)) for op in OPS),
            pooled,
            Pattern(Op.OWN, own=gate()),
        )

    def tile_multiples(self, layer: Layer) -> Mapping[Dim, int]:
        """Four channels are a word: what the MDMA moves at once, and two pairs of the kernels."""
        return {Dim.K: 4}

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        return "match_m7_pointwise" if is_pointwise(layer) else f"match_m7_{layer.what}"


class Stm32h743(MatchTarget):
    """The core, 128 kB of DTCM and 512 kB of AXI SRAM."""

    name = "stm32h743"
    clock_hz = 480e6
    main_memory = Memory("AXI SRAM", 512 * 1024)
    modules = (CortexM7(),)
    # No SIMD, through the data cache; an FPU. All estimated.
    cpu_cost_model = RiscvCoreCost(convolution=5, dense=5, output=30, float_operator=20, exponential=200)
    activations = "uint8"
    api = chip.API

    @property
    def host(self) -> Platform:
        """The functions of match_chip.h on a PC, and the kernels."""
        return chip.host(self, HERE, "kernels.c")

    @property
    def platforms(self) -> tuple[Platform, ...]:
        """The same on a Cortex-M7 under QEMU, whose DSP extension the kernels use."""
        symbols = (
            "__flash=0",
            "__flash_size=0x400000",
            "__ram=0x20000000",
            "__ram_size=0x400000",
            "__stack_size=0x4000",
        )
        qemu = replace(
            self.host,
            name="qemu",
            compiler="arm-none-eabi-gcc",
            flags=("-mcpu=cortex-m7", "-mfloat-abi=hard", "--specs=picolibc.specs", "--oslib=semihost"),
            link=("-lm", "--crt0=semihost", *(f"-Wl,--defsym={symbol}" for symbol in symbols)),
            runner="qemu",
            machine=("qemu-system-arm", "-M", "mps2-an500"),
        )
        return (self.host, qemu)
