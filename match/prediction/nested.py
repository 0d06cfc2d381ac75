"""Latency of a mapping onto several memories: the kernel of each level is the mapping onto the levels inside it.

A mapping onto the inner levels starts and ends without transfers under way, so its cost depends on its block only.
Blocks that look the same are executed once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from match.ir.layer import Dim, Role
from match.mapping.group_plan import GroupPlan
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Placement, Schedule, parts
from match.prediction.blocks import array_limits, axis_length, block_of_lengths
from match.prediction.group import GroupWalk
from match.prediction.prices import Lengths, Move, Prices
from match.prediction.view import view_of
from match.prediction.walk import BlocksUnderWay, Spans, Walk
from match.target.cost import Block, Cost, CostModel, MappingView


class Level(NamedTuple):
    """The loops of one memory and the placements of operands there, in order; depths count from the first loop.

    `plan` is that of a group, in the innermost memory.
    """

    pricing: Prices
    loops: tuple[Loop, ...]
    placements: tuple[Placement | None, ...]
    plan: GroupPlan | None = None


class Work(NamedTuple):
    """The cost of a mapping on one block.

    `transfers` (DMA cycles) and `moved` (bytes) have an entry for each operand in one memory, then in the next.
    """

    cycles: float
    compute: float
    overhead: float
    transfers: tuple[float, ...]
    moved: tuple[int, ...]


def levels_of(schedule: Schedule, cost_model: CostModel) -> tuple[Level, ...]:
    """The levels of a schedule, outermost first."""
    levels: list[Level] = []
    for number, memory in enumerate(schedule.memories):
        first, last = schedule.first_loop(number), schedule.first_loop(number + 1)
        placements = [
            schedule.placement(operand.name, memory) if memory.has(operand.name) else None
            for operand in schedule.operands
        ]
        pricing = Prices(schedule.layer, schedule.operands, memory, cost_model)
        held = tuple(p and replace(p, depth=p.depth - first) for p in placements)
        plan = schedule.plan if memory == schedule.inner_memory else None
        levels.append(Level(pricing, schedule.loops[first:last], held, plan))
    return tuple(levels)


def nested_latency(levels: Sequence[Level]) -> Cost:
    """Cost of a mapping; nothing is checked."""
    pricing = levels[0].pricing
    sizes = pricing.layer.extents
    return cost_of(levels, Nested(levels, sizes))


def cost_of(levels: Sequence[Level], nested: Nested) -> Cost:
    """Cost of a mapping that is `nested`."""
    pricing = levels[0].pricing
    limits = tuple(array_limits(operand) for operand in pricing.operands)
    work = nested.work({dim: (0, size) for dim, size in nested.largest.items()}, limits, pricing.overhead)
    count = len(pricing.operands)
    moved = tuple((operand.name, sum(work.moved[n::count])) for n, operand in enumerate(pricing.operands))
    by_memory = {
        level.pricing.memory.name: sum(work.moved[n * count : (n + 1) * count]) for n, level in enumerate(levels)
    }
    cost = Cost(work.cycles, work.compute, sum(work.transfers), work.overhead, moved)
    if pricing.has_latency:
        cost = replace(cost, cycles=pricing.latency(_view(levels, cost, work)))
    return replace(cost, energy=pricing.energy(by_memory, cost))


def _view(levels: Sequence[Level], cost: Cost, work: Work) -> MappingView:
    loops: tuple[Loop, ...] = ()
    placements: list[Placement] = []
    streams: list[tuple[int, float]] = []
    figures = iter(zip(work.moved, work.transfers, strict=True))
    for level in levels:
        for placement in level.placements:
            figure = next(figures)
            if placement is not None:
                placements.append(replace(placement, depth=placement.depth + len(loops)))
                streams.append(figure)
        loops += level.loops
    return view_of(levels[-1].pricing, loops, placements, cost, streams)


class Nested:
    """The mapping onto some levels, executed on blocks of the outer memory, of at most `largest` extents.

    `inner` is the mapping onto the levels inside the first one; if given, its remembered costs are used.
    """

    def __init__(self, levels: Sequence[Level], largest: dict[Dim, int], inner: Nested | None = None) -> None:
        self.level, *others = levels
        self.depth = len(levels)
        self.largest = largest
        if inner is None and others:
            inner = Nested(others, largest | {loop.dim: loop.tile for loop in self.level.loops})
        self.inner = inner
        self._known: dict[object, Work] = {}
        self._packed: dict[object, Move] = {}

    def work(self, spans: Spans, limits: tuple[Lengths, ...], overhead: float = 0.0) -> Work:
        """The cost of the mapping on the block that covers `spans`; the operands lie in arrays of `limits`."""
        place = *spans.values(), limits
        known = self._known.get(place)
        if known is None:
            pricing = self.level.pricing
            alike = {dim: pricing.alike(dim, span) for dim, span in spans.items()}
            key = *alike.values(), limits
            known = self._known.get(key)
            if known is None:
                if self.level.plan is not None:
                    walk = GroupWalk(pricing, self.level.plan)
                    walk.run(overhead)
                else:
                    walk = _LevelWalk(self, limits)
                    walk.run(alike, overhead)
                known = Work(walk.now, walk.compute, walk.overhead, tuple(walk.transfers), tuple(walk.moved))
                self._known[key] = known
            self._known[place] = known
        return known

    def packed(self, operand: int, depth: int, spans: Spans) -> Move:
        """The transfer of a block of constants, placed inside `depth` of the loops.

        It holds the blocks of the innermost memory, each as long as the largest, in the order of their fetches.
        """
        pricing = self.level.pricing
        tensor = pricing.operands[operand]
        dims = sorted(tensor.dims)
        key = operand, depth, *(spans[dim][1] for dim in dims)
        known = self._packed.get(key)
        if known is None:
            cuts, memory, smallest = self._cuts(operand, depth)
            counts = {dim: parts(spans[dim][1], [loop.tile for loop in cuts if loop.dim is dim]) for dim in dims}
            lengths = [axis_length(tensor, axis, (0, 0), smallest[axis.dim]) for axis in pricing.axes[operand]]
            piece = block_of_lengths(tensor, lengths, memory)
            axes = tensor.components[0].axes
            shape = tuple(length * counts.get(axis.dim, 1) for axis, length in zip(axes, piece.shape, strict=True))
            size = piece.bytes * math.prod(counts.values())
            known = pricing.moves([Block(tensor.name, shape, size, 1, memory=pricing.memory.name)])[0]
            self._packed[key] = known
        return known

    def _cuts(self, operand: int, depth: int) -> tuple[tuple[Loop, ...], Memory, dict[Dim, int]]:
        """How a block is cut into blocks of the innermost memory: the loops, this memory, extents inside the loops."""
        last, loops = self, self.level.loops[depth:]
        while last.inner is not None:
            last = last.inner
            loops += last.level.loops
        held = last.level.placements[operand]
        assert held is not None, "the innermost memory holds every operand"
        inside = last.level.loops[: held.depth]
        loops = loops[: len(loops) - len(last.level.loops) + held.depth]
        return loops, last.level.pricing.memory, last.largest | {loop.dim: loop.tile for loop in inside}


class _LevelWalk(Walk):
    """The loops of one level; their innermost body executes the inner levels."""

    def __init__(self, nested: Nested, limits: tuple[Lengths, ...]) -> None:
        pricing, loops, placements, _ = nested.level
        super().__init__(pricing, loops, placements, nested.largest)
        self.transfers = [0.0] * (nested.depth * len(placements))
        self.moved = [0] * (nested.depth * len(placements))
        self._nested = nested
        self._limits = limits

    def move(self, stream: BlocksUnderWay, spans: Spans) -> Move:
        number = stream.number
        if self._nested.inner is not None and self.pricing.operands[number].role is Role.CONSTANT:
            return self._nested.packed(number, stream.depth, spans)
        return self.pricing.move(number, spans, stream.extents, self._limits[number])

    def kernel(self, spans: Spans) -> None:
        inner = self._nested.inner
        if inner is None:
            super().kernel(spans)
            return
        work = inner.work(spans, self._arrays())
        self.now += work.cycles
        self.compute += work.compute
        self.overhead += work.overhead
        for n, (cycles, count) in enumerate(zip(work.transfers, work.moved, strict=True), len(self._limits)):
            self.transfers[n] += cycles
            self.moved[n] += count

    def _arrays(self) -> tuple[Lengths, ...]:
        """The limits of the arrays that inner levels fetch from: blocks that are held here, else the arrays outside."""
        arrays = list(self._limits)
        for stream in self.streams:
            if self.pricing.operands[stream.number].role is not Role.CONSTANT:
                arrays[stream.number] = self.pricing.array(stream.number, self.inside[stream.depth])
        return tuple(arrays)
