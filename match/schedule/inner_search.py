"""The exhaustive search over the mappings onto an inner memory of the blocks of one outer tile."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from match.ir.layer import Dim, Role
from match.schedule.blocks import Span, array_limits
from match.schedule.inner_floors import InnerTiles
from match.schedule.kinds import Along
from match.schedule.nested import Level, Nested, cost_of
from match.schedule.pricing import Lengths, Pricing
from match.schedule.rooms import Flags, Floats, Ints
from match.schedule.search import Keys, Search
from match.schedule.sieve import Sieve, even_sizes
from match.schedule.structures import Nest, Nests, Structures
from match.schedule.tiles import TILED, AlongKey, OuterBlocks, Sizes, TileCosts
from match.schedule.transfer_floors import with_transfers
from match.schedule.two_memories import OuterWay, TwoMemories, least_ways, total_cycles

FIRST_SLAB, SLAB, CHUNK = 1 << 8, 1 << 10, 1 << 6
"""Inner tiles whose transfers, and whose mappings, are bounded at a time."""

SIFTED = 1 / 16
"""What bounding the transfers of an inner tile takes, as a part of bounding its mappings."""


@dataclass
class Effort:
    """How many mappings may still be predicted, and the mappings of how many inner tiles bounded.

    A mapping of outer blocks counts once by itself, and once in each way to hold these that it is predicted with. A
    tile whose transfers alone are bounded counts as `SIFTED` of one. `bounded` is how many were.
    """

    mappings: float
    tiles: float
    bounded: float = 0.0

    def bound(self, tiles: float) -> None:
        """Spend it on so many tiles."""
        self.tiles -= tiles
        self.bounded += tiles

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.mappings <= 0 or self.tiles <= 0


class InnerSearch(Search):
    """Searches the mappings onto the inner memory of the blocks of one outer tile, for the best mapping of all.

    `known` is what searches of other outer tiles of the layer share. So many inner tiles as `grid` are all candidates;
    of more, only those with `even_sizes`, unless there is no mapping with these. `thinned` says that it was so.
    """

    def __init__(
        self,
        parent: TwoMemories,
        tile: Sizes,
        ways: list[OuterWay],
        inside: InnerTiles,
        effort: Effort,
        known: dict[AlongKey, Along],
        grid: float = math.inf,
    ) -> None:
        costs = TileCosts(parent.inner_pricing, OuterBlocks(tile, parent.held), known=known)
        super().__init__(costs, inside.sizes, "latency", parent.listings)
        self.rank = parent.rank
        self.parent = parent
        self.inside = inside
        self.effort = effort
        self.grid = grid
        self.thinned = False
        self.ways = ways
        self.least = least_ways(ways)
        self.least_moved = np.array(min(way.moved for way in ways))
        self.tail = parent.tail(np.array([tile]))
        self.tile = dict(zip(TILED, tile, strict=True))

    @cached_property
    def blocks(self) -> list[tuple[dict[Dim, Span], tuple[Lengths, ...], int]]:
        """Outer blocks that look different, how the arrays lie that hold them, and how many look the same."""
        return [(spans, self._arrays(spans), times) for spans, times in _blocks(self.parent.pricing, self.tile)]

    def run(self) -> bool:
        """Try mappings of candidates that may be better than the best so far, as long as there is effort left.

        Returns whether it was all of them.
        """
        assert self.floors is not None, "two memories need them"
        every = self.candidates
        if math.prod(map(len, every.values())) > self.grid:
            self.candidates = even_sizes(self.costs, self.floors, every)
            complete = self.try_candidates()
            self.thinned = self.rank is not None
            if self.thinned:
                return complete
            self.candidates = every
        return self.try_candidates()

    def try_candidates(self) -> bool:
        """See `run`."""
        for sieve in self.sieves(crowd=math.inf):
            for _, tiles in self.promising(sieve):
                self.effort.bound(len(tiles))
                self.try_tiles(tiles)
                if self.tired:
                    return False
        return True

    @property
    def tired(self) -> bool:
        """Whether there was enough effort, with a mapping to show for it."""
        return self.effort.spent and self.rank is not None

    def promising(self, sieve: Sieve) -> Iterator[tuple[float, Ints]]:
        """See `Search.promising`; no bound comes with them, as what is left out is bounded by the outer tile's."""
        assert self.floors is not None, "two memories need them"
        slabs = (FIRST_SLAB, SLAB) if self.rank is None else (SLAB,)
        overhead = self.pricing.overhead
        least = overhead + self.inside.cycles(sieve.tiles, sieve.cycles - overhead)
        left = np.nonzero(self.may_win(*self.keys(least, sieve.moved)))[0]
        sieve, least = sieve.select(left), least[left]
        self.floors = self.floors.among({dim: np.unique(sieve.tiles[:, n]) for n, dim in enumerate(TILED)})
        if len(sieve) <= CHUNK:
            yield -math.inf, sieve.tiles
            return
        for rows in self.ordered(replace(sieve, cycles=least), slabs):
            if self.tired:
                yield -math.inf, sieve.tiles[:0]  # there is more
                return
            self.effort.bound(SIFTED * len(rows))
            slab = with_transfers(sieve.select(rows), self.costs, self.floors, self.listings.starts)
            slab = replace(slab, cycles=np.maximum(slab.cycles, least[rows]))
            for chunk in self.ordered(slab, (CHUNK,)):
                yield -math.inf, self.with_kernels(slab.select(chunk), (2, 3, 4)).tiles

    def keys(self, cycles: Floats, moved: Floats) -> Keys:
        """With the least that the outer memory adds."""
        return self.parent.keys(self.totals(cycles, self.tail), self.least_moved, moved)

    def totals(self, cycles: Floats, last: Floats) -> Floats:
        """Cycles with the way to hold the outer blocks that adds least."""
        return np.minimum.reduce([total_cycles(way, cycles, last) for way in self.least])

    def bounded(self, tiles: Ints) -> Iterator[tuple[Nests, Keys, Keys]]:
        """See `Search.bounded`."""
        for nests in Structures(self.costs, tiles, self.listings.residencies).nests(self.wanted()):
            keys = self.keys(nests.cycles, nests.moved)
            yield nests, keys, (keys[0], nests.cycles)

    def may_win(self, objective: Floats, second: Floats) -> Flags:
        """See `TwoMemories.may_win`."""
        return self.parent.may_win(objective, second)

    def try_nest(self, nest: Nest) -> None:
        """Predict a mapping with every way to hold the outer blocks that may still win."""
        parent = self.parent
        self.effort.mappings -= 1
        self.views_left = self.effort.mappings if self.rank is not None else math.inf
        level = Level(self.pricing, nest.loops, nest.placements)
        inner = Nested([level], parent.sizes | self.tile)
        least, last, moved = self._executed(inner)
        cycles = [float(total_cycles(way, least, last)) for way in self.ways]
        outer = np.array([way.moved for way in self.ways])
        keys = parent.keys(np.array(cycles), outer, np.array(float(moved)))
        bounds = list(zip(*(figures.tolist() for figures in keys), strict=True))
        for row in sorted(range(len(cycles)), key=lambda row: (cycles[row], outer[row])):
            if self.rank is None or bounds[row] < self.rank[:2]:
                if self.tired:
                    break
                nest = self.ways[row].nest
                self._try((Level(parent.pricing, nest.loops, parent.placements(nest)), level), inner)

    def _try(self, levels: tuple[Level, Level], inner: Nested) -> None:
        """Predict a mapping, if it fits, and keep it if it is the best so far."""
        self.effort.mappings -= 1
        loops = tuple(replace(loop, level=number) for number, level in enumerate(levels) for loop in level.loops)
        first = len(levels[0].loops)
        placements = tuple(p for p in levels[0].placements if p is not None)
        placements += tuple(replace(p, depth=p.depth + first) for p in levels[1].placements if p is not None)
        schedule = self.parent.mapping(loops, placements)
        if schedule is not None:
            self.parent.keep(schedule, cost_of(levels, Nested(levels, self.parent.sizes, inner)))
            self.rank = self.parent.rank

    def _executed(self, inner: Nested) -> tuple[float, float, float]:
        """When all outer blocks are mapped, as small as they are: cycles, those of the last block, bytes moved.

        The cycles of all include the layer's overhead.
        """
        cycles, last, moved = self.pricing.overhead, 0.0, 0
        for spans, arrays, times in self.blocks:
            work = inner.work(spans, arrays)
            cycles += times * work.cycles
            moved += times * sum(work.moved)
            last = work.cycles  # the last of the last kind
        return cycles, last, moved

    def _arrays(self, spans: Mapping[Dim, Span]) -> tuple[Lengths, ...]:
        return tuple(
            self.pricing.array(number, spans)
            if operand.name in self.parent.held and operand.role is not Role.CONSTANT
            else array_limits(operand)
            for number, operand in enumerate(self.pricing.operands)
        )


def _blocks(pricing: Pricing, tile: Mapping[Dim, int]) -> Iterator[tuple[dict[Dim, Span], int]]:
    """Blocks of `tile` that look different, and how many look the same."""
    sizes = pricing.layer.extents
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
