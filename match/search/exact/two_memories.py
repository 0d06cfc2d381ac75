"""A heuristic for two memories: the most promising outer tiles are searched, each by the search on one memory.

An outer block is mapped onto the inner memory as if it were a layer. Outer tiles are sorted by the bound of their
mappings onto the outer memory; the cost of a block is estimated from that of a tile of its size, with half of its
transfers hidden. The first `SEARCHED` tiles are searched: the best mapping of all their blocks onto the inner memory,
then the best residency of these blocks. A lower bound of all mappings (`least`) limits how much better a mapping that
was left out may be (`Schedule.loss`).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from match.errors import NoMappingError, ScheduleError
from match.ir.layer import Dim, Role
from match.mapping.schedule import Schedule
from match.prediction.arrays import Flags, Floats, Ints
from match.prediction.blocks import Span, array_limits
from match.prediction.nested import Level, Nested, cost_of
from match.prediction.prices import Lengths, Prices
from match.search.exact.bounds import Bound, LeastFigures, TileGroup, least_figures, tile_bound
from match.search.exact.least import least_bytes, least_kernels, least_transfers
from match.search.exact.residencies import residencies
from match.search.exact.search import BELOW, OrderedLoops, Predicted, Rank, Search, nests
from match.search.exact.tables import TILED, Tables, all_sizes, along_axis, refusal, within
from match.search.problem import SearchProblem
from match.target.cost import Cost

BOUNDED = 4096
"""Outer tiles whose mappings onto the outer memory are bounded: those with the best bounds of their own."""

LISTED = 512
"""How many tiles are kept, those with the best bounds of their mappings; also how many are bounded at a time."""

SEARCHED = 10
"""Outer tiles that are searched, at least until there is a mapping."""

ALIKE = 2
"""The most of these with the same numbers of blocks along each dimension."""

PREDICTED = 12
"""The most mappings that are predicted for one outer tile: inner mappings, and ways to hold the outer blocks."""


NOTHING = np.zeros(())


class OuterNest(NamedTuple):
    """Loops and placements of an outer tile in the outer memory. Mappings with these cost at least `bound`."""

    bound: float
    nest: OrderedLoops


class TwoMemories:
    """The search for a mapping of a layer onto two memories."""

    def __init__(self, problem: SearchProblem) -> None:
        self.problem = problem
        self.layer, self.operands = problem.layer, problem.operands
        self.outer, self.inner = (
            Prices(self.layer, self.operands, one, problem.cost_model) for one in problem.memories
        )
        self.held = tuple(operand for operand in self.operands if problem.memories[0].has(operand.name))
        self.best: tuple[Rank, Schedule] | None = None

    def run(self) -> Schedule:
        """The best mapping found.

        Raises:
            NoMappingError: if none fits.
        """
        problem, layer = self.problem, self.layer
        multiples = dict(problem.multiples)
        whole = Tables(self.inner, all_sizes(self.operands, layer.extents, multiples))
        inside = Search(whole, problem.objective)
        if inside.run() is None or inside.rank is None:
            raise refusal(whole)
        sizes = all_sizes((), layer.extents, multiples)
        tables = Tables(Prices(layer, self.held, problem.memories[0], problem.cost_model), sizes)
        least = inside.rank.second if problem.objective != "latency" else inside.rank.objective
        tiles = self.outer_tiles(tables, np.maximum(least, self.expected_cycles(whole)))
        if not tiles:
            raise refusal(tables, scratch=False)
        searched: Counter[tuple[int, ...]] = Counter()
        for _, index in tiles:
            if self.best is not None and searched.total() >= SEARCHED:
                break
            blocks = tuple(int(tables.counts[dim][number]) for dim, number in zip(TILED, index, strict=True))
            if searched[blocks] == ALIKE:
                continue
            searched[blocks] += 1
            self.search_tile(tables, index, multiples)
        if self.best is None:
            raise NoMappingError(layer.name, f"has no mapping onto {' and '.join(m.name for m in problem.memories)}")
        self.outer.confirm()
        self.inner.confirm()
        rank, schedule = self.best
        return replace(schedule, loss=max(0.0, rank.objective - self.least(whole)))

    def outer_tiles(self, tables: Tables, cycles: Floats) -> list[tuple[float, Ints]]:
        """Outer tiles by the numbers of their sizes, with the expected cost of their mappings, least first.

        `cycles` are those expected of all blocks on the inner memory; a table.
        """
        found: list[tuple[float, float, tuple[int, ...]]] = []
        box = tables.box(tables.channels[1])
        fits = tables.room(box, scratch=False)[1]

        def keys(figures: Sequence[LeastFigures]) -> Floats:
            bound = tile_bound(tables, figures, box, cycles)
            return np.broadcast_to(self.keys(bound.cycles, bound.moved, np.zeros(()))[0], fits.shape)

        # Thousands of tiles have the bound of layers that are whole in the outer memory, which mostly do not fit.
        least, cut = keys(least_figures(tables)), keys(least_figures(tables, whole=False))
        every = np.array(np.nonzero(fits))
        every = every[:, np.lexsort((cut[*every], least[*every]))[:BOUNDED]]
        for first in range(0, every.shape[1], LISTED):
            limit = found[LISTED - 1][0] if len(found) >= LISTED else math.inf
            some = every[:, first : first + LISTED]
            if least[*some[:, 0]] > limit:
                break
            for group in groups_of(tables, some, cycles[*some]):
                found += self.bounded(group, limit)
            found.sort()
        return [(bound, np.array(place)) for bound, _, place in found[:LISTED]]

    def bounded(self, group: TileGroup, limit: float) -> Iterator[tuple[float, float, tuple[int, ...]]]:
        """The least bound, minus the volume and the place of each tile with a bound of at most `limit`."""

        def objective(bound: Bound) -> Floats:
            return self.keys(bound.cycles, bound.moved, np.zeros(()))[0]

        _, tile, bound = group.bounds(lambda _, bound: objective(bound) <= limit)
        least = np.full(group.index.shape[1], math.inf)
        np.minimum.at(least, tile, objective(bound))
        sizes = [group.tables.sizes[dim][index] for dim, index in zip(TILED, group.index, strict=True)]
        volumes = np.prod(sizes, axis=0)
        for column in np.flatnonzero(np.isfinite(least)).tolist():
            yield float(least[column]), -float(volumes[column]), tuple(group.index[:, column].tolist())

    def expected_cycles(self, whole: Tables) -> Floats:
        """Cycles of the mapping onto the inner memory of all blocks of each outer tile, when half of its DMA is hidden.

        Each block counts as a tile that lies in the outer memory by itself; a table.
        """
        prices, held = self.inner, frozenset(operand.name for operand in self.held)
        blocks = Tables(prices, whole.sizes, held, alone=True)
        box = whole.box(whole.channels[1])
        kernels, _ = whole.kernels(box)
        transfers = np.zeros(())
        for operand, figures in zip(prices.operands, blocks.figures, strict=True):
            others = [along_axis(dim, whole.counts[dim]) for dim in TILED[1:] if dim not in operand.dims]
            transfers = transfers + within(figures.transfer, box) * math.prod(others)
        issues = whole.calls(box) * (prices.issue * len(prices.operands))
        return prices.overhead + kernels + issues + transfers / 2

    def search_tile(self, tables: Tables, index: Ints, multiples: Mapping[Dim, int]) -> None:
        """Search the mappings with one outer tile."""
        tile = {dim: int(tables.sizes[dim][number]) for dim, number in zip(TILED, index, strict=True)}
        extents = self.layer.extents | tile
        held = frozenset(operand.name for operand in self.held)
        inner_tables = Tables(self.inner, all_sizes(self.operands, extents, multiples), held)
        search = BlockSearch(inner_tables, self.problem.objective, extents, held)
        nest = search.run()
        if nest is None:
            return
        level = Level(self.inner, nest.loops, nest.placements)
        inner = Nested([level], extents)
        executed, last = search.executed(inner)
        for way in itertools.islice(self.ways(tables, index, executed, last), PREDICTED):
            if self.best is not None and way.bound > self.best[0].objective:
                break
            self.predict(way, level, inner)

    def ways(self, tables: Tables, index: Ints, executed: Predicted, last: float) -> Iterator[OuterNest]:
        """The ways to hold the blocks of an outer tile that fit, best bound first.

        `executed` is what all blocks cost on the inner memory, `last` the cycles of the last one.
        """
        tile = {dim: int(tables.sizes[dim][number]) for dim, number in zip(TILED, index, strict=True)}
        work = np.array(self.outer.cycle_energy.work(executed.compute, executed.overhead))
        for group in groups_of(tables, index[:, None], np.array([executed.cycles]), last):
            residency, _, bound = group.bounds(any_may_win)
            objective, second = self.keys(bound.cycles, bound.moved, np.array(float(executed.moved)), work)
            for row in np.lexsort((np.broadcast_to(second, objective.shape), objective)).tolist():
                for nest in nests(tables, tile, group.residencies, int(residency[row])):
                    yield OuterNest(float(objective[row]), nest)

    def predict(self, way: OuterNest, level: Level, inner: Nested) -> None:
        """Predict a mapping if it fits, and keep it if it is the best so far."""
        held = {placement.operand: placement for placement in way.nest.placements}
        outside = tuple(held.get(operand.name) for operand in self.operands)
        first = len(way.nest.loops)
        loops = (*way.nest.loops, *(replace(loop, level=1) for loop in level.loops))
        placements = [placement for placement in outside if placement is not None]
        placements += [replace(one, depth=one.depth + first) for one in level.placements if one is not None]
        scratch = self.inner.scratch(self.layer.extents | {loop.dim: loop.tile for loop in loops})
        try:
            schedule = Schedule(self.layer, self.operands, self.problem.memories, loops, tuple(placements), scratch)
        except ScheduleError:  # constants may take more in the outer memory than they need at least
            return
        levels = (Level(self.outer, way.nest.loops, outside), level)
        rank = self.ranked(cost_of(levels, Nested(levels, self.layer.extents, inner)))
        if self.best is None or rank < self.best[0]:
            self.best = rank, schedule

    def keys(self, cycles: Floats, outer: Floats, inner: Floats, work: Floats = NOTHING) -> tuple[Floats, Floats]:
        """The first two entries of `Rank`; `outer` and `inner` are bytes moved into each memory and out of it.

        `work` are pJ of cycles beyond what any cycle takes.
        """
        if self.problem.objective == "latency":
            return cycles, outer + inner
        if self.problem.objective == "bytes":
            return outer + inner, cycles
        per_byte = [self.outer.byte_energy(memory.name) for memory in self.problem.memories]
        energy = self.outer.cycle_energy
        same = work + energy.mac * self.layer.macs + energy.cycle * cycles
        return same + outer * per_byte[0] + inner * per_byte[1], cycles

    def least(self, whole: Tables) -> float:
        """A lower bound of all mappings; `whole` are tables of the layer in the inner memory."""
        outer, inner = (
            np.array(float(sum(least_bytes(self.inner, one) for one in some))) for some in (self.held, self.operands)
        )
        overhead, energy = self.outer.overhead, self.outer.cycle_energy
        cycles = overhead + max(least_kernels(whole), least_transfers(self.outer, self.held))
        work = energy.work(0.0, overhead)
        if self.problem.objective == "energy":
            work += least_kernels(whole, energy.kernel, energy.control)
        return BELOW * float(self.keys(np.array(cycles), outer, inner, np.array(work))[0])

    def ranked(self, cost: Cost) -> Rank:
        """The rank of a mapping from its cost."""
        match self.problem.objective:
            case "latency":
                return Rank(cost.cycles, cost.moved_bytes)
            case "bytes":
                return Rank(cost.moved_bytes, cost.cycles)
            case _:
                return Rank(cost.energy or 0.0, cost.cycles)


class BlockSearch(Search):
    """Searches the mapping of all blocks of an outer tile, of these extents, onto the inner memory."""

    def __init__(self, tables: Tables, objective: str, extents: Mapping[Dim, int], held: frozenset[str]) -> None:
        super().__init__(tables, objective)
        self.views_left = PREDICTED
        self.extents = dict(extents)
        self.blocks = [
            (spans, arrays_of(self.prices, spans, held), times) for spans, times in outer_blocks(tables, self.extents)
        ]

    def predicted(self, nest: OrderedLoops) -> Predicted:
        """All outer blocks, one after the other."""
        level = Level(self.prices, nest.loops, nest.placements)
        return self.executed(Nested([level], self.extents))[0]

    def executed(self, inner: Nested) -> tuple[Predicted, float]:
        """All outer blocks with the layer's overhead, and the cycles of the last one."""
        cycles, compute, overhead = self.prices.overhead, 0.0, self.prices.overhead
        moved, last = 0, 0.0
        for spans, arrays, times in self.blocks:
            work = inner.work(spans, arrays)
            cycles, moved, last = cycles + times * work.cycles, moved + times * sum(work.moved), work.cycles
            compute, overhead = compute + times * work.compute, overhead + times * work.overhead
        return Predicted(cycles, compute, overhead, moved), last


