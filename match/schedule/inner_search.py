"""The exhaustive search over the mappings onto an inner memory of the blocks of one outer tile."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from match.cost import Block, Cost
from match.layer import Dim, Role
from match.schedule.blocks import Span, array_limits, axis_length, block_of_lengths
from match.schedule.mapping import parts
from match.schedule.nested import Level, Nested, cost_of
from match.schedule.pricing import Pricing
from match.schedule.rooms import Flags, Ints
from match.schedule.search import Keys, Search
from match.schedule.sieve import Sieve, with_transfers
from match.schedule.structures import Nest, Nests, Structures
from match.schedule.tiles import TILED, Floats, OuterBlocks, Sizes, TileCosts
from match.schedule.two_memories import Held, TwoMemories, total_cycles


CHUNK = 64
"""Inner tiles whose mappings are enumerated at a time."""


@dataclass
class Effort:
    """How many mappings may still be predicted, and the mappings of how many inner tiles bounded."""

    mappings: int
    tiles: int

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self.mappings <= 0 or self.tiles <= 0


class InnerSearch(Search):
    """Searches the mappings onto the inner memory of the blocks of one outer tile, for the best mapping of all."""

    def __init__(
        self, parent: TwoMemories, tile: Sizes, ways: list[Held], candidates: Mapping[Dim, Ints], effort: Effort
    ) -> None:
        super().__init__(parent.inner_pricing, "latency", parent.multiples, OuterBlocks(tile, parent.held))
        self.candidates = dict(candidates)
        self.parent = parent
        self.rank = parent.rank
        self.effort = effort
        self.last = TileCosts(parent.inner_pricing, OuterBlocks(tile, parent.held, last=True))
        self.ways = ways
        self.front = _front(self.ways)
        self.least_moved = np.array(min(way.moved for way in self.ways))
        self.tail = parent.tail(np.array([tile]))
        self._arrivals: dict[tuple[int, ...], float] = {}
        self.tile = dict(zip(TILED, tile, strict=True))
        self.blocks = list(_blocks(parent.pricing, self.tile))

    def run(self) -> bool:
        """Try mappings that may be better than the best so far, as long as there is effort left; whether all."""
        for sieve in self.sieves():
            for _, tiles in self.promising(sieve):
                if self.effort.spent and self.rank is not None:
                    return False
                self.effort.tiles -= len(tiles)
                self.try_tiles(tiles)
                if self.effort.mappings <= 0 and self.rank is not None:
                    return False
        return True

    def promising(self, sieve: Sieve) -> Iterator[tuple[float, Ints]]:
        """See `Search.promising`: there are few tiles, `candidates` being what bounds have left."""
        assert self.floors is not None, "the cost model is regular"
        slab = with_transfers(sieve, self.costs, self.floors)
        for chunk in self.ordered(slab, CHUNK, CHUNK):
            tiles = self.with_kernels(slab.select(chunk), (2, 3, 4)).tiles
            yield float(self.keys(slab.cycles[chunk], slab.moved[chunk])[0][0]), tiles

    def keys(self, cycles: Floats, moved: Floats) -> Keys:
        """With the least that the outer memory adds."""
        return self.keys_before(cycles, moved, self.tail, np.zeros(()))

    def keys_before(self, cycles: Floats, moved: Floats, last: Floats, fetched: Floats) -> Keys:
        """With the least that the outer memory adds.

        `last` are the cycles of the last block, which begins when outer transfers have taken `fetched` at least.
        """
        totals = np.minimum.reduce([total_cycles(way, cycles, last) for way in self.front])
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
        """See `TwoMemories.may_win`."""
        return self.parent.may_win(objective, second)

    def try_nest(self, nest: Nest) -> None:
        """Predict a mapping with every way to hold the outer blocks that may still win."""
        parent = self.parent
        level = Level(self.pricing, nest.loops, nest.placements)
        inner = Nested([level], parent.sizes | self.tile)
        least, last, moved = self._executed(inner)
        totals = [total_cycles(way, np.array([least]), np.array([last])) for way in self.ways]
        for cycles, way in sorted(zip(totals, self.ways, strict=True), key=lambda pair: (float(pair[0][0]), pair[1].moved)):
            if self.may_win(*parent.keys(cycles, np.array([way.moved]), np.array([moved])))[0]:
                outer = Level(parent.pricing, way.nest.loops, parent.placements(way.nest))
                self._try((outer, level), inner)

    def _try(self, levels: tuple[Level, Level], inner: Nested) -> None:
        """Predict a mapping, if it fits, and keep it if it is the best so far."""
        loops = tuple(replace(loop, level=number) for number, level in enumerate(levels) for loop in level.loops)
        first = len(levels[0].loops)
        placements = tuple(p for p in levels[0].placements if p is not None)
        placements += tuple(replace(p, depth=p.depth + first) for p in levels[1].placements if p is not None)
        schedule = self.parent.mapping(loops, placements)
        if schedule is not None:
            self.effort.mappings -= 1
            self.parent.keep(schedule, cost_of(levels, Nested(levels, self.parent.sizes, inner)))
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


def _front(ways: list[Held]) -> list[Held]:
    """Those that no other is below of in all bounds."""
    result: list[Held] = []
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
