"""STM32H743 with its DTCM as a scratchpad: the board of the Cortex-M family, whose core also computes out of there."""

from __future__ import annotations

from pathlib import Path

from match.ir.layer import Layer, Op
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.target import chip
from match.target.hardware import HwModule, Pattern, Platform
from match.targets.cortex_m.boards import NUCLEO_H743ZI
from match.targets.cortex_m.module import CortexM
from match.targets.cortex_m.platforms import with_functions
from match.targets.cortex_m.target import CortexMBoard
from match.targets.cortex_m.tightly_coupled import TightlyCoupled

from stm32h743.cost import MdmaCost
from stm32h743.gate import gate

HERE = Path(__file__).resolve().parent
DTCM = Memory("DTCM", 128 * 1024)


class Dtcm(TightlyCoupled):
    """The core out of DTCM, which the MDMA fills; with an operator of its own."""

    def patterns(self) -> tuple[Pattern, ...]:
        """Those of the family, a convolution with the pooling of its outputs, and the gate."""
        return *super().patterns(), Pattern(Op.MAX_POOL2D, before=(Op.CONV2D,)), Pattern(Op.OWN, own=gate())

    def kernel(self, layer: Layer, requantizer: Requantizer | None) -> str:
        """A kernel of the family, or the gate."""
        return "match_m7_gate" if layer.op is Op.OWN else super().kernel(layer, requantizer)


class Stm32h743(CortexMBoard):
    """The core, 128 kB of DTCM, 512 kB of AXI SRAM and 2 MB of flash."""

    name = "stm32h743"
    board = NUCLEO_H743ZI
    api = chip.API

    def __init__(self) -> None:
        """The family's core, and the same core out of DTCM."""
        super().__init__()
        dtcm = Dtcm(DTCM, chip.module_api("match_arm.h", "gate.h"), MdmaCost(cycles=self.board.core.cost.cycles))
        self.modules: tuple[HwModule, ...] = (dtcm, CortexM(self.board.cost))

    @property
    def platforms(self) -> tuple[Platform, ...]:
        """The functions of match_chip.h on a PC, and the same on a Cortex-M7 under QEMU."""
        return with_functions(self.board, chip.host(self, HERE, "gate.c"))
