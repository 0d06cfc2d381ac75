"""What the order of events makes the core wait for, beside which no kernel runs; bounds of mappings count it.

Arrays are over mappings. Inputs are in the order of the operands, in which their transfers are issued.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from match.schedule.rooms import Flags, Floats, Ints


@dataclass(frozen=True)
class Held:
    """How an operand is held: the depth at which its blocks are fetched or written back, and whether in two buffers."""

    depth: Ints
    double: Flags

    @cached_property
    def single(self) -> Flags:
        """Whether a block is fetched, and waited for, in the iteration that needs it."""
        return (self.depth > 0) & ~self.double


def idle_before_first_kernel(inputs: Sequence[Held], first: Sequence[Floats], issue: float) -> Floats:
    """Cycles before the first kernel in which the DMA is idle, or done with the first block of every input.

    `first` are the DMA cycles of these. Before the loops the core issues the transfers of blocks that are not single;
    then, from the outermost depth on, it waits for each, issues the next one of those with two buffers, and fetches
    single ones.
    """
    now, busy = np.zeros(()), np.zeros(())
    arrivals: list[Floats] = []
    for held, transfer in zip(inputs, first, strict=True):
        early = ~held.single
        now = now + issue * early
        busy = np.where(early, np.maximum(busy, now) + transfer, busy)
        arrivals.append(busy)
    for depth in range(max((int(held.depth.max(initial=0)) for held in inputs), default=0) + 1):
        for held, transfer, arrival in zip(inputs, first, arrivals, strict=True):
            here = held.depth == depth
            if not here.any():
                continue
            waits, fetches = here & ~held.single, here & held.single
            now = np.where(waits, np.maximum(now, arrival) + issue * held.double, now)
            if fetches.any():
                busy = np.where(fetches, np.maximum(busy, now + issue) + transfer, busy)
                now = np.where(fetches, busy, now)
    return now - sum(first, start=np.zeros(()))


def least_idle(inputs: Sequence[Held], issue: float) -> Floats:
    """At most `idle_before_first_kernel`, whatever the first blocks take.

    The first transfer is issued with nothing else to do. When the last block has arrived, the core issues the one that
    follows it if it has two buffers; and if it is single, it was issued when all others were there.
    """
    early = np.logical_or.reduce([~held.single for held in inputs])
    looped = np.logical_or.reduce([held.depth > 0 for held in inputs])
    return issue * (early.astype(np.float64) + looped)


def queued(held: Held, place: int, inputs: Sequence[Held]) -> Flags:
    """Which transfers of the input at `place` are waited for in full: the block of a single one is queued behind them.

    That one is fetched later in the same iteration, or in each that follows, and the DMA serves what was issued first.
    """
    result = np.zeros(held.depth.shape, np.bool_)
    for n, other in enumerate(inputs):
        if n != place:
            later = other.depth >= held.depth if n > place else other.depth > held.depth
            result |= other.single & later
    return result & held.double


def written_in_full(held: Held, inputs: Sequence[Held]) -> Flags:
    """Which write-backs of an output are waited for in full: a single block is fetched before the next kernel."""
    result = np.zeros(held.depth.shape, np.bool_)
    for other in inputs:
        result |= other.single & (other.depth >= held.depth)
    return result & (held.depth > 0)
