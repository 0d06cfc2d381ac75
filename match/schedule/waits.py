"""What the order of events makes the core wait for, beside which no kernel runs; bounds of mappings count it.

Arrays are over mappings. Inputs are in the order of the operands, in which their transfers are issued.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from match.schedule.rooms import Flags, Floats, Ints
from match.schedule.tiles import total


@dataclass(frozen=True)
class Held:
    """How an operand is held: the depth at which its blocks are fetched or written back, and whether in two buffers."""

    depth: Ints
    double: Flags

    @cached_property
    def single(self) -> Flags:
        """Whether a block is fetched, and waited for, in the iteration that needs it."""
        return (self.depth > 0) & ~self.double


class Stream(NamedTuple):
    """An operand's blocks when it is held in some ways; arrays over tiles, behind axes of the ways.

    need: bytes of memory. sums: bytes of partial sums beside them. moved: bytes. transfer: DMA cycles. exposed: those
    beside which no kernel runs, `last` left out. first: those of the blocks before the first kernel. last: those of the
    write-back behind the last kernel. issues: transfers, without those that may be programmed before the first kernel.
    """

    need: Floats
    sums: Floats
    moved: Floats
    transfer: Floats
    exposed: Floats
    first: Floats
    last: Floats
    issues: Floats


Streams = list[tuple[Stream, Held]]


@dataclass(frozen=True)
class Waits:
    """What the core waits for beside no kernel, where it takes `issue` cycles to start a transfer.

    Figures are of all `outer_blocks` together, that the memory outside holds one after the other.
    """

    issue: float
    outer_blocks: int

    def own(self, inputs: Streams, written: Streams) -> Floats:
        """Cycles in which no kernel runs, but for what is idle before the first one and for the last write-back.

        Each operand's own, and to issue transfers.
        """
        waits = total(stream.exposed for stream, _ in written)
        exposed = total(stream.exposed for stream, _ in inputs)
        return exposed + self._beside_writing(waits, inputs, [stream.issues for stream, _ in inputs], written)

    def queued(self, inputs: Streams, written: Streams) -> Floats:
        """The same, where transfers are also waited for because a block is queued behind them.

        While the core waits for one of those, it can issue one of what is behind it.
        """
        held = [held for _, held in inputs]
        core, waits = np.zeros(()), np.zeros(())
        issues: list[Floats] = []
        for place, (stream, how) in enumerate(inputs):
            behind = queued(how, place, held)
            core = core + np.where(behind, stream.transfer, stream.exposed)
            issues.append(np.where(behind, 0.0, stream.issues))
        for stream, how in written:
            waits = waits + np.where(written_in_full(how, held), stream.transfer - stream.last, stream.exposed)
        return core + self._beside_writing(waits, inputs, issues, written)

    def chain(self, inputs: Streams, place: int) -> Floats:
        """Cycles from the first issue to the last arrival of an input: each is issued when the one before has arrived.

        The first one is issued behind those of other inputs that are fetched before the loops.
        """
        stream, mine = inputs[place]
        before = sum(
            (~held.single & (mine.single | (n < place)) for n, (_, held) in enumerate(inputs) if n != place),
            start=np.zeros(mine.depth.shape, np.int64),
        )
        return stream.transfer + self.issue * (stream.issues + self.outer_blocks * (before + mine.double))

    def _beside_writing(self, waits: Floats, inputs: Streams, issues: list[Floats], written: Streams) -> Floats:
        """Cycles to wait for write-backs and to issue so many transfers of each input.

        While the core waits for a write-back it can issue transfers: before the next kernel one of each input, but for
        single ones behind another of these, which has arrived behind the write-back.
        """
        followed = total(stream.issues - self.outer_blocks for stream, _ in written)
        double, single = np.zeros(()), np.zeros(())
        for (_, held), count in zip(inputs, issues, strict=True):
            beside = np.minimum(count, followed)
            double = double + np.where(held.single, 0.0, beside)
            single = np.maximum(single, np.where(held.single, beside, 0.0))
        every = total(issues)
        return np.maximum(np.maximum(waits, self.issue * every), waits + self.issue * (every - double - single))


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
