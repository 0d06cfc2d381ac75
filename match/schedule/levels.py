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

from match.cost import Block, Cost, CostModel
from match.errors import ScheduleError
from match.layer import Dim, Layer, Operand, Role
from match.schedule.blocks import Span, array_limits, axis_length, block_of_lengths
from match.schedule.floors import Floors
from match.schedule.inner_floors import InnerFloors
from match.schedule.mapping import Loop, Memory, Placement, Schedule, parts
from match.schedule.nested import Level, Nested, cost_of
from match.schedule.pricing import Pricing
from match.schedule.rooms import Flags, Ints
from match.schedule.search import Keys, Rank, Search, refusal, rounded
from match.schedule.sieve import Sieve, feasible, with_transfers
from match.schedule.structures import Nest, Nests, Structures
from match.schedule.tiles import TILED, Floats, OuterBlocks, Sizes, TileCosts, candidate_sizes

LARGEST_GRID = 1 << 10
"""Outer tiles that are all candidates; of more, only some sizes of each dimension are. What the others may gain is
reported as the schedule's loss."""

MOST_SEARCHED = 12
"""Outer tiles whose mappings are searched at most, if only some are candidates."""

LARGEST_BOUNDED = 1 << 16
"""Outer tiles that each have a bound of what they may gain; of more there is one bound for all."""

FIRST_SLAB, SLAB = 256, 1 << 10
"""Outer tiles whose bounds are refined at a time."""


