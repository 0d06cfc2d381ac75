"""DMA engines: MCHAN between L2 and L1 inside PULP chips, and the I/O DMA between external memory and L2."""

from __future__ import annotations

from dataclasses import dataclass

from match.target.cost import Block


@dataclass(frozen=True)
class Mchan:
    """Cycles of a block's transfer, which MCHAN executes beside the cores, and of the core that programs it.

    A command moves one contiguous piece (1D), or several at equal distances (2D); a block takes one command for each
    series of such pieces, so that a block of a part of the channels of a part of each row (3D) takes one for each row.

    bytes: in a cycle, the width of the port to L2, 64 bits.
    chunk: set-up of each contiguous piece; 27 in the MATCH paper's model of GAP9.
    call: cycles of the core to program a transfer and wait for it through the SDK; 550 in MATCH's later model of GAP9
        (its first one has 300), which adds 370 for its own run-time.
    command: cycles between the commands of a block: counter, length, two addresses, size and stride; 10 in the same
        model, and 12 for those of a change of layout.
    """

    bytes: int = 8
    chunk: int = 27
    call: int = 550
    command: int = 12

    def __post_init__(self) -> None:
        if self.bytes < 1:
            raise ValueError("a DMA moves at least a byte in a cycle")

    def transfer(self, block: Block) -> int:
        """Cycles of the DMA: the set-up of each piece and command, and the bytes at the port's width."""
        return self.chunk * block.chunks + self.command * block.series + -(-block.bytes // self.bytes)

    def channels_first(self, channels: int, pixels: int) -> int:
        """Cycles of a transfer that turns HWC into CHW: a command for each channel, a byte a cycle.

        For kernels that want depthwise inputs in that layout; those of kernels/pulp read HWC. From MATCH's later model
        of GAP9.
        """
        return channels * (self.command + pixels)


@dataclass(frozen=True)
class IoDma:
    """Cycles of a transfer between L2 and external memory behind a HyperBus, which runs beside everything else.

    What the core pays to start one is `External.issue`, or that of the transfers of a module.

    clock_hz: clock in whose cycles to count.
    bytes_per_second: 100 MB/s in practice, 200 MB/s at best (DORY paper, GAP8).
    setup: cycles of each transfer on the bus: command, address and the memory's latency, some 20 clocks of a bus at
        half the chip's. Estimated.
    """

    clock_hz: float
    bytes_per_second: float = 100e6
    setup: int = 44

    def transfer(self, block: Block) -> float:
        """Cycles of the DMA; every contiguous piece is a transfer of its own."""
        return self.setup * block.chunks + block.bytes * self.clock_hz / self.bytes_per_second
