"""STM32H743: a Cortex-M7 at 480 MHz that computes out of DTCM, which the MDMA fills from AXI SRAM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from match import hardware
from match.cost_models.riscv_core import RiscvCoreCost
from match.hardware import Platform, HwModule, LayerConstants, MatchTarget, Pattern, Verdict
from match.layer import Dim, Layer, Op, Operand
from match.operands import standard_operands
from match.requantize import Requantizer
from match.schedule.mapping import Memory

from stm32h743.cost import M7Cost, is_pointwise

HERE = Path(__file__).resolve().parent
DTCM = Memory("DTCM", 128 * 1024)
REQUANT = np.dtype([("bias", "<i8"), ("multiplier", "<i4"), ("shift", "<i4")])
REQUANT_SIGNED = np.dtype([*REQUANT.descr, ("negative_below", "<i4"), ("reserved", "<i4")])
REQUANT_ADD = np.dtype([("bias", "<i8"), ("input", "<i4"), ("addend", "<i4"), ("shift", "<i4"), ("reserved", "<i4")])
INT64 = Requantizer("int64", 32, True, 64, 64, (0, 63), True, False, REQUANT.itemsize)
INT64_SIGNED = Requantizer("int64_signed", 32, True, 64, 64, (0, 63), True, True, REQUANT_SIGNED.itemsize)
OPS = (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.DENSE, Op.ADD, Op.AVG_POOL2D, Op.MAX_POOL2D)
PARTS = (Path("kernels/host/match_host_arena.c"), Path("kernels/host/match_host_dma.c"))
TRANSFERS = ("stm32h743_transfer_t", "stm32h743_copy_in", "stm32h743_copy_out")


def uint8_input(layer: Layer) -> Verdict:
    """The input is uint8; the compiler shifts int8 networks to it where every operator allows."""
    return Verdict(layer.input_dtype == "uint8", f"its input is {layer.input_dtype} and the kernels read uint8")


def no_dilation(layer: Layer) -> Verdict:
    """Filters and windows have no holes: dilation is 1."""
    return Verdict(layer.dilation == (1, 1), f"its dilation is {layer.dilation[0]}x{layer.dilation[1]}, not 1x1")


class CortexM7(HwModule):
    """The core with its DTCM, the MDMA and the kernels of kernels.c."""

    name = "cortex_m7"
    memories = (DTCM,)
    cost_model = M7Cost()
    requantizers = (INT64, INT64_SIGNED)
    api = hardware.ModuleApi(
        headers=("stm32h743.h",),
        platform=hardware.PlatformApi("stm32h743_offload"),
        memory=hardware.MemoryApi("stm32h743_dtcm_alloc", "stm32h743_dtcm_free", *TRANSFERS),
        sync=hardware.SyncApi("stm32h743_wait_transfer", "stm32h743_wait"),
        compute=hardware.ComputeApi("stm32h743_start"),
    )

    def patterns(self) -> tuple[Pattern, ...]:
        return tuple(Pattern(op, (uint8_input, no_dilation)) for op in OPS)

    def operands(self, layer: Layer, requantizer: Requantizer | None) -> tuple[Operand, ...]:
        parameters = requantizer.parameter_bytes if requantizer else 0
        return standard_operands(layer, REQUANT_ADD.itemsize if layer.op is Op.ADD else parameters)

    def tile_multiples(self, layer: Layer) -> Mapping[Dim, int]:
        """Four channels are a word: what the MDMA moves at once, and two pairs of the kernels."""
        return {Dim.K: 4}

    def pack(
        self,
        layer: Layer,
        requantizer: Requantizer | None,
        constants: LayerConstants,
        spans: Mapping[Dim, tuple[int, int]],
    ) -> tuple[bytes, ...]:
        """Filters as they are, then match_requant_add_t, or an array of match_requant_t or match_requant_signed_t."""
        (start, extent), parameters = spans[Dim.K], constants.requantization
        part = slice(start, start + extent)
        packed = () if constants.weights is None else (constants.weights[part].tobytes(),)
        if requantizer is None or parameters is None:
            return packed
        if constants.addend_multipliers is not None:
            entry = (int(parameters.bias[0]), *constants.addend_multipliers, int(parameters.shift[0]), 0)
            return (np.array([entry], REQUANT_ADD).tobytes(),)
        entries = np.zeros(extent, REQUANT_SIGNED if requantizer.negative_step else REQUANT)
        for field in entries.dtype.names or ():
            entries[field] = 0 if field == "reserved" else getattr(parameters, field)[part]
        return (*packed, entries.tobytes())

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        return "m7_pointwise" if is_pointwise(layer) else f"m7_{layer.op}"


class Stm32h743(MatchTarget):
    """The core, 128 kB of DTCM and 512 kB of AXI SRAM."""

    name = "stm32h743"
    clock_hz = 480e6
    main_memory = Memory("AXI SRAM", 512 * 1024)
    modules = (CortexM7(),)
    # No SIMD, through the data cache; an FPU. All estimated.
    cpu_cost_model = RiscvCoreCost(convolution=5, dense=5, output=30, float_operator=20, exponential=200)
    activations = "uint8"
    api = hardware.TargetApi(
        ("stm32h743.h",), "stm32h743_open", "stm32h743_close", "stm32h743_sram_alloc", "stm32h743_sram_free"
    )

    @property
    def host(self) -> Platform:
        """The functions of stm32h743.h on a PC; DTCM is as large as the module was given."""
        dtcm = max((module.memories[-1].size for module in self.modules), default=DTCM.size)
        return Platform(
            sources=(HERE / "kernels.c", HERE / "host.c", *PARTS),
            include=(HERE, Path("kernels/include"), Path("kernels/host")),
            defines={"STM32H743_DTCM_BYTES": str(dtcm), "STM32H743_SRAM_BYTES": str(self.main_memory.size)},
        )

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
