"""Boards with a Cortex-M: what a target is made of. A board of one's own is one more of these."""

from __future__ import annotations

from dataclasses import dataclass, replace

from match.cost_models.cortex_m import CortexMCost
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
        flash_wait: cycles that the core waits for a byte of constants, in the mean, which it reads in order.
        flash_cache: bytes of constants that a cache holds, so that they come from flash once in a layer.
    """

    core: Core
    clock_hz: float
    ram: str
    ram_bytes: int
    flash: str
    flash_bytes: int
    ram_at: int = 0x2000_0000
    flash_at: int = 0x0800_0000
    flash_wait: float = 0.0
    flash_cache: int = 0

    @property
    def cost(self) -> CortexMCost:
        """What kernels take on it."""
        return replace(self.core.cost, flash=self.flash_wait, cache=self.flash_cache)


NUCLEO_F446RE = Board(CORTEX_M4, 180e6, "SRAM", 128 * KIB, "flash", 512 * KIB, flash_wait=5 / 16)
"""STM32F446RE (data sheet DS10693); 5 wait states for lines of 128 bits, 8 of which are kept (RM0390, section 3)."""

NUCLEO_L4R5ZI = Board(CORTEX_M4, 120e6, "SRAM", 640 * KIB, "flash", 2048 * KIB, flash_wait=5 / 8)
"""STM32L4R5ZI (data sheet DS12023), the reference board of MLPerf Tiny.

5 wait states for 64 bits, as flash is in two banks after production, and 256 bytes are kept (RM0432, section 3).
"""

NUCLEO_H743ZI = Board(
    CORTEX_M7,
    480e6,
    "AXI SRAM",
    512 * KIB,
    "flash",
    2048 * KIB,
    ram_at=0x2400_0000,
    flash_wait=18 / 32,
    flash_cache=16 * KIB,
)
"""STM32H743ZI (data sheet DS12110); its tightly coupled memory is left for stacks and for the program.

A line of 32 bytes of the data cache comes in 4 wait states and 5 transfers of a bus at half the clock (RM0433).
"""

NUCLEO_H7A3ZI = Board(
    CORTEX_M7,
    280e6,
    "AXI SRAM",
    1024 * KIB,
    "flash",
    2048 * KIB,
    ram_at=0x2400_0000,
    flash_wait=18 / 32,
    flash_cache=16 * KIB,
)
"""STM32H7A3ZI (data sheet DS13195), on which X-CUBE-AI was measured for MLPerf Tiny.

A line of 32 bytes of the data cache is two words of flash, of 6 wait states and 3 transfers each (RM0455, section 4).
"""

STM32F746G_DISCO = Board(
    replace(CORTEX_M7, cpu="cortex-m7+nofp.dp"),
    216e6,
    "SRAM",
    320 * KIB,
    "flash",
    1024 * KIB,
    flash_wait=12 / 32,
    flash_cache=4 * KIB,
)
"""STM32F746NG (data sheet DS10916), on which MCUNet was measured: DTCM, SRAM1 and SRAM2 lie one behind the other.

A line of 32 bytes of the data cache comes in 7 wait states and 5 transfers of the bus (RM0385, section 3).
"""

PICO_2 = Board(
    CORTEX_M33,
    150e6,
    "SRAM",
    520 * KIB,
    "QSPI flash",
    4096 * KIB,
    flash_at=0x1000_0000,
    flash_wait=56 / 8,
    flash_cache=16 * KIB,
)
"""Raspberry Pi Pico 2: RP2350, one of its two Cortex-M33.

Flash has a cache in lines of 8 bytes (data sheet, section 4.4). A line takes 28 clocks of four bits at half the core's
clock, as the Pico SDK has it: 6 of address, 2 of mode, 4 of pause, 16 of data.
"""

NRF5340_DK = Board(CORTEX_M33, 128e6, "RAM", 512 * KIB, "flash", 1024 * KIB, flash_at=0, flash_cache=8 * KIB)
"""nRF5340, its application core; what its flash takes beside the cache is not published."""

NUCLEO_U575ZI = Board(CORTEX_M33, 160e6, "SRAM", 768 * KIB, "flash", 2048 * KIB, flash_wait=4 / 16, flash_cache=8 * KIB)
"""STM32U575ZI (data sheet DS13737): SRAM1 to SRAM3; 4 wait states for lines of 128 bits (RM0456, section 7)."""

NANO_33_BLE = Board(CORTEX_M4, 64e6, "RAM", 256 * KIB, "flash", 1024 * KIB, flash_at=0, flash_wait=2 / 4)
"""Arduino Nano 33 BLE: nRF52840; 2 wait states for a word, and no cache for data (product specification 1.7)."""

ENSEMBLE_E7_HP = Board(
    CORTEX_M55, 400e6, "SRAM0", 4096 * KIB, "MRAM", 5632 * KIB, ram_at=0x0200_0000, flash_at=0x8000_0000
)
"""Alif Ensemble E7, its high-performance Cortex-M55; what MRAM takes is not published."""