def groups_of(tables: Tables, index: Ints, kernels: Floats, last: float = 0.0) -> Iterator[TileGroup]:
    """Outer tiles in groups that cut the same dimensions, with cycles of all kernels and of the last kernel."""
    for dims, rows in tables.by_cuts(index):
        room = np.full(len(rows), tables.prices.memory.size)
        options = residencies(tables.prices.operands, dims, packed=True)
        yield TileGroup(tables, dims, index[:, rows], room, kernels[rows], np.full(len(rows), last), options)


def any_may_win(tile: Ints, bound: Bound) -> Flags:
    """For `TileGroup.bounds`: none is left out."""
    return np.ones(tile.shape, np.bool_)


def outer_blocks(tables: Tables, extents: Mapping[Dim, int]) -> Iterator[tuple[dict[Dim, Span], int]]:
    """The spans of one outer block of each class, and how many there are."""
    for blocks in itertools.product(*(tables.along[dim].blocks for dim in TILED)):
        spans = tables.prices.layer.spans | {dim: span for dim, (span, _) in zip(TILED, blocks, strict=True)}
        yield spans, math.prod(times for _, times in blocks)


def arrays_of(prices: Prices, spans: Mapping[Dim, Span], held: frozenset[str]) -> tuple[Lengths, ...]:
    """How the arrays lie that an outer block is fetched from and written to."""
    return tuple(
        prices.array(number, spans)
        if operand.name in held and operand.role is not Role.CONSTANT
        else array_limits(operand)
        for number, operand in enumerate(prices.operands)
    )
