"""GAP9: a control core with L2, and a cluster of 8 cores that shares 128 kB of L1 with the NE16 accelerator."""

from __future__ import annotations

from dataclasses import replace

from match.cost_models.dma import Mchan
from match.cost_models.pulp_control_core import ControlCoreCost
from match.cost_models.pulp_energy import GAP9_ENERGY, PulpEnergy
from match.cost_models.riscv_core import RiscvCoreCost
from match.target.cost import CpuCostModel
from match.target.hardware import HwModule, MatchTarget, Platform, ProgramSize
from match.targets.gap9 import ne16
from match.targets.gap9.memory import L1, L1_BYTES, L2
from match.targets.gap9.ne16 import Ne16
from match.targets.pulp import chip
from match.targets.pulp import cluster as pulp_cluster
from match.targets.pulp.cluster import Cluster
from match.targets.pulp.control_core import ONE_CORE, ControlCore
from match.targets.pulp.external import hyperram
from match.targets.pulp.memory import ClusterSettings, scratchpad

NE16_SOURCES = tuple(
    f"kernels/ne16/{name}.c" for name in ("match_ne16", "match_ne16_laid_out", "ne16_parts", "ne16_jobs", "ne16_driver")
)
"""What drives NE16, on every platform."""

NE16_INCLUDE = ("kernels/ne16", "targets/gap9/include")

NE16_CHIP = (*NE16_SOURCES, "targets/gap9/gap9_ne16_cluster.c")
"""The same with what runs it on the cluster's master, on platforms that have NE16 itself."""

NE16_MODEL = ("kernels/ne16/ne16_model.c", "targets/gap9/host/gap9_ne16.c")
"""What stands in for NE16 on a PC."""


class Gap9(MatchTarget):
    """GAP9 at 260 MHz, both domains, as in the MATCH paper (the silicon reaches 370 MHz)."""

    name = "gap9"
    main_memory = L2
    activations = "uint8"
    api = chip.API
    settled = frozenset({"clock_hz"})
    estimated_energy = True
    program = ProgramSize(fixed=64 << 10, operator=768)
    """As on `pulp_open`, where it is linked, and 32 kB for the vendor's operating system."""

    def __init__(
        self,
        cluster: ClusterSettings = ClusterSettings(),
        dma: Mchan = Mchan(),
        clock_hz: float = 260e6,
        energy: PulpEnergy = GAP9_ENERGY,
    ) -> None:
        """With the cluster, the DMA, the clock of both domains and the pJ that are given."""
        l1, shared = scratchpad(L1_BYTES, cluster.cores), {"cores": cluster.cores, "offload": cluster.offload}
        self.modules: tuple[HwModule, ...] = (
            Cluster(l1, replace(pulp_cluster.COST, **shared, dma=dma, consumption=energy)),
            Ne16(l1, replace(ne16.COST, **shared, dma=dma, consumption=energy)),
            ControlCore(ControlCoreCost(ONE_CORE, energy=energy.of_core())),
        )
        self.clock_hz = clock_hz
        self.external = hyperram(clock_hz)
        self.cpu_cost_model: CpuCostModel = RiscvCoreCost(energy=energy.of_core())

    @property
    def host(self) -> Platform:
        """The first of `platforms`."""
        return self.platforms[0]

    @property
    def platforms(self) -> tuple[Platform, ...]:
        """What stands in for a PULP chip, with NE16 as a model behind its registers, and the chip with its SDK."""
        sources = *NE16_SOURCES, *NE16_MODEL
        stand_ins = chip.platforms(self.modules, L1, self.main_memory, sources, NE16_INCLUDE, "NE16")
        driver = (*NE16_CHIP, "targets/gap9/gap_sdk/gap9_gap_sdk_ne16.c")
        rtl = chip.rtl_platform(self.modules, L1, self.main_memory)
        return (*stand_ins, rtl, chip.gap_sdk_platform(self, L1, self.main_memory, driver, NE16_INCLUDE))
