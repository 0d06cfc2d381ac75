"""The engine of the MATCH paper: ZigZag's LOMA proposes loop orders and allocations, our cost model chooses.

LOMA (Symons et al., AICAS 2021) cuts loops along their prime factors, so that every tile divides its dimension. It
multiplies the smallest factors until there are at most `lpf_limit`, six in the MATCH paper. It is asked with and
without double buffers. What it proposes is turned into our mappings: the loops above the scratchpad of any operand
become outer loops, and those of one dimension are merged at the place of the outermost. An operand is fetched inside as
many of them as lie above its own scratchpad. Each mapping is checked in real bytes: ZigZag counts unique indices, and
knows no alignment and no growing scratch. It is tried with one and two buffers wherever these fit, and priced like any
other mapping.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from match.errors import NoMappingError, ScheduleError
from match.ir.layer import Dim
from match.mapping.schedule import REDUCTIONS, Loop, Placement, Schedule
from match.prediction.predict import latency
from match.prediction.prices import Prices
from match.search.baselines.one_memory import only_memory
from match.search.baselines.zigzag import Nesting, Rooms, nestings
from match.search.objective import check_objective
from match.search.problem import SearchProblem

FOURTHS = 4
"""Where none of ZigZag's mappings fits in real bytes, it is told of a fourth less of the memory."""


@dataclass(frozen=True)
class LomaEngine:
    """Takes the mapping of the least predicted cost among those that LOMA finds with `lpf_limit` prime factors."""

    lpf_limit: int = 6

    def search(self, problem: SearchProblem) -> Schedule:
        """See `Engine.search`."""
        layer, cost_model = problem.layer, problem.cost_model
        check_objective(problem.objective, cost_model=cost_model)
        memory = only_memory(problem, "loma")
        pricing = Prices(layer, problem.operands, memory, cost_model)
        search = _Search(pricing, dict(problem.multiples), self.lpf_limit)
        for rooms in search.rooms():
            nests = dict.fromkeys(search.nest(nesting) for nesting in search.nestings(rooms))
            found = [schedule for nest in nests for schedule in search.schedules(nest)]
            if found:
                return min(found, key=lambda schedule: search.rank(schedule, problem.objective))
        raise NoMappingError(
            layer.name, f"has no mapping that LOMA finds, along divisors, in the {memory.size} bytes of {memory.name}"
        )


class _Search:
    def __init__(self, pricing: Prices, multiples: Mapping[Dim, int], lpf_limit: int) -> None:
        self.pricing = pricing
        self.layer = pricing.layer
        self.multiples = multiples
        self.lpf_limit = lpf_limit
        self.whole = self.layer.extents
        self.unrolled = {dim: self.granularity(dim) for dim in Dim}
        self.buffers = (1, 2) if pricing.overlap else (1,)

    def granularity(self, dim: Dim) -> int:
        """The part of a dimension that every tile has: all of a reduction and of what cannot be tiled."""
        multiple = 0 if dim in REDUCTIONS else self.multiples.get(dim, 1)
        return min(multiple or self.whole[dim], self.whole[dim])

    def rooms(self) -> Iterator[Rooms]:
        """The memory to tell ZigZag of, one after the other until some of its mappings fit.

        First all but the scratch of the whole layer, where that is not much more than that of the smallest tile; then
        fourths of what the smallest tile leaves.
        """
        memory = self.pricing.memory
        most, left = (memory.size - self.pricing.scratch(tile) for tile in (self.whole, self.unrolled))
        if FOURTHS * most >= (FOURTHS - 1) * left:
            yield Rooms(most, dict(memory.private))
        for share in range(FOURTHS - (left == most), 0, -1):
            yield Rooms(left * share // FOURTHS, {name: size * share // FOURTHS for name, size in memory.private})

    def nestings(self, rooms: Rooms) -> Iterator[Nesting]:
        """What LOMA finds there, once without and once with double buffers; bytes of alignment are left free."""
        operands = self.pricing.operands
        gaps = self.pricing.memory.alignment * sum(len(operand.components) for operand in operands)
        for buffers in self.buffers:
            left = Rooms(rooms.shared - buffers * gaps, rooms.private)
            yield from nestings(self.layer, operands, self.unrolled, left, buffers == 2, self.lpf_limit)

    def nest(self, nesting: Nesting) -> tuple[tuple[Loop, ...], tuple[int, ...]]:
        """The loops above the scratchpad of some operand, one for each dimension, and depths in the operands' order.

        An operand whose layout cannot be divided is fetched inside all loops that cut it.
        """
        cut = max(nesting.outside)
        tiles = dict(self.unrolled)
        for dim, factor in nesting.loops[cut:]:
            tiles[dim] *= factor
        order = dict.fromkeys(dim for dim, _ in nesting.loops[:cut])
        loops = tuple(Loop(dim, tiles[dim], self.whole[dim]) for dim in order if tiles[dim] < self.whole[dim])
        depths: list[int] = []
        for operand, outside in zip(self.pricing.operands, nesting.outside, strict=True):
            above = operand.dims & {dim for dim, _ in nesting.loops[:outside]} | operand.indivisible_dims
            depths.append(max((depth for depth, loop in enumerate(loops, 1) if loop.dim in above), default=0))
        return loops, tuple(depths)

    def schedules(self, nest: tuple[tuple[Loop, ...], tuple[int, ...]]) -> Iterator[Schedule]:
        """The mappings with these loops and depths that fit: one or two buffers for each operand."""
        loops, depths = nest
        scratch = self.pricing.scratch(self.whole | {loop.dim: loop.tile for loop in loops})
        memory = self.pricing.memory
        for buffers in itertools.product(*(self.buffers if depth else (1,) for depth in depths)):
            placements = tuple(
                Placement(operand.name, memory.name, depth, count)
                for operand, depth, count in zip(self.pricing.operands, depths, buffers, strict=True)
            )
            try:
                yield Schedule(self.layer, self.pricing.operands, (memory,), loops, placements, scratch)
            except ScheduleError:  # too large in real bytes
                continue

    def rank(self, schedule: Schedule, objective: str) -> tuple[float, float, int]:
        """The order of preference: the objective, what else it costs, larger tiles; the first found among equals."""
        memory = self.pricing.memory
        placements = [schedule.placement(operand.name, memory) for operand in self.pricing.operands]
        cost = latency(self.pricing, schedule.loops, placements)
        cycles, moved = cost.cycles, float(cost.moved_bytes)
        energy = cycles if cost.energy is None else cost.energy
        first, second = {"latency": (cycles, moved), "energy": (energy, cycles), "bytes": (moved, cycles)}[objective]
        return first, second, -math.prod(schedule.extents(len(schedule.loops)).values())
