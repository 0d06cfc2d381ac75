"""The reference for latencies and bytes: every event of a schedule in order, written from docs/event-order.md.

Nothing is shared with the code under test but the types: block contents are sets of indices, the transfers a plain
list.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from match.ir.attributes import Broadcast
from match.ir.layer import Component, Dim, Layer, Op, Operand, Role
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Schedule
from match.target.cost import Block, CostModel, Tile

Spans = dict[Dim, tuple[int, int]]


def touched(component: Component, spans: Spans) -> list[list[int]]:
    """Indices that a block holds along each axis."""
    result: list[list[int]] = []
    for axis in component.axes:
        start, extent = spans[axis.dim]
        indices = {i * axis.stride - axis.before + w for i in range(start, start + extent) for w in range(axis.window)}
        if axis.stride > axis.window and extent > 1:  # what lies between is moved along
            indices = set(range(min(indices), max(indices) + 1))
        inside = sorted(index for index in indices if 0 <= index < axis.limit)
        result.append(inside)
    return result


def contiguous_pieces(array: list[list[int]], indices: list[list[int]]) -> list[int]:
    """First addresses, in elements, of the contiguous pieces of a block in a dense array that holds `array`."""
    strides = [math.prod(len(axis) for axis in array[n + 1 :]) for n in range(len(array))]
    places = [[array[n].index(i) for i in axis] for n, axis in enumerate(indices)]
    addresses = sorted(sum(i * s for i, s in zip(index, strides, strict=True)) for index in itertools.product(*places))
    return [a for n, a in enumerate(addresses) if n == 0 or a != addresses[n - 1] + 1]


def equally_spaced_groups(starts: list[int], shape: list[int]) -> int:
    """Fewest groups of pieces at equal distances, a group being all pieces of some of the slower indices."""
    if not starts:
        return 0
    counts = [1]
    for extent in shape:
        counts.append(counts[-1] * extent)
    for groups in sorted({count for count in counts if len(starts) % count == 0}):
        size = len(starts) // groups
        gaps = [
            {b - a for a, b in itertools.pairwise(starts[first : first + size])}
            for first in range(0, len(starts), size)
        ]
        if len(set().union(*gaps)) <= 1:
            return groups
    raise AssertionError("every piece is a group of its own")


def constant_piece(operand: Operand, extents: dict[Dim, int], memory: Memory) -> tuple[list[int], int]:
    """Shape of the first component, and bytes, of a block of constants in the innermost memory."""
    total = 0
    for component in operand.components:
        size = component.element_bytes
        for axis in component.axes:
            length = min(axis.limit, (extents[axis.dim] - 1) * axis.stride + axis.window)
            size *= math.ceil(length / axis.multiple) * axis.multiple
        total += math.ceil(size / memory.alignment) * memory.alignment
    axes = operand.components[0].axes
    shape = [min(axis.limit, (extents[axis.dim] - 1) * axis.stride + axis.window) for axis in axes]
    return [math.ceil(n / axis.multiple) * axis.multiple for n, axis in zip(shape, axes, strict=True)], total


def constant_block(schedule: Schedule, operand: Operand, spans: Spans, depth: int, memory: Memory) -> Block:
    """The blocks of the innermost memory that lie in one block of constants, fetched inside `depth` loops."""
    inside = schedule.placement(operand.name, schedule.inner_memory).depth
    shape, size = constant_piece(operand, schedule.extents(inside), schedule.inner_memory)
    fetched = list(iterations(schedule.loops[depth:inside], spans))
    distinct = {tuple(piece[dim] for dim in sorted(operand.dims)) for piece in fetched}
    along = [len({piece[axis.dim] for piece in fetched}) for axis in operand.components[0].axes]
    shape = [length * times for length, times in zip(shape, along, strict=True)]
    return Block(operand.name, tuple(shape), size * len(distinct), 1, 1, memory.name)


def activation_block(operand: Operand, spans: Spans, array: Spans | None, memory: Memory) -> Block:
    """A block of an activation that lies in a dense block of `array`, or in the whole tensor."""
    (component,) = operand.components
    indices = touched(component, spans)
    outside = touched(component, array) if array else [list(range(axis.limit)) for axis in component.axes]
    shape = [len(i) for i in indices]
    starts = contiguous_pieces(outside, indices)
    size = math.prod(shape) * component.element_bytes
    return Block(operand.name, tuple(shape), size, len(starts), equally_spaced_groups(starts, shape), memory.name)


def iterations(loops: tuple[Loop, ...], spans: Spans) -> Iterator[Spans]:
    if not loops:
        yield spans
        return
    loop = loops[0]
    begin, extent = spans[loop.dim]
    for offset in range(0, extent, loop.tile):
        yield from iterations(loops[1:], {**spans, loop.dim: (begin + offset, min(loop.tile, extent - offset))})


def reference_tile(layer: Layer, spans: Spans) -> Tile:
    def pixels(dim: Dim, axis: int, before: int, limit: int) -> int:
        if layer.op is Op.RESIZE or layer.get(Broadcast).kind == "outer":  # may need any of them, or has one for all
            return limit
        if layer.op is Op.GATHER and dim is Dim.OX:
            return limit
        start, extent = spans[dim]
        low = start * layer.stride[axis] - before
        high = (start + extent - 1) * layer.stride[axis] - before + layer.window[axis] - 1
        return len([i for i in range(low, high + 1) if 0 <= i < limit])

    iy = pixels(Dim.OY, 0, layer.padding.top, layer.iy)
    ix = pixels(Dim.OX, 1, layer.padding.left, layer.ix)
    extent = {dim: span[1] for dim, span in spans.items()}
    channels = range(spans[Dim.C][0], sum(spans[Dim.C]))
    ends = 0 in channels, layer.c - 1 in channels
    window = extent[Dim.FY], extent[Dim.FX]
    return Tile(extent[Dim.K], extent[Dim.C], extent[Dim.OY], extent[Dim.OX], iy, ix, *window, *ends)


@dataclass
class Timeline:
    cycles: float = 0.0
    compute: float = 0.0
    transfer: float = 0.0
    overhead: float = 0.0
    moved: dict[str, int] = field(default_factory=dict)
    moved_by_memory: dict[str, int] = field(default_factory=dict)
    events: list[tuple[str, str, int, float]] = field(default_factory=list)


class Walker:
    """Executes a schedule event by event; streams are dictionaries by operand and number of the block."""

    def __init__(self, schedule: Schedule, model: CostModel) -> None:
        self.schedule = schedule
        self.model = model
        self.layer = schedule.layer
        self.clock = model.overhead(schedule.layer)
        self.line = Timeline(overhead=self.clock, moved={operand.name: 0 for operand in schedule.operands})
        self.engine_free = [0.0] * len(schedule.memories)
        self.lies_in: dict[str, Spans | None] = {operand.name: None for operand in schedule.operands}

    def run(self, level: int, spans: Spans) -> None:
        """Execute the loops of one level and those inside of it on one block of the level outside."""
        schedule, memory = self.schedule, self.schedule.memories[level]
        first, last = schedule.first_loop(level), schedule.first_loop(level + 1)
        held = {o.name: schedule.placement(o.name, memory) for o in schedule.operands if memory.has(o.name)}
        operands = [operand for operand in schedule.operands if operand.name in held]
        blocks = {name: list(iterations(schedule.loops[first : p.depth], spans)) for name, p in held.items()}
        arrays = dict(self.lies_in)
        finished: dict[tuple[str, int], float] = {}
        entered = dict.fromkeys(held, 0)

        def start(operand: Operand, n: int) -> None:
            spans = blocks[operand.name][n]
            if operand.role is Role.CONSTANT:
                block = constant_block(schedule, operand, spans, held[operand.name].depth, memory)
            else:
                block = activation_block(operand, spans, arrays[operand.name], memory)
            cycles = self.model.transfer(self.layer, block)
            self.clock += self.model.issue(self.layer)
            self.line.overhead += self.model.issue(self.layer)
            self.engine_free[level] = max(self.clock, self.engine_free[level]) + cycles
            finished[operand.name, n] = self.engine_free[level]
            self.line.transfer += cycles
            self.line.moved[operand.name] += block.bytes
            self.line.moved_by_memory[memory.name] = self.line.moved_by_memory.get(memory.name, 0) + block.bytes
            self.line.events.append(("start", operand.name, n, self.clock))
            if not self.model.overlap:
                self.clock = self.engine_free[level]

        def wait(operand: Operand, n: int) -> None:
            if n >= 0:
                self.clock = max(self.clock, finished[operand.name, n])
                self.line.events.append(("wait", operand.name, n, self.clock))

        def body(depth: int, spans: Spans) -> None:
            for operand in operands:
                if operand.role is Role.OUTPUT or held[operand.name].depth != depth:
                    continue
                n = entered[operand.name]
                entered[operand.name] += 1
                if held[operand.name].buffers == 2:
                    wait(operand, n)
                    if n + 1 < len(blocks[operand.name]):
                        start(operand, n + 1)
                else:
                    if depth > first:
                        start(operand, n)
                    wait(operand, n)
            for operand in operands:
                if held[operand.name].depth == depth:
                    self.lies_in[operand.name] = spans
            if depth == last:
                for operand in operands:
                    if operand.role is Role.OUTPUT:
                        wait(operand, entered[operand.name] - held[operand.name].buffers)
                self.innermost(level, spans)
            else:
                for inner in iterations(schedule.loops[depth : depth + 1], spans):
                    body(depth + 1, inner)
            for operand in operands:
                if operand.role is Role.OUTPUT and held[operand.name].depth == depth:
                    start(operand, entered[operand.name])
                    entered[operand.name] += 1

        for operand in operands:
            placed = held[operand.name]
            if operand.role is not Role.OUTPUT and (placed.buffers == 2 or placed.depth == first):
                start(operand, 0)
        body(first, spans)
        for operand in operands:
            for n in range(entered[operand.name] if operand.role is Role.OUTPUT else 0):
                wait(operand, n)
        self.lies_in = arrays

    def innermost(self, level: int, spans: Spans) -> None:
        """The body of a level's innermost loop: the next level, or the kernel."""
        if level + 1 < len(self.schedule.memories):
            self.run(level + 1, spans)
            return
        cycles = self.model.compute(self.layer, reference_tile(self.layer, spans))
        self.clock += self.model.launch(self.layer) + cycles
        self.line.compute += cycles
        self.line.overhead += self.model.launch(self.layer)


def walk(schedule: Schedule, model: CostModel) -> Timeline:
    walker = Walker(schedule, model)
    walker.run(0, schedule.layer.spans)
    walker.line.cycles = walker.clock
    return walker.line
