"""The calls of a layer as docs/event-order.md orders them, from its schedule alone, as mock.c traces them."""

from __future__ import annotations

import math
from collections.abc import Iterator

from match.ir.layer import Dim, Operand, Role
from match.mapping.memory import block_bytes
from match.mapping.schedule import Schedule

Spans = dict[Dim, tuple[int, int]]


def expected_events(schedule: Schedule) -> list[str]:
    """Every transfer started and waited for (buffer number, bytes) and every kernel."""
    return list(_Walk(schedule).events())


class _Walk:
    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        memory = schedule.inner_memory
        self.depth = {o.name: schedule.placement(o.name, memory).depth for o in schedule.operands}
        self.buffers = {
            o.name: schedule.placement(o.name, memory).buffers if self.depth[o.name] else 1 for o in schedule.operands
        }
        self.first = {
            o.name: sum(self.buffers[p.name] for p in schedule.operands[:i]) for i, o in enumerate(schedule.operands)
        }
        self.inputs = [o for o in schedule.operands if o.role is not Role.OUTPUT]
        self.output = next(o for o in schedule.operands if o.role is Role.OUTPUT)
        self.blocks = {o.name: [spans for _, spans in schedule.blocks(self.depth[o.name])] for o in schedule.operands}
        self.reached = dict.fromkeys(self.blocks, -1)
        self.outstanding: dict[int, str] = {}

    def transfer(self, operand: Operand, block: int) -> str:
        spans = self.blocks[operand.name][block]
        if operand.role is Role.CONSTANT:
            size = block_bytes(
                operand, self.schedule.extents(self.depth[operand.name]), self.schedule.inner_memory.alignment
            )
        else:
            size = math.prod(axis.span(*spans[axis.dim])[1] for axis in operand.components[0].axes)
        buffer = self.first[operand.name] + block % self.buffers[operand.name]
        return f"{'out' if operand is self.output else 'in'} {buffer} {size}"

    def events(self) -> Iterator[str]:
        for operand in self.inputs:
            if self.buffers[operand.name] == 2 or not self.depth[operand.name]:
                yield f"start {self.transfer(operand, 0)}"
        yield from self.inside(0, self.schedule.layer.spans)
        for _, transfer in sorted(self.outstanding.items(), key=lambda item: item[0] % self.buffers[self.output.name]):
            yield f"wait {transfer}"

    def inside(self, depth: int, spans: Spans) -> Iterator[str]:
        for operand in self.inputs:
            if self.depth[operand.name] != depth:
                continue
            self.reached[operand.name] += 1
            block = self.reached[operand.name]
            if self.buffers[operand.name] == 1 and depth:
                yield f"start {self.transfer(operand, block)}"
            yield f"wait {self.transfer(operand, block)}"
            if self.buffers[operand.name] == 2 and block + 1 < len(self.blocks[operand.name]):
                yield f"start {self.transfer(operand, block + 1)}"
        if self.depth[self.output.name] == depth:
            self.reached[self.output.name] += 1
        if depth == len(self.schedule.loops):
            old = self.outstanding.pop(self.reached[self.output.name] - self.buffers[self.output.name], None)
            if old:
                yield f"wait {old}"
            yield "compute"
            yield "computed"
        else:
            loop = self.schedule.loops[depth]
            start, extent = spans[loop.dim]
            for offset in range(0, extent, loop.tile):
                piece = (start + offset, min(loop.tile, extent - offset))
                yield from self.inside(depth + 1, {**spans, loop.dim: piece})
        if self.depth[self.output.name] == depth:
            block = self.reached[self.output.name]
            transfer = self.transfer(self.output, block)
            self.outstanding[block] = transfer
            yield f"start {transfer}"
