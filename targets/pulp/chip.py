"""What all PULP chips have: the functions of the chip as a whole, and what stands in for it on a PC."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from match.cost_models.dma import Mchan
from match.cost_models.ne16 import Ne16Cost
from match.cost_models.pulp_cluster import PulpClusterCost
from match.cost_models.pulp_control_core import AT_HAND, ControlCoreCost
from match.cost_models.pulp_cycles import ALONE
from match.errors import TargetError
from match.mapping.memory import Memory
from match.target.cost import Block, CostModel
from match.target.hardware import HwModule, MatchTarget, Platform, TargetApi
from match.target.sources import c_files
from match.targets.pulp.memory import CORES

API = TargetApi(
    headers=("match_pulp_chip.h",),
    open="match_pulp_open",
    close="match_pulp_close",
    allocate="match_pulp_l2_alloc",
    free="match_pulp_l2_free",
)

PULP_KERNELS = "kernels/pulp"
"""The folder of kernels for a team of cores or for one."""

CLUSTER_INCLUDE = ("kernels/include", PULP_KERNELS, "targets/pulp/include")

RISCV_INCLUDE = "targets/pulp/riscv"
"""Headers of programs for a RISC-V core without an operating system."""

ASYNC_INCLUDE = "targets/pulp/async"
"""Runs on a stack of their own on a RISC-V core."""

_HOST_SOURCES = (
    "kernels/host/match_host_arena.c",
    "kernels/host/match_host_dma.c",
    "kernels/host/match_host_faults.c",
    "targets/pulp/host/pulp_host.c",
)
_PC = ("kernels/host/match_host_async.c", "kernels/host/match_host_team.c", "targets/pulp/host/pulp_machine.c")
_QEMU = ("kernels/host/match_single_team.c", "targets/pulp/qemu/pulp_machine.c", "targets/pulp/async/pulp_async.c")

_HOST_INCLUDE = ("kernels/host", "targets/pulp/host")

NO_ACCELERATOR = ("targets/pulp/host/pulp_no_accelerator.c",)
"""Sources beside the cluster's, of a chip whose cluster has no accelerator."""

RV32IMC = ("-misa-spec=2.2", "-march=rv32imc", "-mabi=ilp32")
"""Flags for the older specification, which has the counters in I: no C library is built for their extension."""

PICOLIBC = ("--specs=picolibc.specs", "-fno-tree-loop-distribute-patterns")
"""Flags for this C library, which copies byte by byte, in nine cycles each: loops that copy words stay loops."""

_SEMIHOST = ("--oslib=semihost", "--crt0=semihost")

_IMAGE, _IMAGE_BYTES = 0x8000_0000, 64 << 20
_DATA, _DATA_BYTES = 0x8400_0000, 64 << 20
_MACHINE = (
    f"__flash={_IMAGE:#x}",
    f"__flash_size={_IMAGE_BYTES:#x}",
    f"__ram={_DATA:#x}",
    f"__ram_size={_DATA_BYTES:#x}",
    "__stack_size=0x10000",
)


_INSTRUCTIONS = (
    "These are instructions of one RV32IMC core without SIMD, which executes what the chip's cores share; what the DMA "
    "copies is not among them"
)


def cluster_sources() -> tuple[str, ...]:
    """The C files of what runs on the cluster, on every platform."""
    return (*c_files(PULP_KERNELS), "targets/pulp/pulp_team.c")


def memory_sizes(modules: Iterable[HwModule], l1: Memory, l2: Memory) -> dict[str, str]:
    """Macros of match_pulp_chip.h: the bytes of L1 that modules were given (`l1` where none has it), those of L2."""
    l1_bytes = max((module.scratchpad_bytes for module in modules), default=0) or l1.size
    return {"PULP_L1_BYTES": str(l1_bytes), "PULP_L2_BYTES": str(l2.size)}


def cores_of(modules: Iterable[HwModule]) -> int:
    """Workers of the cluster that the modules were made for.

    Raises:
        TargetError: if they were made for different ones.
    """
    models = (module.cost_model for module in modules)
    found = {model.cores for model in models if isinstance(model, PulpClusterCost | Ne16Cost)}
    if len(found) > 1:
        raise TargetError(
            f"modules of one cluster were made for {' and '.join(map(str, sorted(found)))} cores; give all of them the "
            "same number."
        )
    return next(iter(found), CORES)


def _with_cores(modules: Iterable[HwModule]) -> dict[str, str]:
    """The macro of match_pulp_chip.h for the workers of the cluster, where they are not what it has them to be."""
    cores = cores_of(modules)
    return {} if cores == CORES else {"PULP_CLUSTER_CORES": str(cores)}


def platforms(
    modules: Iterable[HwModule],
    l1: Memory,
    l2: Memory,
    sources: Iterable[str],
    include: Iterable[str] = (),
    accelerator: str = "",
) -> tuple[Platform, ...]:
    """What stands in for a chip of the family; `sources` and `include` are for the `accelerator` beside the cluster.

    "host" is a PC with a thread for each core of the cluster, "qemu" one RV32IMC core without an operating system. On
    both the arena of L1 has exactly the bytes that the modules were given (`l1` without modules), so that a layer that
    needs more fails.
    """
    shared = (*cluster_sources(), *_HOST_SOURCES, *sources)
    folders = tuple(map(Path, (*CLUSTER_INCLUDE, *_HOST_INCLUDE, *include)))
    defines = {**memory_sizes(modules, l1, l2), "MATCH_ASYNC": "1"}
    on_pc = {**defines, **_with_cores(modules)}
    return (
        Platform(tuple(map(Path, (*shared, *_PC))), folders, on_pc, flags=("-pthread",)),
        Platform(
            tuple(map(Path, (*shared, *_QEMU))),
            (*folders, Path(RISCV_INCLUDE), Path(ASYNC_INCLUDE)),
            {**defines, "PULP_CLUSTER_CORES": "1"},
            name="qemu",
            compiler="riscv64-unknown-elf-gcc",
            flags=(*RV32IMC, *PICOLIBC, *_SEMIHOST, "-ffunction-sections", "-fdata-sections"),
            link=("-lm", *(f"-Wl,--defsym={symbol}" for symbol in _MACHINE)),
            runner="qemu",
            machine=("qemu-system-riscv32", "-M", "virt", "-m", "128M", "-bios", "none"),
            counts="instructions",
            counted=f"{_INSTRUCTIONS}{f', and of layers on {accelerator} the driver alone' if accelerator else ''}.",
        ),
    )


