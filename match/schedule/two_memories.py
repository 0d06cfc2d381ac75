"""What a search over two memories is about: the layer in both, how outer blocks are held, the best mapping so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from match.errors import ScheduleError
from match.ir.layer import Dim, Role
from match.schedule.inner_cuts import Loose
from match.schedule.mapping import Loop, Placement, Schedule
from match.schedule.pricing import Pricing
from match.schedule.problem import Problem
from match.schedule.residencies import AllResidencies
from match.schedule.rooms import Flags, Floats, Ints
from match.schedule.search import Listings, Rank, rounded
from match.schedule.structures import Bounds, Figures, Nest, Nests, Structures, TilingCosts
from match.schedule.tiles import Sizes, TileCosts
from match.target.cost import Cost


@dataclass(frozen=True)
class OuterWay:
    """One way to hold the outer blocks: what it adds to the core's time, how long the DMA takes, at least.

    `fetched` is what of the DMA's part comes before the last block is mapped or behind it.
    """

    core: float
    dma: float
    fetched: float
    moved: float
    nests: Nests
    row: int
    order: tuple[Dim, ...]

    @property
    def nest(self) -> Nest:
        """The loops and placements."""
        return self.nests.nest(self.row, self.order)


def total_cycles(way: OuterWay, cycles: Floats | float, last: Floats | float) -> Floats:
    """Lower bound of a mapping's latency from those of all its outer blocks, and of the last one."""
    return _total(way, cycles, way.core, last)


def least_ways(ways: Sequence[OuterWay]) -> list[OuterWay]:
    """Some of them, one of which has the least of `total_cycles`, whatever the blocks take."""
    result: list[OuterWay] = []
    for way in sorted(ways, key=lambda way: (way.core, way.dma, way.fetched)):
        if not any(other.dma <= way.dma and other.fetched <= way.fetched for other in result):
            result.append(way)
    return result


def _total(ways: OuterWay | Figures, cycles: Floats | float, added: Floats | float, last: Floats | float) -> Floats:
    """The same, where ways add so many cycles to the core's."""
    return np.maximum(np.maximum(cycles + added, ways.dma), ways.fetched + last)


LooseCycles = Callable[[list[tuple[int, Loose]]], Floats]
"""`InnerFloors.cycles` of some of the outer tiles, by row, with an operand that is loose."""


