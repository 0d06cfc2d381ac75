"""Latency of a schedule: the order of events of the generated code, with what repeats counted instead of walked.

The core executes the loops; one DMA engine serves the transfers in the order in which they are issued. The state
between two iterations is when that engine and each outstanding transfer will be done, relative to now. Once two
neighbouring iterations that look the same leave the same state behind, so do all that follow them, and the rest of
the run is a multiplication. The result is that of walking every iteration, border tiles and buffer conflicts
included, at the price of a few iterations per loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from match.cost import Cost, CostModel
from match.errors import ScheduleError
from match.layer import Dim, Role
from match.schedule.blocks import Span
from match.schedule.mapping import Loop, Placement, Schedule
from match.schedule.pricing import Pricing
from match.schedule.view import view_of

Spans = dict[Dim, Span]


def predict(schedule: Schedule, cost_model: CostModel) -> Cost:
    """Predicted cost of executing `schedule` on the module that `cost_model` describes, in cycles and bytes.

    Raises:
        ScheduleError: if the schedule spans more than one level of scratchpad.
        CostModelError: if the cost model fails.
    """
    if len(schedule.memories) != 1:
        raise ScheduleError(
            f"layer {schedule.layer.name}: latency is predicted for one level of scratchpad, "
            f"not {len(schedule.memories)}."
        )
    memory = schedule.inner_memory
    placements = [schedule.placement(operand.name, memory) for operand in schedule.operands]
    return latency(Pricing(schedule.layer, schedule.operands, memory, cost_model), schedule.loops, placements)


def latency(pricing: Pricing, loops: Sequence[Loop], placements: Sequence[Placement]) -> Cost:
    """Cost of a mapping onto one memory; `placements` are in the order of the operands. Nothing is checked."""
    walk = _Walk(pricing, loops, placements)
    cost = walk.cost()
    if not pricing.has_latency:
        return cost
    transfers = [stream.transfer for stream in walk.streams]
    return replace(cost, cycles=pricing.latency(view_of(pricing, loops, placements, cost, transfers)))


class _Stream:
    """The blocks of one operand: when those under way will be done."""

    def __init__(self, number: int, placement: Placement, extents: dict[Dim, int]) -> None:
        self.number = number
        self.depth = placement.depth
        self.double = placement.buffers == 2
        self.early = self.double or placement.depth == 0  # block 0 is fetched before the loops
        self.extents = extents
        self.done = [0.0] * placement.buffers  # input: of the next block; output: of the write-backs, oldest first
        self.moved = 0
        self.transfer = 0.0


class _Walk:
    def __init__(self, pricing: Pricing, loops: Sequence[Loop], placements: Sequence[Placement]) -> None:
        self.pricing = pricing
        self.loops = loops
        extents = [{dim: pricing.layer.size(dim) for dim in Dim}]
        for loop in loops:
            extents.append({**extents[-1], loop.dim: loop.tile})
        streams = [_Stream(n, placement, extents[placement.depth]) for n, placement in enumerate(placements)]
        roles = [operand.role for operand in pricing.operands]
        self.streams = streams
        self.inputs = [stream for stream in streams if roles[stream.number] is not Role.OUTPUT]
        self.output = next(stream for stream in streams if roles[stream.number] is Role.OUTPUT)
        self.placed = [[s for s in self.inputs if s.depth == depth] for depth in range(len(loops) + 1)]
        self.now = 0.0  # the core
        self.dma = 0.0  # when the DMA engine will be idle
        self.compute = 0.0
        self.overhead = pricing.overhead

    def cost(self) -> Cost:
        self.now = self.overhead
        spans: Spans = {dim: (0, self.pricing.layer.size(dim)) for dim in Dim}
        for stream in self.inputs:
            if stream.early:
                stream.done[0] = self._start(stream, {dim: (0, extent) for dim, extent in stream.extents.items()})
        self._body(0, spans, None)
        self.now = max(self.now, *self.output.done)
        operands = self.pricing.operands
        moved = tuple((operands[stream.number].name, stream.moved) for stream in self.streams)
        transfer = sum(stream.transfer for stream in self.streams)
        energy = self.pricing.energy(sum(count for _, count in moved))
        return Cost(self.now, self.compute, transfer, self.overhead, moved, energy)

    def _start(self, stream: _Stream, spans: Spans) -> float:
        """Issue the transfer of a block; returns when it will be done."""
        move = self.pricing.move(stream.number, spans, stream.extents)
        self.now += self.pricing.issue
        self.overhead += self.pricing.issue
        stream.transfer += move.transfer
        stream.moved += move.bytes
        self.dma = max(self.dma, self.now) + move.transfer
        if not self.pricing.overlap:
            self.now = self.dma
        return self.dma

    def _body(self, depth: int, spans: Spans, following: Spans | None) -> None:
        """One iteration of the first `depth` loops; `following` are the spans of the next one."""
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
            self.now = max(self.now, self.output.done[0])
            cycles = self.pricing.compute(spans)
            self.compute += cycles
            self.overhead += self.pricing.launch
            self.now += self.pricing.launch + cycles
        if self.output.depth == depth:
            done = self._start(self.output, spans)
            self.output.done = [*self.output.done[1:], done]

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
            settled = self._state()
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
        """What the future depends on: how long the DMA engine and the transfers under way still take."""
        now = self.now
        outstanding = [self.dma - now]
        for stream in self.streams:
            outstanding += [done - now for done in stream.done]
        return tuple(round(time, 6) if time > 0 else 0.0 for time in outstanding)

    def _totals(self) -> tuple[float, ...]:
        moved = (count for stream in self.streams for count in (stream.moved, stream.transfer))
        return (self.now, self.compute, self.overhead, *moved)

    def _repeat(self, before: tuple[float, ...], times: int) -> None:
        """Add the iteration that took the totals from `before` to where they are, `times` more times."""
        now, compute, overhead, *moved = before
        shift = (self.now - now) * times
        self.now += shift
        self.dma += shift
        self.compute += (self.compute - compute) * times
        self.overhead += (self.overhead - overhead) * times
        for stream, bytes_before, transfer in zip(self.streams, moved[::2], moved[1::2], strict=True):
            stream.done = [done + shift for done in stream.done]
            stream.moved += (stream.moved - int(bytes_before)) * times
            stream.transfer += (stream.transfer - transfer) * times
