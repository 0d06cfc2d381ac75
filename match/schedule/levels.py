"""The exhaustive search over the mappings onto two memories, each block of the outer one being mapped onto the inner.

Every tile of the outer memory is a candidate, the least bounds first. In one, every mapping onto the inner memory is a
candidate, under bounds that count all blocks of the outer one and what their transfers add in the best of cases; what
is left is predicted with every way to hold the outer blocks that may still be better than the best mapping known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from match.cost import Cost, CostModel
from match.errors import ScheduleError
from match.layer import Dim, Layer, Operand, Role
from match.schedule.blocks import Span, array_limits, axis_length
from match.schedule.floors import Floors
from match.schedule.mapping import Loop, Memory, Placement, Schedule
from match.schedule.nested import Level, Nested, cost_of
from match.schedule.pricing import Pricing
from match.schedule.rooms import Flags
from match.schedule.search import Rank, Search, refusal, rounded
from match.schedule.sieve import Sieve, feasible, with_transfers
from match.schedule.structures import Nest, Structures
from match.schedule.tiles import TILED, Floats, OuterBlocks, Sizes, TileCosts, candidate_tiles

MOST_OUTER_TILES = 256
"""Outer tiles whose mappings are searched at most. What the others may gain is reported as the schedule's loss."""


@dataclass(frozen=True)
class _Held:
    """One way to hold the outer blocks: what it adds to the core's time and how long the DMA takes, at least."""

    core: float
    dma: float
    moved: float
    nest: Nest


class OuterSearch:
    """Finds a mapping onto two memories whose predicted cost no other has less of."""

    def __init__(
        self,
        layer: Layer,
        operands: tuple[Operand, ...],
        memories: tuple[Memory, ...],
        cost_model: CostModel,
        objective: str,
        multiples: Mapping[Dim, int],
    ) -> None:
        outer, inner = memories
        self.layer = layer
        self.operands = operands
        self.memories = memories
        self.objective = objective
        self.multiples = multiples
        self.held = frozenset(operand.name for operand in operands if outer.has(operand.name))
        held = tuple(operand for operand in operands if operand.name in self.held)
        others = tuple(operand for operand in operands if operand.name not in self.held)
        self.pricing = Pricing(layer, operands, outer, cost_model)
        self.inner_pricing = Pricing(layer, operands, inner, cost_model)
        packed = replace(outer, alignment=min(outer.alignment, inner.alignment))
        self.costs = TileCosts(Pricing(layer, held, packed, cost_model, others), packing=outer.alignment)
        self.candidates = candidate_tiles(self.costs, multiples)
        self.floors = Floors(self.costs, self.candidates)
        names = (outer.name, inner.name)
        self.energies = [self.pricing.byte_energy(name) for name in names] if objective == "energy" else None
        self.kernel_energy = self.pricing.energy({}) or 0.0
        self.sizes = {dim: layer.size(dim) for dim in Dim}
        self.rank: Rank | None = None
        self.schedule: Schedule | None = None

    def best(self) -> Schedule:
        """The best mapping.

        Raises:
            ScheduleError: if none fits.
            CostModelError: if the cost model fails.
        """
        sieve = self.sieve()
        if not len(sieve):
            raise refusal(self.costs, self.candidates)
        bounds = self.keys(sieve.cycles, sieve.moved, np.zeros(len(sieve)))
        order = np.lexsort((-sieve.tiles.prod(axis=1), bounds[1], bounds[0]))
        loss = 0.0
        for tried, row in enumerate(order.tolist()):
            objective, second = float(bounds[0][row]), float(bounds[1][row])
            if self.rank is not None and (objective, second) >= self.rank[:2]:
                break
            if tried >= MOST_OUTER_TILES and self.rank is not None:
                loss = self.rank.objective - objective
                break
            InnerSearch(self, tuple(sieve.tiles[row].tolist())).run()
        if self.schedule is None:
            whole = TileCosts(self.inner_pricing)
            raise refusal(whole, candidate_tiles(whole, self.multiples))
        return replace(self.schedule, loss=max(0.0, loss))

    def sieve(self) -> Sieve:
        """The outer tiles that fit, with bounds of what any mapping costs."""
        return with_transfers(feasible(self.costs, self.floors, self.candidates), self.costs, self.floors)

    def keys(self, cycles: Floats, outer: Floats, inner: Floats) -> tuple[Floats, Floats]:
        """The first two entries of `Rank`; `outer` and `inner` are bytes moved into each memory and out of it."""
        cycles, moved = rounded(cycles), outer + inner
        if self.objective == "latency":
            return cycles, moved
        if self.energies is None:
            return moved, cycles
        return rounded(self.kernel_energy + outer * self.energies[0] + inner * self.energies[1]), cycles

    def ways(self, tile: Sizes) -> list[_Held]:
        """Every way to hold the blocks of an outer tile, those that add least first."""
        cut = tuple(dim for dim, size in zip(TILED, tile, strict=True) if size < self.layer.size(dim))
        structures = Structures(self.costs, np.array([tile]), cut)
        result: list[_Held] = []
        for nests in structures.nests():
            for row in range(len(nests.cycles)):
                core = float(nests.core[row] - structures.work[0])
                result.append(_Held(core, float(nests.dma[row]), float(nests.moved[row]), nests.nest(row)))
        return sorted(result, key=lambda way: (way.core, way.dma))

    def placements(self, nest: Nest) -> tuple[Placement | None, ...]:
        """Those of an outer nest, in the order of all operands."""
        held = {placement.operand: placement for placement in nest.placements}
        return tuple(held.get(operand.name) for operand in self.operands)

    def keep(self, cost: Cost, loops: tuple[Loop, ...], placements: tuple[Placement, ...]) -> None:
        """Keep a mapping if it is the best so far and fits."""
        cycles, moved = float(rounded(np.array(cost.cycles))), float(cost.moved_bytes)
        if self.objective == "energy":
            assert cost.energy is not None, "the objective needs it"
            moved = float(rounded(np.array(cost.energy)))
        first, second = (cycles, moved) if self.objective == "latency" else (moved, cycles)
        rank = Rank(first, second, 0, (), (), ())
        if self.rank is not None and rank >= self.rank:
            return
        extents = {dim: self.layer.size(dim) for dim in Dim} | {loop.dim: loop.tile for loop in loops}
        scratch = self.inner_pricing.scratch(extents)
        try:
            schedule = Schedule(self.layer, self.operands, self.memories, loops, placements, scratch)
        except ScheduleError:  # constants may take more in the outer memory than they need at least
            return
        self.rank, self.schedule = rank, schedule


