"""Arm's cores for microcontrollers: what the compiler calls them, and the machine of QEMU that has each."""

from __future__ import annotations

from dataclasses import dataclass

from match.cost_models.cortex_m import CortexMCost
from match.cost_models.riscv_core import RiscvCoreCost


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
    """A core: its name for compilers, what its kernels take, and a machine of QEMU with it."""

    cpu: str
    cost: CortexMCost
    machine: Machine

    @property
    def generated(self) -> RiscvCoreCost:
        """What TVM's C takes, by instructions of a Cortex-M4 under QEMU (MLPerf Tiny, GCC 12.2, -O3).

        With an FPU: a product and a sum of float32 are one instruction each. Cores with MVE execute the same C.
        """
        return RiscvCoreCost(
            **{name: self.cost.cycles * count for name, count in _INSTRUCTIONS.items()}  # pyright: ignore[reportArgumentType]
        )


_INSTRUCTIONS = {
    "convolution": 7.0,
    "dense": 13.0,
    "output": 40.0,
    "depthwise": 70.0,
    "add": 12.0,
    "element": 6.5,
    "sliced": 6.0,
    "channel_lookup": 14.0,
    "concatenated": 11.0,
    "other": 14.0,
    "softmax": 45.0,
    "softmax_row": 140.0,
    "float_operator": 12.0,
    "exponential": 150.0,
    "probability": 42.0,
    "transposed": 8.0,
    "resize": 65.0,
}
"""Instructions of operators as TVM's C, by the fields of `RiscvCoreCost`; those in floating point are estimates."""


_MB = 1 << 20
CORTEX_M4 = Core("cortex-m4", CortexMCost(cycles=1.45), Machine("mps2-an386", 0, 4 * _MB, 0x2000_0000, 4 * _MB, 40))
CORTEX_M7 = Core("cortex-m7", CortexMCost(cycles=0.75), Machine("mps2-an500", 0, 4 * _MB, 0x2000_0000, 4 * _MB, 40))
CORTEX_M33 = Core(
    "cortex-m33", CortexMCost(cycles=1.3), Machine("mps2-an505", 0x1000_0000, 4 * _MB, 0x3800_0000, 4 * _MB, 50)
)
CORTEX_M55 = Core(
    "cortex-m55",
    CortexMCost(vectors=True, cycles=1.3),
    Machine("mps3-an547", 0, _MB // 2, 0x7000_0000, 64 * _MB, 31.25),
)
"""Cycles of an instruction in the mean: predictions, see `match.cost_models.cortex_m`."""
