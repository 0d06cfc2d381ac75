"""DIANA: a RISC-V core with L2 and a digital accelerator that has memories of its own.

Its second accelerator, an analog array with ternary weights, is not described.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from match.cost_models.diana import DIANA_CORE, DIANA_ENERGY, DianaDma, DianaEnergy
from match.cost_models.pulp_control_core import ControlCoreCost
from match.target.cost import CpuCostModel
from match.target.hardware import HwModule, MatchTarget, Platform, TargetApi
from match.target.sources import c_files
from match.targets.diana.digital import Digital
from match.targets.diana.memory import L1, L2
from match.targets.pulp.chip import PULP_KERNELS
from match.targets.pulp.control_core import ONE_CORE, ControlCore

_SOURCES = (
    "kernels/host/match_host_arena.c",
    "kernels/host/match_host_dma.c",
    "kernels/diana/diana_driver.c",
    "kernels/diana/diana_model.c",
    "kernels/diana/match_diana.c",
    "kernels/chip/match_one_core.c",
    "targets/diana/host/diana_host.c",
)

_INCLUDE = (
    "kernels/include",
    "kernels/host",
    "kernels/diana",
    PULP_KERNELS,
    "targets/diana/include",
    "targets/diana/host",
)


class Diana(MatchTarget):
    """DIANA at 260 MHz, as in the MATCH paper. Activations of the accelerator are int8, those of its core uint8."""

    name = "diana"
    main_memory = L2
    activations = None
    mixed = True
    api = TargetApi(
        headers=("match_diana_chip.h",),
        open="match_diana_open",
        close="match_diana_close",
        allocate="match_diana_l2_alloc",
        free="match_diana_l2_free",
    )

    estimated_energy = True

    def __init__(self, dma: DianaDma = DianaDma(), clock_hz: float = 260e6, energy: DianaEnergy = DIANA_ENERGY) -> None:
        """With the DMA, the clock and the pJ that are given."""
        self.modules: tuple[HwModule, ...] = (
            Digital(dma, energy.of_digital()),
            ControlCore(ControlCoreCost(ONE_CORE, energy=energy.of_core())),
        )
        self.clock_hz = clock_hz
        self.cpu_cost_model: CpuCostModel = replace(DIANA_CORE, energy=energy.of_core())

    @property
    def host(self) -> Platform:
        """Memories as bounded arenas, with exactly the bytes that the module was given; a model of the accelerator."""
        l1 = next((module.memories[-1] for module in self.modules if module.memories), L1)
        (weights,) = (size for _, size in l1.private)
        return Platform(
            sources=tuple(map(Path, (*_SOURCES, *c_files(PULP_KERNELS)))),
            include=tuple(map(Path, _INCLUDE)),
            defines={
                "DIANA_L1_BYTES": str(l1.size),
                "DIANA_WEIGHT_BYTES": str(weights),
                "DIANA_L2_BYTES": str(self.main_memory.size),
            },
        )
