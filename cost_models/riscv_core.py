"""TVM's C on a scalar RISC-V control core."""

from __future__ import annotations

from dataclasses import dataclass

from match.cost import CpuCostModel


@dataclass(frozen=True)
class RiscvCoreCost(CpuCostModel):
    """Cycles of an operator as TVM's C, 8-bit operands, no SIMD.

    mac: cycles of a multiply-accumulate: 6.0 to 8.2 over the four MLPerf Tiny networks on GAP9's control core (MATCH
        paper, Table III: TVM's latency at 260 MHz over multiply-accumulates); 8 for the convolutional ones.
    output: cycles of an output element beside them: load, 64-bit requantization, clip, store, the loop. Estimated.
    """

    mac: float = 8.0
    output: float = 20.0

    def cycles(self, op: str, macs: int, outputs: int) -> float:
        """All operators cost alike per multiply-accumulate and output."""
        return self.mac * macs + self.output * outputs