class TwoMemories:
    """A layer to be mapped onto two memories.

    `pricing` and `inner_pricing` predict; `costs` are of what the outer memory holds, with the least that constants may
    take, and `residencies` the ways to hold it. `listings` are for searches of the inner memory.
    """

    def __init__(self, problem: Problem) -> None:
        layer, operands, cost_model = problem.layer, problem.operands, problem.cost_model
        outer, inner = problem.memories
        self.layer = layer
        self.operands = operands
        self.memories = problem.memories
        self.objective = problem.objective
        self.multiples = dict(problem.multiples)
        self.sizes = layer.extents
        self.held = frozenset(operand.name for operand in operands if outer.has(operand.name))
        held = tuple(operand for operand in operands if operand.name in self.held)
        others = tuple(operand for operand in operands if operand.name not in self.held)
        self.pricing = Pricing(layer, operands, outer, cost_model)
        self.inner_pricing = Pricing(layer, operands, inner, cost_model)
        packed = replace(outer, alignment=min(outer.alignment, inner.alignment))
        self.costs = TileCosts(Pricing(layer, held, packed, cost_model, others), packing=outer.alignment)
        self.residencies = AllResidencies(held, self.costs.packing > 0)
        self.listings = Listings.of(operands)
        self.rank: Rank | None = None
        self.schedule: Schedule | None = None
        self._gapless = self.inner_pricing.gapless()
        names = (outer.name, inner.name)
        self._energies = [self.pricing.byte_energy(name) for name in names] if problem.objective == "energy" else None
        self._kernel_energy = self.pricing.energy({}) or 0.0

    def keys(self, cycles: Floats, outer: Floats, inner: Floats) -> tuple[Floats, Floats]:
        """The first two entries of `Rank`; `outer` and `inner` are bytes moved into each memory and out of it."""
        cycles, moved = rounded(cycles), outer + inner
        if self.objective == "latency":
            return cycles, moved
        if self._energies is None:
            return moved, cycles
        return rounded(self._kernel_energy + outer * self._energies[0] + inner * self._energies[1]), cycles

    def may_win(self, objective: Floats, second: Floats) -> Flags:
        """Which of these bounds leave room for a mapping better than the best so far; of equals, the first is kept."""
        if self.rank is None:
            return np.ones(len(objective), np.bool_)
        return (objective < self.rank.objective) | ((objective == self.rank.objective) & (second < self.rank.second))

    def tail(self, tiles: Ints) -> Floats:
        """Cycles of the last block of each outer tile: a kernel call at least, and to issue a transfer per operand."""
        pricing, ends = self._gapless, (np.array(self.costs.whole) - 1) // tiles * tiles
        spans = zip(ends.tolist(), (np.array(self.costs.whole) - ends).tolist(), strict=True)
        return (
            pricing.launch
            + len(self.operands) * pricing.issue
            + np.array(
                [
                    pricing.kernel(
                        k, (oy, pricing.rows.span(y, oy)[1]), (ox, pricing.columns.span(x, ox)[1]), (c, True, True)
                    )
                    for (_, y, x, _), (k, oy, ox, c) in spans
                ]
            )
        )

    def bounds(
        self, tiles: Ints, cycles: Floats, tail: Floats, floors: TilingCosts | None, loose: LooseCycles
    ) -> tuple[Floats, Floats]:
        """Cycles and bytes of the outer memory that outer tiles take, in any way to hold their blocks.

        All operands of a way have to fit together. `cycles` are of what any mapping does on the inner memory, and
        `loose` those where an operand's blocks are not cut although tiles are; `tail` are those of the last block.
        """
        least, moved = np.full((2, len(tiles)), np.inf)
        others: list[tuple[Bounds, Floats]] = []
        structures = Structures(self.costs, tiles, self.residencies, floors)
        for bounds in structures.bounds():
            rows, figures = bounds.rows, bounds.figures
            moved[rows] = figures.moved.min(axis=0, initial=math.inf)
            totals = _total(figures, cycles[rows], figures.core - structures.work[rows], tail[rows])
            is_loose = np.zeros(len(totals), np.bool_)
            for _, _, chosen in self._loose(bounds):
                is_loose |= chosen
            least[rows] = totals[~is_loose].min(axis=0, initial=math.inf)
            if is_loose.any():
                others.append((bounds, np.where(is_loose[:, None] & (totals < least[rows]), totals, math.inf)))
        asked: dict[tuple[int, Loose], None] = {}
        for bounds, totals in others:
            for number, dim, chosen in self._loose(bounds):
                wanted = bounds.rows[np.isfinite(totals[chosen]).any(axis=0)]
                asked |= dict.fromkeys((row, (number, dim)) for row in wanted.tolist())
        known = dict(zip(asked, loose(list(asked)).tolist(), strict=True)) if asked else {}
        for bounds, totals in others:
            rows, figures = bounds.rows, bounds.figures
            inner = np.tile(cycles[rows], (len(totals), 1))
            for number, dim, chosen in self._loose(bounds):
                more = np.array([known.get((row, (number, dim)), 0.0) for row in rows.tolist()])
                inner[chosen] = np.maximum(inner[chosen], more)
            with_loose = _total(figures, inner, figures.core - structures.work[rows], tail[rows])
            with_loose = np.where(np.isfinite(totals), with_loose, math.inf)
            least[rows] = np.minimum(least[rows], with_loose.min(axis=0, initial=math.inf))
        return np.maximum(least, cycles), moved

    def _loose(self, bounds: Bounds) -> Iterator[tuple[int, Dim, Flags]]:
        """Activations, by number, whose outer blocks are not cut along a dimension of tiles, and where."""
        residencies = bounds.residencies
        for place, operand in enumerate(self.costs.pricing.operands):
            if operand.role is not Role.CONSTANT:
                for dim in operand.dims.intersection(residencies.dims):
                    yield self.operands.index(operand), dim, residencies.uncut(place, dim)[bounds.fitting]

    def ways(self, tile: Sizes) -> list[OuterWay]:
        """Every way to hold the blocks of an outer tile, those that add least first."""
        structures = Structures(self.costs, np.array([tile]), self.residencies)
        result: list[OuterWay] = []
        for nests in structures.nests():
            for row in range(len(nests.cycles)):
                core = float(nests.core[row] - structures.work[0])
                dma, fetched, moved = (float(bound[row]) for bound in (nests.dma, nests.fetched, nests.moved))
                result += [OuterWay(core, dma, fetched, moved, nests, row, order) for order in nests.orders(row)]
        return sorted(result, key=lambda way: (way.core, way.dma))

    def placements(self, nest: Nest) -> tuple[Placement | None, ...]:
        """Those of an outer nest, in the order of all operands."""
        held = {placement.operand: placement for placement in nest.placements}
        return tuple(held.get(operand.name) for operand in self.operands)

    @property
    def best_objective(self) -> float:
        """That of the best mapping so far, infinite without one."""
        return math.inf if self.rank is None else self.rank.objective

    def most_cycles(self, ways: list[OuterWay], objective: float) -> float:
        """What all outer blocks may take on the inner memory, without the layer's overhead, for no larger objective.

        When they are held in one of `ways`, or in any.
        """
        if self.objective != "latency":
            return math.inf
        return objective + 1 - min((way.core for way in ways), default=0.0) - self.inner_pricing.overhead

    def mapping(self, loops: tuple[Loop, ...], placements: tuple[Placement, ...]) -> Schedule | None:
        """A mapping, if it fits: constants may take more in the outer memory than they need at least."""
        extents = self.layer.extents | {loop.dim: loop.tile for loop in loops}
        scratch = self.inner_pricing.scratch(extents)
        try:
            return Schedule(self.layer, self.operands, self.memories, loops, placements, scratch)
        except ScheduleError:
            return None

    def keep(self, schedule: Schedule, cost: Cost) -> None:
        """Keep a mapping if it is the best so far."""
        cycles, moved = float(rounded(np.array(cost.cycles))), float(cost.moved_bytes)
        if self.objective == "energy":
            assert cost.energy is not None, "the objective needs it"
            moved = float(rounded(np.array(cost.energy)))
        first, second = (cycles, moved) if self.objective == "latency" else (moved, cycles)
        rank = Rank(first, second, 0, (), (), ())
        if self.rank is None or rank < self.rank:
            self.rank, self.schedule = rank, schedule
