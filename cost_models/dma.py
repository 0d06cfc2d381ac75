"""MCHAN, the cluster DMA of PULP chips, between L2 and L1."""

from __future__ import annotations

from dataclasses import dataclass

from match.cost import Block


@dataclass(frozen=True)
class Mchan:
    """Cycles of a block's transfer, which MCHAN executes beside the cores, and of the core that programs it.

    A command moves one contiguous piece, or several at equal distances (2D); a block takes one command for each series
    of such pieces.

    bytes_per_cycle: width of the port to L2, 64 bits.
    chunk: set-up of each contiguous piece; 27 in the MATCH paper's model of GAP9.
    call: cycles of the core to program a transfer through the SDK; 300 in MATCH's first model of GAP9 (its later one,
        with 920, counts its own run-time in).
    command: cycles between the commands of a block: counter, length, two addresses, size and stride. Estimated.
    """

    bytes_per_cycle: int = 8
    chunk: int = 27
    call: int = 300
    command: int = 15

    def transfer(self, block: Block) -> int:
        """Cycles of the DMA: the set-up of each piece and command, and the bytes at the port's width."""
        return self.chunk * block.chunks + self.command * block.series + -(-block.bytes // self.bytes_per_cycle)
