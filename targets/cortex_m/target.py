"""Cortex-M microcontrollers: the core computes out of RAM and flash."""

from __future__ import annotations

from typing import ClassVar

from match.mapping.memory import Memory
from match.target.chip import CORE_API
from match.target.cost import CpuCostModel
from match.target.hardware import HwModule, MatchTarget, Platform, ProgramSize
from match.targets.cortex_m import boards
from match.targets.cortex_m.boards import Board
from match.targets.cortex_m.module import CortexM
from match.targets.cortex_m.platforms import platforms


class CortexMBoard(MatchTarget):
    """A board with a Cortex-M: subclasses say which, in `board`."""

    board: ClassVar[Board]
    activations = "uint8"
    api = CORE_API
    program = ProgramSize(fixed=24 << 10, operator=512)
    """Kernels, and a C library without files; estimated."""

    def __init__(self) -> None:
        """With all that the board has."""
        board = self.board
        self.clock_hz = board.clock_hz
        self.main_memory = Memory(board.ram, board.ram_bytes, alignment=8)
        self.flash = Memory(board.flash, board.flash_bytes)
        self.modules: tuple[HwModule, ...] = (CortexM(board.cost),)
        self.cpu_cost_model: CpuCostModel = board.core.generated

    @property
    def host(self) -> Platform:
        """The first of `platforms`."""
        return self.platforms[0]

    @property
    def platforms(self) -> tuple[Platform, ...]:
        """A PC, the core under QEMU, and the board."""
        return platforms(self.board)


class CortexM4(CortexMBoard):
    """A Cortex-M4: STM32L4R5."""

    name = "cortex_m4"
    board = boards.NUCLEO_L4R5ZI


class CortexM7(CortexMBoard):
    """A Cortex-M7: STM32H743."""

    name = "cortex_m7"
    board = boards.NUCLEO_H743ZI


class CortexM33(CortexMBoard):
    """A Cortex-M33: nRF5340."""

    name = "cortex_m33"
    board = boards.NRF5340_DK


class CortexM55(CortexMBoard):
    """A Cortex-M55: Alif Ensemble E7, high-performance side."""

    name = "cortex_m55"
    board = boards.ENSEMBLE_E7_HP


class NucleoF446re(CortexMBoard):
    """NUCLEO-F446RE."""

    name = "nucleo_f446re"
    board = boards.NUCLEO_F446RE


class Pico2(CortexMBoard):
    """Raspberry Pi Pico 2."""

    name = "pico_2"
    board = boards.PICO_2


class Nano33Ble(CortexMBoard):
    """Arduino Nano 33 BLE."""

    name = "nano_33_ble"
    board = boards.NANO_33_BLE


class NucleoH7a3zi(CortexMBoard):
    """NUCLEO-H7A3ZI-Q."""

    name = "nucleo_h7a3zi"
    board = boards.NUCLEO_H7A3ZI


class NucleoU575zi(CortexMBoard):
    """NUCLEO-U575ZI-Q."""

    name = "nucleo_u575zi"
    board = boards.NUCLEO_U575ZI


class Stm32f746gDisco(CortexMBoard):
    """STM32F746G-DISCO."""

    name = "stm32f746g_disco"
    board = boards.STM32F746G_DISCO
