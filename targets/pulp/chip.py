"""What all PULP chips have: the functions of the chip as a whole, and what stands in for it on a PC."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from match.hardware import HostPlatform, HwModule, TargetApi
from match.schedule.mapping import Memory

API = TargetApi(
    headers=("pulp.h",), open="pulp_open", close="pulp_close", allocate="pulp_l2_alloc", free="pulp_l2_free"
)

_SOURCES = (
    "kernels/host/match_host_arena.c",
    "kernels/host/match_host_dma.c",
    "kernels/host/match_host_team.c",
    "kernels/pulp/match_pulp_add.c",
    "kernels/pulp/match_pulp_conv2d.c",
    "kernels/pulp/match_pulp_dense.c",
    "kernels/pulp/match_pulp_depthwise_3x3.c",
    "kernels/pulp/match_pulp_depthwise_conv2d.c",
    "kernels/pulp/match_pulp_lookup.c",
    "kernels/pulp/match_pulp_matmul.c",
    "kernels/pulp/match_pulp_pointwise.c",
    "kernels/pulp/match_pulp_pool2d.c",
    "kernels/pulp/match_pulp_requantize.c",
    "targets/pulp/pulp_team.c",
    "targets/pulp/host/pulp_host.c",
)

_INCLUDE = (
    "kernels/include",
    "kernels/host",
    "kernels/pulp",
    "targets/pulp/include",
    "targets/pulp/host",
)

NO_ACCELERATOR = ("targets/pulp/host/pulp_no_accelerator.c",)
"""Sources beside the cluster's, of a chip whose cluster has no accelerator."""


def host_platform(
    modules: Iterable[HwModule], l1: Memory, l2: Memory, sources: Iterable[str], include: Iterable[str] = ()
) -> HostPlatform:
    """Scratchpads as bounded arenas, 8 threads as the cluster; `sources` and `include` for the accelerator beside it.

    The arena of L1 has exactly the bytes that the modules were given (`l1` without modules), so that a layer that needs
    more fails.
    """
    l1_bytes = max((module.memories[-1].size for module in modules), default=l1.size)
    return HostPlatform(
        sources=tuple(map(Path, (*_SOURCES, *sources))),
        include=tuple(map(Path, (*_INCLUDE, *include))),
        defines={"PULP_L1_BYTES": str(l1_bytes), "PULP_L2_BYTES": str(l2.size)},
    )
