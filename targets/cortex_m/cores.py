"""Arm's cores for microcontrollers: what the compiler calls them, and the machine of QEMU that has each."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """A machine of QEMU: its name, where programs and data lie in it, and nanoseconds of a tick of its timer."""

    name: str
    flash: int
    flash_bytes: int
    ram: int
    ram_bytes: int
    tick: float


@dataclass(frozen=True)
class Core:
    """A core: its name for compilers, whether it has MVE (Helium) beside the DSP extension, and a machine with it."""

    cpu: str
    machine: Machine
    mve: bool = False


_MB = 1 << 20
CORTEX_M4 = Core("cortex-m4", Machine("mps2-an386", 0, 4 * _MB, 0x2000_0000, 4 * _MB, 40))
CORTEX_M7 = Core("cortex-m7", Machine("mps2-an500", 0, 4 * _MB, 0x2000_0000, 4 * _MB, 40))
CORTEX_M33 = Core("cortex-m33", Machine("mps2-an505", 0x1000_0000, 4 * _MB, 0x3800_0000, 4 * _MB, 50))
CORTEX_M55 = Core("cortex-m55", Machine("mps3-an547", 0, _MB // 2, 0x7000_0000, 64 * _MB, 31.25), mve=True)
