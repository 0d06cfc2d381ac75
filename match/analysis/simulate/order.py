"""The order in which a schedule moves blocks and calls kernels, as docs/event-order.md defines it; no times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from match.analysis.simulate.events import Action, Kind
from match.analysis.simulate.packing import Spans
from match.analysis.simulate.stream import SimulatedStep, SimulatedStream
from match.ir.group import operator_spans
from match.ir.layer import Role
from match.mapping.group_plan import GroupPlan
from match.mapping.schedule import Schedule
from match.prediction.blocks import tile_of


def steps(schedule: Schedule) -> Iterator[SimulatedStep]:
    """Everything that the core does, in order."""
    return _Nest(schedule).run()


class _Level:
    """What one memory holds: the streams into it, and those out of it, and the loops that make their blocks."""

    def __init__(self, schedule: Schedule, level: int, outside: dict[str, SimulatedStream]) -> None:
        memory = schedule.memories[level]
        streams = [
            SimulatedStream(schedule, operand, memory, outside.get(operand.name))
            for operand in schedule.operands
            if memory.has(operand.name)
        ]
        outside.update((stream.operand.name, stream) for stream in streams)
        self.number = level
        self.first, self.last = schedule.first_loop(level), schedule.first_loop(level + 1)
        self.fetched = [stream for stream in streams if stream.operand.role is not Role.OUTPUT]
        self.output = next((stream for stream in streams if stream.operand.role is Role.OUTPUT), None)


class _Nest:
    def __init__(self, schedule: Schedule) -> None:
        outside: dict[str, SimulatedStream] = {}
        self._layer = schedule.layer
        self._plan = schedule.plan
        self._order = schedule.plan.calls if schedule.plan else ()
        self._loops = schedule.loops
        self._levels = [_Level(schedule, number, outside) for number in range(len(schedule.memories))]
        self._kernels = 0

    def run(self) -> Iterator[SimulatedStep]:
        if not self._levels:
            return self._calls(self._layer.spans)
        return self._executed(self._levels[0], self._layer.spans)

    def _executed(self, level: _Level, spans: Spans) -> Iterator[SimulatedStep]:
        """A part of the layer in the memory of a level and those inside of it."""
        if self._plan is not None and level is self._levels[-1]:
            return self._group(level, self._plan, spans)
        return self._mapping(level, spans)

    def _group(self, level: _Level, plan: GroupPlan, spans: Spans) -> Iterator[SimulatedStep]:
        """The operators of a group, each after the transfers that start there and waits for what it needs."""
        streams = {stream.operand.name: stream for stream in level.fetched}
        first = self._kernels
        for number, call in enumerate(self._calls(spans)):
            for fetch in plan.starting(number):
                stream = streams[fetch.operand]
                constant = stream.operand.role is Role.CONSTANT
                yield stream.start_part(spans, fetch) if constant else stream.start(spans)
            yield from (streams[fetch.operand].wait() for fetch in plan.awaited(number))
            yield from self._ends(first, plan.ending(number))
            yield call
        yield from self._ends(first, plan.ending(len(plan.ended)))
        assert level.output
        yield level.output.start(spans)
        yield level.output.wait()

    @staticmethod
    def _ends(first: int, ending: Sequence[int]) -> Iterator[SimulatedStep]:
        """The waits for kernel calls of a group whose first call has number `first`."""
        return (SimulatedStep(Action(Kind.END, number=first + call)) for call in ending)

    def _mapping(self, level: _Level, spans: Spans) -> Iterator[SimulatedStep]:
        """The mapping of `spans` onto the memory of a level."""
        first = level.output.started if level.output else 0
        for stream in level.fetched:
            stream.coming = self._pieces(spans, level.first, stream.depth)
            if stream.buffers == 2 or stream.depth == level.first:
                yield stream.start(next(stream.coming))
        yield from self._body(level, level.first, spans)
        if level.output:
            yield from level.output.settle(first)

    def _body(self, level: _Level, depth: int, spans: Spans) -> Iterator[SimulatedStep]:
        """One iteration of the loops down to `depth`."""
        for stream in level.fetched:
            if stream.depth != depth:
                continue
            if stream.buffers == 1 and depth > level.first:
                yield stream.start(next(stream.coming))
            yield stream.wait()
            stream.current = spans
            following = next(stream.coming, None) if stream.buffers == 2 else None
            if following is not None:
                yield stream.start(following)
        output = level.output
        if output and output.depth == depth:
            output.current = spans
        if depth < level.last:
            for piece in self._pieces(spans, depth, depth + 1):
                yield from self._body(level, depth + 1, piece)
        else:
            if output and len(output.pending) == output.buffers:
                yield output.wait()
            if level is self._levels[-1]:
                yield from self._calls(spans)
            else:
                yield from self._executed(self._levels[level.number + 1], spans)
        if output and output.depth == depth:
            yield output.start(spans)

    def _pieces(self, spans: Spans, depth: int, end: int) -> Iterator[Spans]:
        """What the loops from `depth` to `end` cut `spans` into."""
        if depth == end:
            yield spans
            return
        loop = self._loops[depth]
        start, extent = spans[loop.dim]
        for begin in range(start, start + extent, loop.tile):
            piece = {**spans, loop.dim: (begin, min(loop.tile, start + extent - begin))}
            yield from self._pieces(piece, depth + 1, end)

    def _calls(self, spans: Spans) -> Iterator[SimulatedStep]:
        """The kernel calls of a tile, one for each operator."""
        for number, (operator, part) in enumerate(operator_spans(self._layer, spans, self._order)):
            tile = tile_of(self._layer.operators[operator], part)
            action = Action(Kind.KERNEL, number=self._kernels, tile=tile)
            self._kernels += 1
            yield SimulatedStep(action, whole=(number, tile_of(self._layer, spans)) if self._layer.fused else None)