class InnerSearch(Search):
    """Searches the mappings onto the inner memory of the blocks of one outer tile, for the best mapping of all."""

    def __init__(self, parent: OuterSearch, tile: Sizes) -> None:
        super().__init__(parent.inner_pricing, "latency", parent.multiples, OuterBlocks(tile, parent.held))
        self.parent = parent
        self.rank = parent.rank
        self.ways = parent.ways(tile)
        self.front = _front(self.ways)
        self.least_moved = np.array(min(way.moved for way in self.ways))
        self.tile = dict(zip(TILED, tile, strict=True))
        self.blocks = list(_blocks(parent.pricing, self.tile))

    def run(self) -> None:
        """Try every mapping that may be better than the best so far."""
        for sieve in self.sieves():
            for _, tiles in self.promising(sieve):
                self.try_tiles(tiles)

    def keys(self, cycles: Floats, moved: Floats) -> tuple[Floats, Floats]:
        """With the least that the outer memory adds."""
        total = np.minimum.reduce([np.maximum(cycles + way.core, way.dma) for way in self.front])
        return self.parent.keys(total, self.least_moved, moved)

    def may_win(self, objective: Floats, second: Floats) -> Flags:
        """Of equals, the first is kept."""
        if self.rank is None:
            return np.ones(len(objective), np.bool_)
        return (objective < self.rank.objective) | ((objective == self.rank.objective) & (second < self.rank.second))

    def try_nest(self, nest: Nest) -> None:
        """Predict a mapping with every way to hold the outer blocks that may still win."""
        parent = self.parent
        level = Level(self.pricing, nest.loops, nest.placements)
        inner = Nested([level], parent.sizes | self.tile)
        least, moved = self._executed(inner)
        for way in self.ways:
            cycles = np.array([max(least + way.core, way.dma)])
            if self.may_win(*parent.keys(cycles, np.array([way.moved]), np.array([moved])))[0]:
                outer = Level(parent.pricing, way.nest.loops, parent.placements(way.nest))
                levels = (outer, level)
                self._keep(levels, cost_of(levels, Nested(levels, parent.sizes, inner)))

    def _keep(self, levels: tuple[Level, Level], cost: Cost) -> None:
        loops = tuple(replace(loop, level=number) for number, level in enumerate(levels) for loop in level.loops)
        first, (outer, inner) = len(levels[0].loops), levels
        placements = [placement for placement in outer.placements if placement is not None]
        placements += [replace(p, depth=p.depth + first) for p in inner.placements if p is not None]
        self.parent.keep(cost, loops, tuple(placements))
        self.rank = self.parent.rank

    def _executed(self, inner: Nested) -> tuple[float, float]:
        """Cycles, with the layer's overhead, and bytes moved when all outer blocks are mapped, as small as they are."""
        cycles, moved = self.pricing.overhead, 0
        for spans, times in self.blocks:
            work = inner.work(spans, self._arrays(spans))
            cycles += times * work.cycles
            moved += times * sum(work.moved)
        return cycles, moved

    def _arrays(self, spans: Mapping[Dim, Span]) -> tuple[tuple[int, ...], ...]:
        return tuple(
            tuple(axis_length(operand, axis, spans[axis.dim], 0) for axis in axes)
            if operand.name in self.parent.held and operand.role is not Role.CONSTANT
            else array_limits(operand)
            for operand, axes in zip(self.pricing.operands, self.pricing.axes, strict=True)
        )


def _front(ways: list[_Held]) -> list[_Held]:
    """Those that no other is below of in both bounds."""
    result: list[_Held] = []
    for way in ways:
        if not result or way.dma < result[-1].dma:
            result.append(way)
    return result


def _blocks(pricing: Pricing, tile: Mapping[Dim, int]) -> Iterator[tuple[dict[Dim, Span], int]]:
    """Blocks of `tile` that look different, and how many look the same."""
    sizes = {dim: pricing.layer.size(dim) for dim in Dim}
    along = [
        [
            ((run.first * tile[dim], min(tile[dim], sizes[dim] - run.first * tile[dim])), run.last - run.first + 1)
            for run in pricing.runs(dim, 0, sizes[dim], tile[dim])
        ]
        for dim in TILED
    ]
    for kinds in itertools.product(*along):
        spans = {dim: (0, size) for dim, size in sizes.items()}
        yield spans | dict(zip(TILED, (span for span, _ in kinds), strict=True)), math.prod(n for _, n in kinds)
