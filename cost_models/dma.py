"""MCHAN, the cluster DMA of PULP chips, between L2 and L1."""

from __future__ import annotations

from dataclasses import dataclass

from match.cost import Block


@dataclass(frozen=True)
class Mchan:
    """Cycles of a block's transfer, which MCHAN executes beside the cores, and of the core that programs it.

    A command moves one contiguous piece, or several at equal distances (2D); a block is one command for each group of such
    pieces.

    bytes_per_cycle: width of the port to L2, 64 bits.
    chunk: set-up of each contiguous piece, 27 cycles in the MATCH paper's model of GAP9.
    command: cycles to write a command: counter, length, two addresses, size and stride. Estimated.
    call: cycles of the core to prepare a transfer: descriptor, choice of the kind of commands. Estimated.
        (MATCH's later model of GAP9 has 920 for its own run-time and the SDK's memory copy, which are not used here.)
    """

    bytes_per_cycle: int = 8
    chunk: int = 27
    command: int = 15
    call: int = 60

    def transfer(self, block: Block) -> int:
        """Cycles of the DMA: the set-up of each piece and command, and the bytes at the port's width."""
        return self.chunk * block.chunks + self.command * block.series + -(-block.bytes // self.bytes_per_cycle)