_BARE = "targets/pulp_open/bare"
_RTL = "targets/pulp/rtl"
_RTL_SCRIPT = Path(_RTL, "pulp_rtl.ld")
_RTL_SOURCES = (
    f"{_RTL}/start.S",
    f"{_RTL}/pulp_rtl_chip.c",
    f"{_BARE}/pulp_open_dma.c",
    f"{_BARE}/pulp_open_memory.c",
    f"{_BARE}/pulp_open_stdio.c",
    "kernels/chip/match_stack.c",
)


@dataclass(frozen=True)
class _Immediate(Mchan):
    """A DMA that nobody waits for; `call`: its driver's functions, which start a transfer and give it back."""

    call: int = 162

    def transfer(self, block: Block) -> int:
        """Nothing."""
        return 0


_LAYER = 410
"""Cycles of a layer there: the call, its blocks reserved and given back."""

_KERNEL = 115
"""Cycles of a kernel call there: the loops around it, its context, the functions that start it and wait for it."""


def one_core(cost: CostModel) -> CostModel:
    """The cost model of a cluster that is one core under simulation, or of the control core, which is the same.

    What is around kernels is measured there (docs/running.md); a transfer of many commands takes longer than this.
    """
    if isinstance(cost, ControlCoreCost):
        return replace(cost, stalls=AT_HAND, stalls_by_kind={})
    if not isinstance(cost, PulpClusterCost):
        raise TypeError(f"{type(cost).__name__} is no cost model of the cluster")
    return replace(cost, cores=1, kernel=_KERNEL, offload=_LAYER, dma=_Immediate(), sharing=ALONE)


def rtl_platform(modules: Iterable[HwModule], l1: Memory, l2: Memory) -> Platform:
    """One core of the cluster as RTL, CV32E40P, with L1, L2 and the DMA; no accelerator."""
    sizes = memory_sizes(modules, l1, l2)
    symbols = {"__l1_bytes": sizes["PULP_L1_BYTES"], "__l2_bytes": sizes["PULP_L2_BYTES"]}
    return Platform(
        name="rtl",
        sources=tuple(map(Path, (*cluster_sources(), *_RTL_SOURCES))),
        include=tuple(map(Path, (*CLUSTER_INCLUDE, RISCV_INCLUDE, _BARE))),
        defines={**sizes, "PULP_CLUSTER_CORES": "1", "MATCH_PULP_ISA_COREV": "1"},
        compiler="riscv64-unknown-elf-gcc",
        flags=(*RV32IMC, *PICOLIBC, "-ffunction-sections", "-fdata-sections"),
        link=(
            "-nostartfiles",
            *(f"-Wl,--defsym={symbol}={size}" for symbol, size in symbols.items()),
            f"-T{_RTL_SCRIPT}",
            "-Wl,--gc-sections",
            "-lm",
        ),
        files=(_RTL_SCRIPT,),
        io=Path(_RTL, "pulp_rtl_io.c"),
        runner="rtl",
        counts="cycles",
        counted="One core of the cluster executes all of it, and transfers take no time.",
        modules=("cluster", "core"),
        cost=one_core,
    )


_GAP_SDK_SOURCES = (
    "kernels/chip/match_stack.c",
    "targets/pulp/gap_sdk/pulp_gap_sdk.c",
    "targets/pulp/gap_sdk/pulp_gap_sdk_dma.c",
    "targets/pulp/gap_sdk/pulp_gap_sdk_main.c",
    "targets/pulp/async/pulp_async.c",
)


def gap_sdk_platform(
    target: MatchTarget, l1: Memory, l2: Memory, sources: Iterable[str] = (), include: Iterable[str] = ()
) -> Platform:
    """The chip with the vendor's SDK for GAP8 and GAP9, as far as this project goes: one relocatable object.

    An application of the SDK links it; the SDK's flags, which say where its headers are, come in CFLAGS. `sources` and
    `include` are for the accelerator beside the cluster.
    """
    return Platform(
        name="gap_sdk",
        sources=tuple(map(Path, (*cluster_sources(), *_GAP_SDK_SOURCES, *sources))),
        include=tuple(map(Path, (*CLUSTER_INCLUDE, "targets/pulp/gap_sdk", ASYNC_INCLUDE, *include))),
        defines={
            **memory_sizes(target.modules, l1, l2),
            **_with_cores(target.modules),
            "MATCH_ASYNC": "1",
            "MATCH_MAIN": "match_application",
            "MATCH_PULP_ISA_AUTO": "1",
        },
        compiler="riscv32-unknown-elf-gcc",
        standard="gnu11",  # GAP8's headers use the keyword asm
        link=("-r", "-nostdlib"),
        runner="sdk",
        io=Path("targets/pulp/gap_sdk/pulp_gap_sdk_io.c"),
    )
