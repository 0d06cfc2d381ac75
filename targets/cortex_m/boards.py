"""Boards with a Cortex-M: what a target is made of. A board of one's own is one more of these."""

from __future__ import annotations

from dataclasses import dataclass

from match.targets.cortex_m.cores import CORTEX_M4, CORTEX_M7, CORTEX_M33, CORTEX_M55, Core

KIB = 1024


@dataclass(frozen=True)
class Board:
    """A core with memories around it.

    Attributes:
        core: the core.
        clock_hz: its clock.
        ram: where activations lie, and what it is called; `ram_bytes` of it are for the network and its caller.
        flash: where constants and the program lie; `flash_bytes` are all of it.
        ram_at: its address.
        flash_at: its address.
    """

    core: Core
    clock_hz: float
    ram: str
    ram_bytes: int
    flash: str
    flash_bytes: int
    ram_at: int = 0x2000_0000
    flash_at: int = 0x0800_0000


NUCLEO_F446RE = Board(CORTEX_M4, 180e6, "SRAM", 128 * KIB, "flash", 512 * KIB)
"""STM32F446RE (data sheet DS10693)."""

NUCLEO_L4R5ZI = Board(CORTEX_M4, 120e6, "SRAM", 640 * KIB, "flash", 2048 * KIB)
"""STM32L4R5ZI (data sheet DS12023), the reference board of MLPerf Tiny."""

NUCLEO_H743ZI = Board(CORTEX_M7, 480e6, "AXI SRAM", 512 * KIB, "flash", 2048 * KIB, ram_at=0x2400_0000)
"""STM32H743ZI (data sheet DS12110); its tightly coupled memory is left for stacks and for the program."""

PICO_2 = Board(CORTEX_M33, 150e6, "SRAM", 520 * KIB, "QSPI flash", 4096 * KIB, flash_at=0x1000_0000)
"""Raspberry Pi Pico 2: RP2350, one of its two Cortex-M33."""

NRF5340_DK = Board(CORTEX_M33, 128e6, "RAM", 512 * KIB, "flash", 1024 * KIB, flash_at=0)
"""nRF5340, its application core."""

ENSEMBLE_E7_HP = Board(
    CORTEX_M55, 400e6, "SRAM0", 4096 * KIB, "MRAM", 5632 * KIB, ram_at=0x0200_0000, flash_at=0x8000_0000
)
"""Alif Ensemble E7, its high-performance Cortex-M55."""
