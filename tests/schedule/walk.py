"""The reference for latencies and bytes: every event of a schedule in order, written from docs/architecture.md.

Nothing is shared with the code under test but the types: block contents are sets of indices, the transfers a plain
list.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

from match.cost import Block, CostModel, Tile
from match.layer import Component, Dim, Layer, Operand, Role
from match.schedule.mapping import Memory, Schedule

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


def contiguous_pieces(component: Component, indices: list[list[int]]) -> list[int]:
    """First addresses, in elements, of the contiguous pieces of a block in the dense tensor."""
    strides = [math.prod(axis.limit for axis in component.axes[n + 1 :]) for n in range(len(component.axes))]
    addresses = sorted(sum(i * s for i, s in zip(index, strides, strict=True)) for index in itertools.product(*indices))
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


def reference_block(operand: Operand, spans: Spans, extents: dict[Dim, int], memory: Memory) -> Block:
    first = operand.components[0]
    if operand.role is Role.CONSTANT:
        total = 0
        for component in operand.components:
            size = component.element_bytes
            for axis in component.axes:
                length = min(axis.limit, (extents[axis.dim] - 1) * axis.stride + axis.window)
                size *= math.ceil(length / axis.multiple) * axis.multiple
            total += math.ceil(size / memory.alignment) * memory.alignment
        shape = [min(axis.limit, (extents[axis.dim] - 1) * axis.stride + axis.window) for axis in first.axes]
        shape = [math.ceil(n / axis.multiple) * axis.multiple for n, axis in zip(shape, first.axes, strict=True)]
        return Block(operand.name, tuple(shape), total, 1, 1, memory.name)
    indices = touched(first, spans)
    shape = [len(i) for i in indices]
    starts = contiguous_pieces(first, indices)
    size = math.prod(shape) * first.element_bytes
    return Block(operand.name, tuple(shape), size, len(starts), equally_spaced_groups(starts, shape), memory.name)


def reference_tile(layer: Layer, spans: Spans) -> Tile:
    def pixels(dim: Dim, axis: int, before: int, limit: int) -> int:
        start, extent = spans[dim]
        low = start * layer.stride[axis] - before
        high = (start + extent - 1) * layer.stride[axis] - before + layer.window[axis] - 1
        return len([i for i in range(low, high + 1) if 0 <= i < limit])

    iy = pixels(Dim.OY, 0, layer.padding.top, layer.iy)
    ix = pixels(Dim.OX, 1, layer.padding.left, layer.ix)
    extent = {dim: span[1] for dim, span in spans.items()}
    return Tile(extent[Dim.K], extent[Dim.C], extent[Dim.OY], extent[Dim.OX], iy, ix, extent[Dim.FY], extent[Dim.FX])


@dataclass
class Timeline:
    cycles: float = 0.0
    compute: float = 0.0
    transfer: float = 0.0
    overhead: float = 0.0
    moved: dict[str, int] = field(default_factory=dict)
    events: list[tuple[str, str, int, float]] = field(default_factory=list)


def walk(schedule: Schedule, model: CostModel) -> Timeline:
    layer, memory = schedule.layer, schedule.inner_memory
    line = Timeline(moved={operand.name: 0 for operand in schedule.operands})
    blocks = {
        operand.name: [spans for _, spans in schedule.blocks(schedule.placement(operand.name, memory).depth)]
        for operand in schedule.operands
    }
    finished: dict[tuple[str, int], float] = {}
    engine_free = 0.0
    clock = model.overhead(layer)
    line.overhead = clock

    def start(operand: Operand, n: int) -> None:
        nonlocal clock, engine_free
        extents = schedule.extents(schedule.placement(operand.name, memory).depth)
        block = reference_block(operand, blocks[operand.name][n], extents, memory)
        clock += model.issue(layer)
        line.overhead += model.issue(layer)
        begin = max(clock, engine_free)
        engine_free = finished[operand.name, n] = begin + model.transfer(layer, block)
        line.transfer += model.transfer(layer, block)
        line.moved[operand.name] += block.bytes
        line.events.append(("start", operand.name, n, clock))
        if not model.overlap:
            clock = engine_free

    def wait(operand: Operand, n: int) -> None:
        nonlocal clock
        if n >= 0:
            clock = max(clock, finished[operand.name, n])
            line.events.append(("wait", operand.name, n, clock))

    fetched = [operand for operand in schedule.operands if operand.role is not Role.OUTPUT]
    (output,) = [operand for operand in schedule.operands if operand.role is Role.OUTPUT]
    entered = {operand.name: 0 for operand in schedule.operands}

    def placement(operand: Operand) -> tuple[int, int]:
        found = schedule.placement(operand.name, memory)
        return found.depth, found.buffers

    def body(depth: int, spans: Spans) -> None:
        nonlocal clock
        for operand in fetched:
            where, buffers = placement(operand)
            if where != depth:
                continue
            n = entered[operand.name]
            entered[operand.name] += 1
            if buffers == 2:
                wait(operand, n)
                if n + 1 < len(blocks[operand.name]):
                    start(operand, n + 1)
            else:
                if where > 0:
                    start(operand, n)
                wait(operand, n)
        if depth == len(schedule.loops):
            wait(output, entered[output.name] - placement(output)[1])
            cycles = model.compute(layer, reference_tile(layer, spans))
            clock += model.launch(layer) + cycles
            line.compute += cycles
            line.overhead += model.launch(layer)
        else:
            loop = schedule.loops[depth]
            begin, extent = spans[loop.dim]
            for offset in range(0, extent, loop.tile):
                body(depth + 1, {**spans, loop.dim: (begin + offset, min(loop.tile, extent - offset))})
        if placement(output)[0] == depth:
            start(output, entered[output.name])
            entered[output.name] += 1

    for operand in fetched:
        where, buffers = placement(operand)
        if buffers == 2 or where == 0:
            start(operand, 0)
    body(0, {dim: (0, layer.size(dim)) for dim in Dim})
    for n in range(entered[output.name]):
        wait(output, n)
    line.cycles = clock
    return line
