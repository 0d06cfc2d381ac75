"""A chip with one scratchpad and one module, or two that share it, under the names of kernels/chip/match_chip.h.

Its author writes those functions once, for the chip; on a PC they are there already. Chips with more, or with a
driver that has its own names, say what these are in a `ModuleApi` and a `TargetApi` of their own.
"""

from __future__ import annotations

from pathlib import Path

from match.target.hardware import (
    ComputeApi,
    MatchTarget,
    MemoryApi,
    ModuleApi,
    Platform,
    PlatformApi,
    SyncApi,
    TargetApi,
)

_HEADER = "match_chip.h"
_PARTS = ("match_host_chip.c", "match_host_arena.c", "match_host_dma.c")

API = TargetApi(
    headers=(_HEADER,),
    open="match_chip_open",
    close="match_chip_close",
    allocate="match_chip_main_alloc",
    free="match_chip_main_free",
)
"""The C functions of the chip as a whole."""


def module_api(*headers: str, second: bool = False, under_way: int = 0) -> ModuleApi:
    """The C functions of the module, or of a second one; `headers` declare its kernels.

    under_way: of `ComputeApi`, 1 where the core goes on while the module computes.
    """
    name = "_second" if second else ""
    return ModuleApi(
        headers=(_HEADER, *headers),
        platform=PlatformApi(offload="match_chip_offload"),
        memory=MemoryApi(
            allocate="match_chip_alloc",
            free="match_chip_free",
            transfer="match_chip_transfer_t",
            copy_in="match_chip_copy_in",
            copy_out="match_chip_copy_out",
        ),
        sync=SyncApi(wait_transfer="match_chip_wait_transfer", wait_compute=f"match_chip_wait{name}"),
        compute=ComputeApi(start=f"match_chip_start{name}", under_way=under_way),
    )


def host(target: MatchTarget, folder: Path, *sources: str) -> Platform:
    """A PC with memories of as many bytes as `target` and its module have, to which the author adds the kernels.

    `folder` has the `sources` of these and the headers that declare them; it is absolute, as everything outside of the
    `match` package.
    """
    scratchpad = max((module.scratchpad_bytes for module in target.modules), default=0)
    return Platform(
        sources=(*(folder / source for source in sources), *(Path("kernels/host", part) for part in _PARTS)),
        include=(folder, Path("kernels/chip"), Path("kernels/include"), Path("kernels/host")),
        defines={
            "MATCH_CHIP_SCRATCHPAD_BYTES": str(scratchpad),
            "MATCH_CHIP_MAIN_BYTES": str(target.main_memory.size),
        },
    )


CORE_API = TargetApi(
    headers=("match_core.h",),
    open="match_core_open",
    close="match_core_close",
    allocate="match_core_alloc",
    free="match_core_free",
)
"""The C functions of a chip whose modules have no scratchpad."""


def core_host(target: MatchTarget, folder: Path, *sources: str) -> Platform:
    """A PC with as much RAM as `target`, to which the author adds the kernels of modules without a scratchpad.

    `folder` and `sources` are those of `host`.
    """
    return Platform(
        sources=(
            *(folder / source for source in sources),
            Path("kernels/host/match_host_core.c"),
            Path("kernels/host/match_host_arena.c"),
        ),
        include=(folder, Path("kernels/chip"), Path("kernels/include"), Path("kernels/host")),
        defines={"MATCH_CORE_RAM_BYTES": str(target.main_memory.size)},
    )
