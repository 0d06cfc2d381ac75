"""The time of the core and of the DMA engine while a schedule is executed, and what was moved so far."""

from __future__ import annotations

from match.prediction.prices import Move, Prices


class Clock:
    """`transfers` (DMA cycles) and `moved` (bytes) have an entry for each operand of `pricing`; the rest is in cycles.

    now: the time at which the core is free. dma: the time at which the DMA engine is free. compute: cycles of kernels.
    overhead: cycles of the core beside kernels.
    """

    def __init__(self, pricing: Prices) -> None:
        self.pricing = pricing
        self.now: float = 0.0
        self.dma: float = 0.0
        self.compute: float = 0.0
        self.overhead: float = 0.0
        self.transfers = [0.0] * len(pricing.operands)
        self.moved = [0] * len(pricing.operands)

    def issue(self, number: int, move: Move) -> float:
        """Start a transfer of operand `number`. Returns when it will be done."""
        self.now += self.pricing.issue
        self.overhead += self.pricing.issue
        self.transfers[number] += move.transfer
        self.moved[number] += move.bytes
        self.dma = max(self.dma, self.now) + move.transfer
        if not self.pricing.overlap:
            self.now = self.dma
        return self.dma
