"""External memory behind the HyperBus of a PULP chip, and the C functions that serve it."""

from __future__ import annotations

from pathlib import Path

from match.cost_models.dma import IoDma
from match.mapping.memory import Memory
from match.target.hardware import External, ExternalApi, ExternalPlatform

HYPERRAM_BYTES = 8 << 20
"""64 Mbit, as on the boards of GAP8 and GAP9."""

API = ExternalApi(
    headers=("pulp_external.h",),
    allocate="match_pulp_external_alloc",
    free="match_pulp_external_free",
    load="match_pulp_external_load",
    transfer="match_pulp_external_transfer_t",
    copy_in="match_pulp_external_copy_in",
    copy_out="match_pulp_external_copy_out",
    wait="match_pulp_external_wait",
)

_DEFINES = {"PULP_EXTERNAL_BYTES": str(HYPERRAM_BYTES)}

STAND_IN = ExternalPlatform(
    sources=(Path("targets/pulp/host/external/pulp_external.c"),),
    include=(Path("targets/pulp/host/external"),),
    defines={**_DEFINES, "MATCH_IMAGE_LINKED": "1"},
)
"""On a PC and the emulator: as late as L2's DMA, and with images in the program."""

GAP_SDK = ExternalPlatform(
    sources=(Path("targets/pulp/gap_sdk/external/pulp_gap_sdk_external.c"),),
    include=(Path("targets/pulp/gap_sdk/external"),),
)
"""HyperRAM by the SDK's API; images are files of a readfs in HyperFlash."""


def hyperram(clock_hz: float) -> External:
    """HyperRAM of a chip whose cycles are those of `clock_hz`."""
    return External(
        memory=Memory("L3", HYPERRAM_BYTES),
        api=API,
        dma=IoDma(clock_hz),
        platforms={"host": STAND_IN, "qemu": STAND_IN, "gap_sdk": GAP_SDK},
    )
