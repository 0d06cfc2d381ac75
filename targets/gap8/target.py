"""GAP8: a control core with L2, and a cluster of 8 cores with 64 kB of L1."""

from __future__ import annotations

from dataclasses import replace

from match.cost_models.dma import Mchan
from match.cost_models.pulp_control_core import ControlCoreCost
from match.cost_models.pulp_energy import GAP8_ENERGY, PulpEnergy
from match.cost_models.riscv_core import RiscvCoreCost
from match.target.cost import CpuCostModel
from match.target.hardware import HwModule, MatchTarget, Platform, ProgramSize
from match.targets.gap8.memory import L1, L1_BYTES, L2
from match.targets.pulp import chip
from match.targets.pulp import cluster as pulp_cluster
from match.targets.pulp.cluster import Cluster
from match.targets.pulp.control_core import ONE_CORE, ControlCore
from match.targets.pulp.external import hyperram
from match.targets.pulp.memory import ClusterSettings, scratchpad


class Gap8(MatchTarget):
    """GAP8 at 100 MHz, both domains, as in the papers about it; networks lie in L2 and HyperRAM.

    Its cores are those of GAP9, which TVM's C was measured on.
    """

    name = "gap8"
    main_memory = L2
    activations = "uint8"
    api = chip.API
    settled = frozenset({"clock_hz"})
    estimated_energy = True
    program = ProgramSize(fixed=128 << 10, operator=768)
    """All of it in L2: as on `pulp_open`, where it is linked, and 32 kB for the vendor's operating system."""

    def __init__(
        self,
        cluster: ClusterSettings = ClusterSettings(),
        dma: Mchan = Mchan(),
        clock_hz: float = 100e6,
        energy: PulpEnergy = GAP8_ENERGY,
    ) -> None:
        """With the cluster, the DMA, the clock of both domains and the pJ that are given."""
        cost = replace(pulp_cluster.COST, cores=cluster.cores, offload=cluster.offload, dma=dma, consumption=energy)
        self.modules: tuple[HwModule, ...] = (
            Cluster(scratchpad(L1_BYTES, cluster.cores), cost),
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
        """What stands in for a PULP chip without an accelerator, and the chip with its SDK."""
        stand_ins = chip.platforms(self.modules, L1, self.main_memory, chip.NO_ACCELERATOR)
        rtl = chip.rtl_platform(self.modules, L1, self.main_memory)
        return (*stand_ins, rtl, chip.gap_sdk_platform(self, L1, self.main_memory))
