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
    call: cycles of the core in the transfer function and the SDK's, apart from commands. Estimated from instruction counts:
        descriptor, choice of the kind of command, bookkeeping of the counter to wait on. (The 920 cycles of MATCH's later
        model of GAP9 are for its own run-time and memory-copy functions of the SDK, which are not used here.)
    command: cycles to write one command: counter, length, two addresses, size and stride through the demultiplexer.
    """

    bytes_per_cycle: int = 8
    chunk: int = 27
    call: int = 60
    command: int = 15

    def transfer(self, block: Block) -> int:
        """Cycles of the DMA: the set-up of each piece, and the bytes at the port's width."""
        return self.chunk * block.chunks - (-block.bytes // self.bytes_per_cycle)

    def issue(self, block: Block) -> int:
        """Cycles of the core."""
        return self.call + self.command * block.series
