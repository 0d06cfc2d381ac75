"""GAP9: a control core with L2, and a cluster of 8 cores that shares 128 kB of L1 with the NE16 accelerator."""

from __future__ import annotations

from match.cost import CpuCostModel
from match.cost_models.riscv_core import RiscvCoreCost
from match.hardware import HwModule, MatchTarget, Platform
from match.targets.gap9.memory import L1, L2
from match.targets.gap9.ne16 import Ne16
from match.targets.pulp import chip
from match.targets.pulp.cluster import Cluster

_NE16_SOURCES = (
    "kernels/ne16/match_ne16.c",
    "kernels/ne16/ne16_driver.c",
    "kernels/ne16/ne16_model.c",
    "targets/gap9/host/gap9_ne16.c",
)
_NE16_INCLUDE = ("kernels/ne16", "targets/gap9/include")


class Gap9(MatchTarget):
    """GAP9 at 260 MHz, both domains, as in the MATCH paper (the silicon reaches 370 MHz)."""

    name = "gap9"
    clock_hz = 260e6
    main_memory = L2
    activations = "uint8"
    api = chip.API

    def __init__(self) -> None:
        self.modules: tuple[HwModule, ...] = (Cluster(L1), Ne16())
        self.cpu_cost_model: CpuCostModel = RiscvCoreCost()

    @property
    def host(self) -> Platform:
        """The first of `platforms`."""
        return self.platforms[0]

    @property
    def platforms(self) -> tuple[Platform, ...]:
        """A PULP chip, with NE16 as a model behind its registers."""
        return chip.platforms(self.modules, L1, L2, _NE16_SOURCES, _NE16_INCLUDE)
