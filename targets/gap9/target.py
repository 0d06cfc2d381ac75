"""GAP9: a control core with L2, and a cluster of 8 cores that shares 128 kB of L1 with the NE16 accelerator."""

from __future__ import annotations

from pathlib import Path

from match.cost import CpuCostModel
from match.cost_models.riscv_core import RiscvCoreCost
from match.hardware import HostPlatform, HwModule, MatchTarget, TargetApi
from match.targets.gap9.cluster import Cluster
from match.targets.gap9.memory import L1, L2
from match.targets.gap9.ne16 import Ne16

_SOURCES = (
    "kernels/host/match_host_arena.c",
    "kernels/host/match_host_dma.c",
    "kernels/host/match_host_team.c",
    "kernels/pulp/match_pulp_add.c",
    "kernels/pulp/match_pulp_conv2d.c",
    "kernels/pulp/match_pulp_dense.c",
    "kernels/pulp/match_pulp_depthwise_conv2d.c",
    "kernels/pulp/match_pulp_lookup.c",
    "kernels/pulp/match_pulp_matmul.c",
    "kernels/pulp/match_pulp_pointwise.c",
    "kernels/pulp/match_pulp_pool2d.c",
    "kernels/pulp/match_pulp_requantize.c",
    "kernels/ne16/match_ne16.c",
    "kernels/ne16/ne16_driver.c",
    "kernels/ne16/ne16_model.c",
    "targets/gap9/gap9_team.c",
    "targets/gap9/host/gap9_host.c",
)

_INCLUDE = (
    "kernels/include",
    "kernels/host",
    "kernels/pulp",
    "kernels/ne16",
    "targets/gap9/include",
    "targets/gap9/host",
)


class Gap9(MatchTarget):
    """GAP9 at 260 MHz, both domains, as in the MATCH paper (the silicon reaches 370 MHz)."""

    name = "gap9"
    clock_hz = 260e6
    main_memory = L2
    activations = "uint8"
    api = TargetApi(
        headers=("gap9.h",), open="gap9_open", close="gap9_close", allocate="gap9_l2_alloc", free="gap9_l2_free"
    )

    def __init__(self) -> None:
        self.modules: tuple[HwModule, ...] = (Cluster(), Ne16())
        self.cpu_cost_model: CpuCostModel = RiscvCoreCost()

    @property
    def host(self) -> HostPlatform:
        """Scratchpads as bounded arenas, 8 threads as the cluster, NE16 as a model behind its registers.

        The arena of L1 has exactly the bytes that the modules were given, so that a layer that needs more fails.
        """
        l1 = max((module.memories[-1].size for module in self.modules), default=L1.size)
        return HostPlatform(
            sources=tuple(map(Path, _SOURCES)),
            include=tuple(map(Path, _INCLUDE)),
            defines={"GAP9_L1_BYTES": str(l1), "GAP9_L2_BYTES": str(L2.size)},
        )
