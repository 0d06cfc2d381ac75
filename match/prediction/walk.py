"""The order of events of the generated code in one memory, with iterations that repeat counted instead of walked.

The core executes the loops; one DMA engine serves the transfers in the order of their issue. The state between two
iterations is the time until the engine and each outstanding transfer are done. If two consecutive iterations look the
same and leave the same state, all following iterations of the run do so, too, and the rest of the run is a
multiplication. The result is the same as if every iteration were walked, border tiles and buffer conflicts included,
but only a few iterations of each loop are walked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from match.ir.layer import Dim, Role
from match.mapping.schedule import Loop, Placement
from match.prediction.blocks import Span
from match.prediction.clock import Clock
from match.prediction.prices import Move, Prices

Spans = dict[Dim, Span]


class BlocksUnderWay:
    """The blocks of one operand, of at most `extents`, and when the transfers under way will be done."""

    def __init__(self, number: int, placement: Placement, extents: Mapping[Dim, int]) -> None:
        self.number = number
        self.depth = placement.depth
        self.double = placement.buffers == 2
        self.early = self.double or placement.depth == 0  # block 0 is fetched before the loops
        self.extents = extents
        self.done = [0.0] * placement.buffers  # input: of the next block; output: of the write-backs, oldest first


class Walk(Clock):
    """Executes `loops` once over given spans, and sums up cycles and bytes.

    `placements` are in the order of the operands, None for operands that this memory does not hold; depths count
    from the first of the loops. `largest` are the largest extents outside the loops.
    """

    def __init__(
        self,
        pricing: Prices,
        loops: Sequence[Loop],
        placements: Sequence[Placement | None],
        largest: Mapping[Dim, int],
    ) -> None:
        super().__init__(pricing)
        self.loops = loops
        extents = [dict(largest)]
        for loop in loops:
            extents.append({**extents[-1], loop.dim: loop.tile})
        self.streams = [
            BlocksUnderWay(n, held, extents[held.depth]) for n, held in enumerate(placements) if held is not None
        ]
        roles = [operand.role for operand in pricing.operands]
        self.inputs = [stream for stream in self.streams if roles[stream.number] is not Role.OUTPUT]
        self.outputs = [stream for stream in self.streams if roles[stream.number] is Role.OUTPUT]
        self.placed = [[s for s in self.inputs if s.depth == depth] for depth in range(len(loops) + 1)]
        self.written = [[s for s in self.outputs if s.depth == depth] for depth in range(len(loops) + 1)]
        self.inside: list[Spans] = [{}] * (len(loops) + 1)  # spans of the current iteration of the first n loops

    def run(self, spans: Spans, overhead: float = 0.0) -> None:
        """Execute the loops over `spans` after `overhead` cycles of the core."""
        self.now = self.overhead = overhead
        first = [spans]
        for loop in self.loops:
            start, extent = first[-1][loop.dim]
            first.append({**first[-1], loop.dim: (start, min(loop.tile, extent))})
        for stream in self.inputs:
            if stream.early:
                stream.done[0] = self._start(stream, first[stream.depth])
        self._body(0, spans, None)
        self.now = max(self.now, *(done for stream in self.outputs for done in stream.done), 0.0)

    def move(self, stream: BlocksUnderWay, spans: Spans) -> Move:
        """The transfer of a block."""
        return self.pricing.move(stream.number, spans, stream.extents)

    def kernel(self, spans: Spans) -> None:
        """Start the kernel in the innermost body, and wait for it."""
        cycles = self.pricing.compute(spans)
        self.compute += cycles
        self.overhead += self.pricing.launch
        self.now += self.pricing.launch + cycles

    def _start(self, stream: BlocksUnderWay, spans: Spans) -> float:
        """Issue the transfer of a block; returns when it will be done."""
        return self.issue(stream.number, self.move(stream, spans))

    def _body(self, depth: int, spans: Spans, following: Spans | None) -> None:
        """One iteration of the first `depth` loops; `following` are the spans of the next one."""
        self.inside[depth] = spans
        for stream in self.placed[depth]:
            if stream.double:
                self.now = max(self.now, stream.done[0])
                if following is not None:
                    stream.done[0] = self._start(stream, following)
            else:
                if depth:
                    stream.done[0] = self._start(stream, spans)
                self.now = max(self.now, stream.done[0])
        if depth < len(self.loops):
            self._loop(depth, spans, following)
        else:
            for stream in self.outputs:
                self.now = max(self.now, stream.done[0])
            self.kernel(spans)
        for stream in self.written[depth]:
            stream.done = [*stream.done[1:], self._start(stream, spans)]

    def _loop(self, depth: int, spans: Spans, following: Spans | None) -> None:
        loop = self.loops[depth]
        start, extent = spans[loop.dim]
        tile = loop.tile

        def piece(index: int) -> Spans:
            return {**spans, loop.dim: (start + index * tile, min(tile, extent - index * tile))}

        wrapped = None
        if following is not None:
            ahead, rest = following[loop.dim]
            wrapped = {**following, loop.dim: (ahead, min(tile, rest))}
        last = -(-extent // tile) - 1
        for run in self.pricing.runs(loop.dim, start, extent, tile):
            settled = self._state() if run.first < run.last else ()
            for index in range(run.first, run.last):  # all of them are followed by one that looks the same
                before = self._totals()
                self._body(depth + 1, piece(index), piece(index + 1))
                state = self._state()
                if state == settled:
                    self._repeat(before, run.last - index - 1)
                    break
                settled = state
            self._body(depth + 1, piece(run.last), piece(run.last + 1) if run.last < last else wrapped)

    def _state(self) -> tuple[float, ...]:
        """The state on which later iterations depend: remaining times of the DMA engine and of transfers under way."""
        now = self.now
        done = [self.dma]
        for stream in self.streams:
            done += stream.done
        return tuple([round(time - now, 6) if time > now else 0.0 for time in done])

    def _totals(self) -> tuple[float, ...]:
        return (self.now, self.compute, self.overhead, *self.transfers, *self.moved)

    def _repeat(self, before: tuple[float, ...], times: int) -> None:
        """Add the iteration that took the totals from `before` to where they are, `times` more times."""
        now, compute, overhead, *streams = before
        transfers, moved = streams[: len(self.transfers)], streams[len(self.transfers) :]
        shift = (self.now - now) * times
        self.now += shift
        self.dma += shift
        self.compute += (self.compute - compute) * times
        self.overhead += (self.overhead - overhead) * times
        for stream in self.streams:
            stream.done = [done + shift for done in stream.done]
        self.transfers = [after + (after - then) * times for after, then in zip(self.transfers, transfers, strict=True)]
        self.moved = [after + (after - int(then)) * times for after, then in zip(self.moved, moved, strict=True)]
