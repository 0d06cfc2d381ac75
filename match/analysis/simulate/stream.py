"""The transfers of one operand into or out of one memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from match.analysis.simulate.events import Action, Kind
from match.analysis.simulate.packing import ConstantPacking, Spans
from match.ir.layer import Operand, Role
from match.mapping.group_plan import Fetch
from match.mapping.memory import Memory, align
from match.mapping.schedule import Schedule
from match.prediction.blocks import axes_of, axis_length, block_of_lengths
from match.target.cost import Block, Tile


class SimulatedStep(NamedTuple):
    """An action, and the block that it starts to move.

    Of a kernel call in a chain or a group, `whole` tells the number of its operator and the tile of the whole layer.
    """

    action: Action
    block: Block | None = None
    whole: tuple[int, Tile] | None = None


class SimulatedStream:
    """The blocks of one operand in one memory."""

    def __init__(self, schedule: Schedule, operand: Operand, memory: Memory, outer: SimulatedStream | None) -> None:
        placement = schedule.placement(operand.name, memory)
        self.operand = operand
        self.memory = memory
        self.depth = placement.depth
        self.buffers = placement.buffers
        self.coming: Iterator[Spans] = iter(())
        self.pending: deque[Action] = deque()  # started and not waited for, oldest first
        self.current: Spans = schedule.layer.spans
        self._outer = outer  # where the blocks are parts of that stream's current one
        self._packing = ConstantPacking(schedule, operand, outer.depth if outer else 0, placement.depth)
        self.started = 0

    def start(self, spans: Spans) -> SimulatedStep:
        """The transfer of the block that covers `spans`."""
        constant = self.operand.role is Role.CONSTANT
        block = self._packing.block(spans, self.memory) if constant else self._block(spans)
        outside = self._outer.current if self._outer else self._packing.whole
        offset = self._packing.offset(spans, outside) if constant else self._offset(spans)
        return self._begin(block, offset)

    def start_part(self, spans: Spans, part: Fetch) -> SimulatedStep:
        """The transfer of a part of a group's constants."""
        return self._begin(self._packing.block(spans, self.memory)._replace(bytes=part.room.bytes), part.start)

    def _begin(self, block: Block, offset: int) -> SimulatedStep:
        kind = Kind.STORE if self.operand.role is Role.OUTPUT else Kind.FETCH
        action = Action(kind, self.operand.name, self.memory.name, self.started, offset, block.bytes)
        self.started += 1
        self.pending.append(action)
        return SimulatedStep(action, block)

    def wait(self) -> SimulatedStep:
        """The wait for the oldest transfer."""
        return SimulatedStep(self.pending.popleft()._replace(kind=Kind.WAIT))

    def settle(self, first: int) -> Iterator[SimulatedStep]:
        """Waits for all transfers under way, in the order of their buffers. Block number `first` lies in buffer 0."""
        self.pending = deque(sorted(self.pending, key=lambda action: (action.number - first) % self.buffers))
        while self.pending:
            yield self.wait()

    def _block(self, spans: Spans) -> Block:
        axes = axes_of(self.operand)
        lengths = [axis_length(self.operand, axis, spans[axis.dim], 0) for axis in axes]
        if self._outer is None:
            return block_of_lengths(self.operand, lengths, self.memory)
        limits = [axis_length(self.operand, axis, self._outer.current[axis.dim], 0) for axis in axes]
        return block_of_lengths(self.operand, lengths, self.memory, limits)

    def _offset(self, spans: Spans) -> int:
        """Bytes from the start of the array in the outer memory to the first element of the block."""
        component = self.operand.components[0]
        offset = 0
        for axis in component.axes:
            first = min(axis.span(*spans[axis.dim])[0], axis.limit)  # where windows see padding alone, after it all
            if self._outer is None:
                offset = offset * axis.room + first
            else:
                origin, length = axis.span(*self._outer.current[axis.dim])
                offset = offset * align(length, axis.multiple) + first - min(origin, axis.limit)
        return offset * component.element_bytes
