"""The exhaustive engine: the best of all mappings under the predicted cost, found without trying most of them.

Every integer tile size of K, OY and OX is a candidate, and of C each that the module can add up: kernels round work
up in their own ways, so that no size can be left out for having the same number of tiles as another. With it go every
loop order, every depth of every operand and one or two buffers each. What keeps the search short are bounds, each
below the predicted cost of what it stands for and each dearer than the one before: of tiles by themselves (`feasible`),
of tiles with transfers (`with_transfers`), of mappings from the costs of simpler tilings (`Structures` on `Floors`) and
from those of their own tiles (`Structures`). What a bound puts behind the best mapping known is dropped; the rest is
predicted, the most promising first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from match.cost import CostModel
from match.errors import ScheduleError
from match.layer import Dim, Layer, Operand
from match.schedule.engine import check_objective
from match.schedule.floors import Floors
from match.schedule.mapping import Memory, Schedule
from match.schedule.predict import latency
from match.schedule.pricing import Pricing
from match.schedule.rooms import Ints
from match.schedule.sieve import Sieve, feasible, with_transfers
from match.schedule.structures import Nest, Nests, Structures
from match.schedule.tiles import TILED, Floats, TileCosts, candidate_sizes

GRAIN = 256
"""Latencies are compared in units of 1 / GRAIN cycles, so that the order of additions decides nothing."""

FIRST_SLAB, SLAB = 256, 1 << 14
"""Tiles whose bounds are refined at a time: few at first, to have a mapping to compare with."""

FIRST_CHUNK, CHUNK = 8, 256
"""Tiles whose mappings are enumerated at a time."""


@dataclass(frozen=True)
class ExactEngine:
    """Finds a mapping whose predicted cost no other has less of; among equals, by `_Rank`."""

    def search(
        self,
        layer: Layer,
        operands: tuple[Operand, ...],
        memories: tuple[Memory, ...],
        cost_model: CostModel,
        objective: str = "latency",
        multiples: Mapping[Dim, int] | None = None,
    ) -> Schedule:
        """See `Engine.search`."""
        check_objective(objective)
        if len(memories) != 1:
            raise ScheduleError(
                f"layer {layer.name}: the exact engine maps onto one level of scratchpad, not {len(memories)}."
            )
        nest = _Search(Pricing(layer, operands, memories[0], cost_model), objective, multiples or {}).best()
        return nest.schedule(layer, operands, memories, cost_model)


class _Rank(NamedTuple):
    """How good a mapping is, the least being best.

    The objective comes first, then what else it costs (bytes, or cycles), larger tiles, K before OY before OX,
    operands further out, fewer buffers.
    """

    objective: float
    second: float
    volume: int
    order: tuple[int, ...]
    placements: tuple[tuple[int, int], ...]
    tile: tuple[int, ...]


class _Search:
    def __init__(self, pricing: Pricing, objective: str, multiples: Mapping[Dim, int]) -> None:
        self.pricing = pricing
        self.by_latency = objective == "latency"
        self.costs = TileCosts(pricing)
        if not any(operand.partial_bytes for operand in pricing.operands):
            multiples = {**multiples, Dim.C: 0}
        self.candidates = {dim: candidate_sizes(pricing.layer, dim, multiples) for dim in TILED}
        self.floors = Floors(self.costs, self.candidates) if pricing.cost_model.regular else None
        self.rank: _Rank | None = None
        self.nest: Nest | None = None

    def best(self) -> Nest:
        for tiles in self.promising():
            self.try_tiles(tiles)
        if self.nest is None:
            raise self.refusal()
        return self.nest

    def refusal(self) -> ScheduleError:
        """Why not even the smallest tile fits."""
        lacking: list[tuple[str, int, int]] = []
        for reduced in self.candidates[Dim.C].tolist():
            smallest = np.array([[reduced if dim is Dim.C else self.candidates[dim][0] for dim in TILED]])
            needs = [int(need) for need in self.costs.blocks({dim: smallest[0, n] for n, dim in enumerate(TILED)})]
            lack = self.costs.rooms.lacking(needs, int(self.costs.taken(smallest)[0]))
            assert lack is not None, "the smallest tile fits, and so has mappings"
            lacking.append(lack)
        where, needed, there = min(lacking, key=lambda lack: lack[1])
        return ScheduleError(
            f"layer {self.pricing.layer.name} needs at least {needed} bytes of {where}, {there} are there."
        )

    def promising(self) -> Iterator[Ints]:
        """Tiles that may have a mapping better than the best so far, a few at a time, shape (n, 4).

        Those with all input channels come first: the others rarely win, and most need no more than a look then.
        """
        *parts, whole = self.candidates[Dim.C]
        yield from self.sifted({**self.candidates, Dim.C: np.array([whole])})
        if parts:
            yield from self.sifted({**self.candidates, Dim.C: np.array(parts)})

    def sifted(self, candidates: Mapping[Dim, Ints]) -> Iterator[Ints]:
        """Of these tiles."""
        sieve = feasible(self.costs, self.floors, candidates)
        for rows in self.ordered(sieve, FIRST_SLAB, SLAB):
            slab = sieve.select(rows)
            if self.floors is not None:
                most_moved = math.inf if self.by_latency or self.rank is None else self.rank.objective
                slab = with_transfers(slab, self.costs, self.floors, most_moved)
            for chunk in self.ordered(slab, FIRST_CHUNK, CHUNK):
                yield slab.tiles[chunk]

    def ordered(self, sieve: Sieve, first: int, others: int) -> Iterator[Ints]:
        """Rows of a sieve, the best bounds first, `first` and then `others` at a time, until none may be better."""
        objective, second = self.keys(sieve.cycles, sieve.moved)
        order = np.lexsort((-sieve.tiles.prod(axis=1), second, objective))
        begin, end = 0, first
        while begin < len(order):
            rows = order[begin:end]
            rows = rows[self.may_win(objective[rows], second[rows])]
            if not len(rows):
                return
            yield rows
            begin, end = end, end + others

    def keys(self, cycles: Floats, moved: Floats) -> tuple[Floats, Floats]:
        """The first two entries of `_Rank`."""
        rounded = np.round(cycles * GRAIN) / GRAIN
        return (rounded, moved) if self.by_latency else (moved, rounded)

    def may_win(self, objective: Floats, second: Floats) -> npt.NDArray[np.bool_]:
        """Which of these bounds leave room for a mapping better than the best so far."""
        if self.rank is None:
            return np.ones(len(objective), np.bool_)
        return (objective < self.rank.objective) | ((objective == self.rank.objective) & (second <= self.rank.second))

    def try_tiles(self, tiles: Ints) -> None:
        """Try the mappings of some tiles, those with the least bounds first."""
        found: list[tuple[float, float, Nests, int]] = []
        cuts = (tiles < np.array(self.costs.whole)) @ (1 << np.arange(len(TILED)))
        for cut in np.unique(cuts).tolist():
            dims = tuple(dim for n, dim in enumerate(TILED) if cut >> n & 1)
            left = self.worth_asking(tiles[cuts == cut], dims)
            for nests in Structures(self.costs, left, dims).nests() if len(left) else ():
                objective, second = self.keys(nests.cycles, nests.moved)
                rows = np.nonzero(self.may_win(objective, second))[0].tolist()
                found += [(float(objective[row]), float(second[row]), nests, row) for row in rows]
        found.sort(key=lambda entry: entry[:2])
        for objective, second, nests, row in found:
            if self.rank is not None and objective > self.rank.objective:
                return
            if self.rank is None or (objective, second) <= self.rank[:2]:
                self.try_nest(nests.nest(row))

    def worth_asking(self, tiles: Ints, cut: tuple[Dim, ...]) -> Ints:
        """The tiles, of some that cut `cut`, whose own costs must be known to tell whether they can win."""
        if self.floors is None or self.rank is None:
            return tiles
        worth = np.zeros(len(tiles), np.bool_)
        for nests in Structures(self.costs, tiles, cut, self.floors).nests():
            worth[nests.tile[self.may_win(*self.keys(nests.cycles, nests.moved))]] = True
        return tiles[worth]

    def try_nest(self, nest: Nest) -> None:
        """Predict a mapping and keep it if it is the best so far."""
        cost = latency(self.pricing, nest.loops, nest.placements)
        objective, second = self.keys(np.array(cost.cycles), np.array(float(cost.moved_bytes)))
        extents = {**self.costs.extents, **{loop.dim: loop.tile for loop in nest.loops}}
        tile = tuple(extents[dim] for dim in TILED)
        rank = _Rank(
            float(objective),
            float(second),
            -math.prod(tile),
            tuple(TILED.index(loop.dim) for loop in nest.loops),
            tuple((placement.depth, placement.buffers) for placement in nest.placements),
            tuple(-size for size in tile),
        )
        if self.rank is None or rank < self.rank:
            self.rank, self.nest = rank, nest