@dataclass(frozen=True)
class _Held:
    """One way to hold the outer blocks: what it adds to the core's time, how long the DMA takes, at least.

    `fetched` is what of the DMA's part comes before the last block is mapped or behind it.
    """

    core: float
    dma: float
    fetched: float
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
        self.sizes_inside = {dim: candidate_sizes(layer.size(dim), multiples.get(dim, 1)) for dim in TILED}
        self.thinned = math.prod(len(sizes) for sizes in self.sizes_inside.values()) > LARGEST_GRID
        self.candidates = {dim: _thinned(sizes) if self.thinned else sizes for dim, sizes in self.sizes_inside.items()}
        self.inner_floors = InnerFloors(self.inner_pricing, self.sizes_inside)
        self.floors = Floors(self.costs, self.candidates)
        names = (outer.name, inner.name)
        self.energies = [self.pricing.byte_energy(name) for name in names] if objective == "energy" else None
        self.gapless = self.inner_pricing.gapless()
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
        for searched, tile in enumerate(self.promising(sieve)):
            if searched >= MOST_SEARCHED and self.thinned and self.rank is not None:
                break
            InnerSearch(self, tile).run()
        if self.rank is None or self.schedule is None:
            raise refusal(TileCosts(self.inner_pricing), self.sizes_inside)
        return replace(self.schedule, loss=max(0.0, self.rank.objective - self.least()) if self.thinned else 0.0)

    def least(self) -> float:
        """What no mapping has less of, of all outer tiles that fit, candidates or not."""
        if math.prod(len(sizes) for sizes in self.sizes_inside.values()) > LARGEST_BOUNDED:
            outer = [
                self.floors.sums(n, frozenset(), np.array([self.costs.whole])).transfer[0]
                for n in range(len(self.held))
            ]
            cycles = self.pricing.overhead + max(self.inner_floors.least, sum(outer) if self.pricing.overlap else 0.0)
            bounds = np.array([cycles]), np.array([float(sum(self.floors.least_moved))])
        else:
            floors = Floors(self.costs, self.sizes_inside)
            sieve = self.bounded(feasible(self.costs, floors, self.sizes_inside))
            sieve = with_transfers(sieve, self.costs, floors)
            bounds = sieve.cycles, sieve.moved
        return float(self.keys(*bounds, np.zeros(()))[0].min())

    def sieve(self) -> Sieve:
        """The outer tiles that fit, with bounds of what any mapping costs."""
        return self.bounded(feasible(self.costs, self.floors, self.candidates))

    def bounded(self, sieve: Sieve) -> Sieve:
        """The same outer tiles with bounds of what they take on the inner memory."""
        inner = self.inner_floors.cycles(sieve.tiles, self.full_blocks(sieve.tiles))
        return replace(sieve, cycles=np.maximum(sieve.cycles, self.inner_pricing.overhead + inner))

    def full_blocks(self, tiles: Ints) -> Ints:
        """How many blocks of the full size outer tiles make."""
        return np.prod(np.array(self.costs.whole) // tiles, axis=1)

    def promising(self, sieve: Sieve) -> Iterator[Sizes]:
        """Outer tiles that may have a mapping better than the best so far."""
        objective, second = self.keys(sieve.cycles, sieve.moved, np.zeros(len(sieve)))
        order = np.lexsort((-sieve.tiles.prod(axis=1), second, objective))
        begin, end = 0, FIRST_SLAB
        while begin < len(order):
            rows = order[begin:end]
            rows = rows[self.may_win(objective[rows], second[rows])]
            if not len(rows):
                return
            slab = self.refined(sieve.select(rows))
            bounds = self.keys(slab.cycles, slab.moved, np.zeros(len(slab)))
            for row in np.lexsort((-slab.tiles.prod(axis=1), bounds[1], bounds[0])).tolist():
                if not self.may_win(bounds[0][row : row + 1], bounds[1][row : row + 1])[0]:
                    break
                yield tuple(slab.tiles[row].tolist())
            begin, end = end, end + SLAB

    def refined(self, sieve: Sieve) -> Sieve:
        """The same tiles with higher bounds."""
        inner = self.inner_floors.refined(sieve.tiles, self.full_blocks(sieve.tiles))
        cycles = np.maximum(sieve.cycles, self.inner_pricing.overhead + inner)
        return with_transfers(replace(sieve, cycles=cycles, tail=self.tail(sieve.tiles)), self.costs, self.floors)

    def tail(self, tiles: Ints) -> Floats:
        """Cycles of the last block of each outer tile: a kernel call at least."""
        pricing, ends = self.gapless, (np.array(self.costs.whole) - 1) // tiles * tiles
        spans = zip(ends.tolist(), (np.array(self.costs.whole) - ends).tolist(), strict=True)
        return pricing.launch + np.array(
            [
                pricing.kernel(k, (oy, pricing.rows.span(y, oy)[1]), (ox, pricing.columns.span(x, ox)[1]))
                for (_, y, x), (k, oy, ox) in spans
            ]
        )

    def may_win(self, objective: Floats, second: Floats) -> Flags:
        """Which of these bounds leave room for a mapping better than the best so far; of equals, the first is kept."""
        if self.rank is None:
            return np.ones(len(objective), np.bool_)
        return (objective < self.rank.objective) | ((objective == self.rank.objective) & (second < self.rank.second))

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
                dma, fetched, moved = (float(bound[row]) for bound in (nests.dma, nests.fetched, nests.moved))
                result.append(_Held(core, dma, fetched, moved, nests.nest(row)))
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
        self.last = TileCosts(parent.inner_pricing, OuterBlocks(tile, parent.held, last=True))
        self.ways = parent.ways(tile)
        self.front = _front(self.ways)
        self.least_moved = np.array(min(way.moved for way in self.ways))
        self.tail = parent.tail(np.array([tile]))
        self._arrivals: dict[tuple[int, ...], float] = {}
        self.tile = dict(zip(TILED, tile, strict=True))
        self.blocks = list(_blocks(parent.pricing, self.tile))

    def run(self) -> None:
        """Try every mapping that may be better than the best so far."""
        for _, tiles in self.promising(feasible(self.costs, self.floors, self.candidates)):
            self.try_tiles(tiles)

    def keys(self, cycles: Floats, moved: Floats) -> Keys:
        """With the least that the outer memory adds."""
        return self.keys_before(cycles, moved, self.tail, np.zeros(()))

    def keys_before(self, cycles: Floats, moved: Floats, last: Floats, fetched: Floats) -> Keys:
        """With the least that the outer memory adds.

        `last` are the cycles of the last block, which begins when outer transfers have taken `fetched` at least.
        """
        totals = np.minimum.reduce([_total(way, cycles, last) for way in self.front])
        return self.parent.keys(np.maximum(totals, fetched + last), self.least_moved, moved)

    def bounded(self, tiles: Ints, cut: tuple[Dim, ...]) -> Iterator[tuple[Nests, Keys, Keys]]:
        """See `Search.bounded`."""
        both = zip(Structures(self.costs, tiles, cut).nests(), Structures(self.last, tiles, cut).nests(), strict=True)
        for nests, lasts in both:
            fetched = self.packed(nests, tiles) if self.pricing.overlap else np.zeros(())
            keys = self.keys_before(nests.cycles, nests.moved, lasts.cycles - self.pricing.overhead, fetched)
            yield nests, keys, keys

    def packed(self, nests: Nests, tiles: Ints) -> Floats:
        """When all constants have arrived in the outer memory, packed as the inner mapping wants them, at least."""
        result = np.zeros(len(nests.tile))
        for number, operand in enumerate(self.pricing.operands):
            if operand.role is not Role.CONSTANT or operand.name not in self.parent.held:
                continue
            dims = [dim for dim in TILED if dim in operand.dims]
            if not dims:
                result += self.arrival(number, {})
                continue
            for inside, rows in nests.inside(number):
                sizes = [
                    tiles[nests.tile[rows], TILED.index(dim)] if dim in inside else np.full(len(rows), self.tile[dim])
                    for dim in dims
                ]
                kinds, which = np.unique(np.stack(sizes, 1), axis=0, return_inverse=True)
                cycles = [self.arrival(number, dict(zip(dims, kind, strict=True))) for kind in kinds.tolist()]
                result[rows] += np.array(cycles)[which.reshape(-1)]
        return result + self.pricing.overhead

    def arrival(self, number: int, inner: Mapping[Dim, int]) -> float:
        """DMA cycles to the outer memory of an operand's constants, in inner blocks of these extents, all at once."""
        key = number, *inner.values()
        known = self._arrivals.get(key)
        if known is None:
            pricing, sizes = self.parent.pricing, self.parent.sizes
            operand, extents = pricing.operands[number], {**sizes, **inner}
            counts = {dim: parts(sizes[dim], [self.tile[dim], size]) for dim, size in inner.items()}
            lengths = [axis_length(operand, axis, (0, 0), extents[axis.dim]) for axis in pricing.axes[number]]
            piece = block_of_lengths(operand, lengths, self.pricing.memory)
            shape = tuple(
                length * counts.get(axis.dim, 1)
                for length, axis in zip(piece.shape, operand.components[0].axes, strict=True)
            )
            size = piece.bytes * math.prod(counts.values())
            known = pricing.transfer(Block(operand.name, shape, size, 1, memory=pricing.memory.name)).transfer
            self._arrivals[key] = known
        return known

    def may_win(self, objective: Floats, second: Floats) -> Flags:
        """See `OuterSearch.may_win`."""
        return self.parent.may_win(objective, second)

    def try_nest(self, nest: Nest) -> None:
        """Predict a mapping with every way to hold the outer blocks that may still win."""
        parent = self.parent
        level = Level(self.pricing, nest.loops, nest.placements)
        inner = Nested([level], parent.sizes | self.tile)
        least, last, moved = self._executed(inner)
        for way in self.ways:
            cycles = _total(way, np.array([least]), np.array([last]))
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

    def _executed(self, inner: Nested) -> tuple[float, float, float]:
        """When all outer blocks are mapped, as small as they are: cycles, those of the last block, bytes moved.

        The cycles of all include the layer's overhead.
        """
        cycles, last, moved = self.pricing.overhead, 0.0, 0
        for spans, times in self.blocks:
            work = inner.work(spans, self._arrays(spans))
            cycles += times * work.cycles
            moved += times * sum(work.moved)
            last = work.cycles  # the last of the last kind
        return cycles, last, moved

    def _arrays(self, spans: Mapping[Dim, Span]) -> tuple[tuple[int, ...], ...]:
        return tuple(
            tuple(axis_length(operand, axis, spans[axis.dim], 0) for axis in axes)
            if operand.name in self.parent.held and operand.role is not Role.CONSTANT
            else array_limits(operand)
            for operand, axes in zip(self.pricing.operands, self.pricing.axes, strict=True)
        )


def _thinned(sizes: Ints) -> Ints:
    """Of tile sizes the whole, the least for each number of tiles, and the next that are multiples of 4 and of 16."""
    whole = sizes[-1]
    fewest: Ints = -(-whole // np.arange(1, whole + 1, dtype=np.int64))
    least = sizes[np.searchsorted(sizes, fewest)]
    return np.unique([sizes[np.searchsorted(sizes, np.minimum(whole, -(-least // n) * n))] for n in (1, 4, 16)])


def _total(way: _Held, cycles: Floats, last: Floats) -> Floats:
    """Lower bound of a mapping's latency from those of all its outer blocks, and of the last one."""
    return np.maximum(np.maximum(cycles + way.core, way.dma), way.fetched + last)


def _front(ways: list[_Held]) -> list[_Held]:
    """Those that no other is below of in all bounds."""
    result: list[_Held] = []
    for way in ways:
        if all(way.dma < other.dma or way.fetched < other.fetched for other in result):
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
