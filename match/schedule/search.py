"""The exhaustive search over the mappings onto one memory.

Every integer tile size of K, OY and OX is a candidate, and of C each that the module can add up: kernels round work
up in their own ways, so that no size can be left out for having the same number of tiles as another. With it go every
loop order, every depth of every operand and one or two buffers each. What keeps the search short are bounds, each
below the predicted cost of what it stands for and each dearer than the one before: of tiles by themselves (`feasible`),
of tiles with transfers (`with_transfers`), of their kernels from tilings that cut fewer dimensions (`with_kernels`), of
mappings from the transfers of simpler tilings (`Structures` on `Floors`) and from their own (`Structures`). What a
bound puts behind the best mapping known is dropped; the rest is predicted, the most promising first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from match.errors import NoMappingError
from match.ir.layer import Dim, Operand
from match.schedule.floors import Floors
from match.schedule.predict import latency
from match.schedule.promise import check_regular
from match.schedule.residencies import AllResidencies
from match.schedule.rooms import Floats, Ints
from match.schedule.sieve import Sieve, crowded, feasible, sampled
from match.schedule.starts import AllStarts
from match.schedule.structures import MayWin, Nest, Nests, Structures
from match.schedule.tiles import TILED, TileCosts, smallest
from match.schedule.transfer_floors import with_transfers

GRAIN = 256
"""Latencies and energies are compared in units of 1 / GRAIN cycles or pJ, so that the order of additions decides
nothing."""

MOST_VIEWS = 1 << 12
"""Mappings that a cost model with its own `latency` is asked for at most."""

SAMPLE, CROWD = 1 << 11, 1 << 15
"""Tiles drawn at random that are tried first, of more than a crowd: what they cost drops whole sizes of tiles."""

SLABS = 128, 1 << 12, 1 << 14
"""Tiles whose bounds are refined at a time: few at first, as the better the best mapping is the more these drop."""

CHUNKS = 4, 64, 256
"""Tiles whose mappings are enumerated at a time."""

FEW, MANY = 16, 1 << 9
"""So few tiles are priced at once, as bounds would take longer; of so many, kernels are bounded before transfers are.
"""

SHARE = 1 / 8
"""Of so many tiles, tilings that cut two dimensions may differ in at most this share to be priced that early."""


Keys = tuple[Floats, Floats]
"""The first two entries of `Rank`, for arrays of mappings."""


class Rank(NamedTuple):
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


class Listings(NamedTuple):
    """What searches of a layer list once: how loop orders begin, and how operands may be held."""

    starts: AllStarts
    residencies: AllResidencies

    @staticmethod
    def of(operands: Sequence[Operand]) -> Listings:
        """Those of a layer with these operands, in a memory that kernels read."""
        return Listings(AllStarts(operands), AllResidencies(operands, packed=False))


class Search:
    """Finds a mapping whose predicted cost no other has less of; among equals, by `Rank`.

    Tiles have the sizes of `candidates`. Of costs with outer blocks, mappings are of all these one after the other.
    """

    def __init__(self, costs: TileCosts, candidates: Mapping[Dim, Ints], objective: str, listings: Listings) -> None:
        self.pricing = pricing = costs.pricing
        self.by_latency = objective == "latency"
        self.byte_energy = pricing.byte_energy(pricing.memory.name) if objective == "energy" else None
        self.costs = costs
        self.candidates = candidates
        self.listings = listings
        self.floors = Floors(costs, candidates) if pricing.cost_model.regular else None
        self.rank: Rank | None = None
        self.nest: Nest | None = None
        self.views_left = MOST_VIEWS if pricing.has_latency else math.inf
        self.loss = 0.0

    def best(self) -> Nest:
        """The best mapping.

        Raises:
            ScheduleError: if none fits.
            CostModelError: if the cost model fails, or does not keep its promises.
        """
        sifted = [np.empty((0, len(TILED)), np.int64)]
        for sieve in self.sieves():
            sifted.append(sieve.tiles)
            for least, tiles in self.promising(sieve):
                self.try_tiles(tiles)
                if self.by_latency and self.rank is not None and self.views_left <= 0:
                    self.loss = max(0.0, self.rank.objective - least)
                    break
        if self.nest is None:
            raise refusal(self.costs, self.candidates)
        self.pricing.confirm()
        if self.floors is not None:
            check_regular(self.costs, self.floors, np.concatenate(sifted))
        return self.nest

    def sieves(self, crowd: float = CROWD) -> Iterator[Sieve]:
        """All tiles that fit and may win; of more than a crowd a sample comes before.

        Those with all input channels come before the others, few of which may be better than the best of them. A cost
        model with its own `latency` has them all at once, so that what it is not asked for any more is known.
        """
        *parts, whole = self.candidates[Dim.C].tolist()
        if self.floors and not self.pricing.has_latency and crowded(self.costs, self.candidates, crowd):
            yield sampled(self.costs, self.floors, self.candidates, SAMPLE)
        for sizes in [[*parts, whole]] if self.pricing.has_latency else [[whole], parts] if parts else [[whole]]:
            candidates = self.worthwhile({**self.candidates, Dim.C: np.array(sizes)})
            if all(map(len, candidates.values())):
                yield feasible(self.costs, self.floors, candidates)

    def worthwhile(self, candidates: Mapping[Dim, Ints]) -> Mapping[Dim, Ints]:
        """The sizes with which a tile may still win when it cuts no other dimension."""
        if self.rank is None or self.floors is None:
            return candidates
        result: dict[Dim, Ints] = {}
        for dim in TILED:
            tiles = self.costs.cutting(dim, candidates[dim])
            cycles = self.pricing.overhead + self.floors.compute(tiles)
            cycles += self.costs.counts(tiles).prod(axis=0) * self.pricing.launch
            result[dim] = candidates[dim][self.may_win(*self.keys(cycles, np.zeros(len(tiles))))]
        return result

    def promising(self, sieve: Sieve) -> Iterator[tuple[float, Ints]]:
        """Tiles of a sieve that may have a mapping better than the best so far, a few at a time, shape (n, 4).

        With them comes what no mapping of theirs, or of those that follow, has less of.
        """
        chunks = CHUNKS
        for rows in self.ordered(sieve, SLABS):
            slab = sieve.select(rows)
            if len(slab) > MANY:
                slab = self.with_kernels(slab, (2,), SHARE)
            if self.floors is not None:
                refined = with_transfers(slab, self.costs, self.floors, self.listings.starts, self.most_moved())
                slab = replace(refined, cycles=slab.cycles) if self.pricing.has_latency else refined
            for chunk in self.ordered(slab, chunks):
                tiles = self.with_kernels(slab.select(chunk), (2, 3, 4)).tiles
                yield float(self.keys(slab.cycles[chunk], slab.moved[chunk])[0][0]), tiles
                chunks = chunks[1:] or chunks

    def with_kernels(self, sieve: Sieve, numbers: Iterable[int], share: float = 1.0) -> Sieve:
        """The tiles that may still win when kernel calls cost what they do in tilings that cut so many dimensions.

        The more are cut the dearer that is, and the fewer tiles have the same: what more than a `share` of the tiles
        are different in is left out.
        """
        if self.floors is None or len(sieve) <= FEW:
            return sieve
        for number in numbers:
            for dims in itertools.combinations(reversed(self.cut(sieve.tiles)), number):
                if self.rank is None or not len(sieve):
                    return sieve
                if share < 1 and self.floors.tilings_cutting(dims, sieve.tiles) > share * len(sieve):
                    continue
                sieve = sieve.with_kernels(self.floors.compute_cutting(dims, sieve.tiles))
                sieve = sieve.select(np.nonzero(self.may_win(*self.keys(sieve.cycles, sieve.moved)))[0])
        return sieve

    def cut(self, tiles: Ints) -> list[Dim]:
        """The dimensions that some of the tiles cut."""
        return [dim for n, dim in enumerate(TILED) if (tiles[:, n] < self.costs.whole[n]).any()]

    def most_moved(self) -> float:
        """Bytes that no mapping better than the best so far moves more of."""
        if self.by_latency or self.rank is None:
            return math.inf
        if self.byte_energy is None:
            return self.rank.objective
        return (self.rank.objective + 1 / GRAIN) / self.byte_energy if self.byte_energy else math.inf

    def ordered(self, sieve: Sieve, counts: Sequence[int]) -> Iterator[Ints]:
        """Rows of a sieve, the best bounds first, so many at a time, until none may be better; the last count stays."""
        objective, second = self.keys(sieve.cycles, sieve.moved)
        left = np.nonzero(self.may_win(objective, second))[0]
        for count in itertools.chain(counts, itertools.repeat(counts[-1])):
            if not len(left):
                return
            rows, left = smallest(objective[left], left, count)
            yield rows[np.lexsort((-sieve.tiles[rows].prod(axis=1), second[rows], objective[rows]))]
            left = left[self.may_win(objective[left], second[left])]

    def keys(self, cycles: Floats, moved: Floats) -> tuple[Floats, Floats]:
        """The first two entries of `Rank`."""
        cycles = rounded(cycles)
        if self.by_latency:
            return cycles, moved
        return moved if self.byte_energy is None else rounded(moved * self.byte_energy), cycles

    def may_win(self, objective: Floats, second: Floats) -> npt.NDArray[np.bool_]:
        """Which of these bounds leave room for a mapping better than the best so far."""
        if self.rank is None:
            return np.ones(len(objective), np.bool_)
        better = objective < self.rank.objective
        if self.views_left <= 0:  # what else it costs is not asked for any more
            return better
        return better | ((objective == self.rank.objective) & (second <= self.rank.second))

    def try_tiles(self, tiles: Ints) -> None:
        """Try the mappings of some tiles, those that are expected to cost least first."""
        found: list[tuple[float, float, float, float, Nests, int]] = []
        left = self.worth_asking(tiles)
        for nests, bounds, expected in self.bounded(left) if len(left) else ():
            rows = np.nonzero(self.may_win(*bounds))[0]
            figures = (figure[rows].tolist() for figure in (*expected, *bounds))
            found += [(*entry, nests, row) for *entry, row in zip(*figures, rows.tolist(), strict=True)]
        found.sort(key=lambda entry: entry[:2])
        for _, _, objective, second, nests, row in found:
            for nest in (nests.nest(row, order) for order in nests.orders(row)):
                if self.rank is None or self.ranked(objective, second, nest) < self.rank:
                    self.try_nest(nest)
                elif objective > self.rank.objective and not self.pricing.has_latency:
                    return  # so do all that follow
                if self.views_left <= 0 and self.by_latency:
                    return

    def bounded(self, tiles: Ints) -> Iterator[tuple[Nests, Keys, Keys]]:
        """The mappings of tiles, with the first two entries of their ranks, at least and as expected."""
        for nests in Structures(self.costs, tiles, self.listings.residencies).nests(self.wanted()):
            yield nests, self.keys(nests.cycles, nests.moved), self.keys(nests.expected, nests.moved)

    def wanted(self) -> MayWin | None:
        """`may_win` of bounds of cycles and bytes, which may be off by the order of additions; None if all may."""
        if self.rank is None:
            return None
        return lambda cycles, moved: self.may_win(*self.keys(cycles - 1 / GRAIN, moved))

    def worth_asking(self, tiles: Ints) -> Ints:
        """The tiles whose own transfers must be known to tell whether they can win.

        Of tiles that cut one dimension these are what the bounds are made of.
        """
        if self.floors is None or self.rank is None or len(tiles) <= FEW or len(self.cut(tiles)) <= 1:
            return tiles
        worth = np.zeros(len(tiles), np.bool_)
        for nests in Structures(self.costs, tiles, self.listings.residencies, self.floors).nests(self.wanted()):
            worth[nests.tile[self.may_win(*self.keys(nests.cycles, nests.moved))]] = True
        return tiles[worth]

    def try_nest(self, nest: Nest) -> None:
        """Predict a mapping and keep it if it is the best so far."""
        self.views_left -= 1
        cost = latency(self.pricing, nest.loops, nest.placements)
        objective, second = self.keys(np.array(cost.cycles), np.array(float(cost.moved_bytes)))
        rank = self.ranked(float(objective), float(second), nest)
        if self.rank is None or rank < self.rank:
            self.rank, self.nest = rank, nest

    def ranked(self, objective: float, second: float, nest: Nest) -> Rank:
        """The rank of a mapping that costs so much, or its bound."""
        extents = {**self.costs.extents, **{loop.dim: loop.tile for loop in nest.loops}}
        tile = tuple(extents[dim] for dim in TILED)
        return Rank(
            objective,
            second,
            -math.prod(tile),
            tuple(TILED.index(loop.dim) for loop in nest.loops),
            tuple((placement.depth, placement.buffers) for placement in nest.placements),
            tuple(-size for size in tile),
        )


def rounded(figures: Floats) -> Floats:
    """In units of 1 / GRAIN."""
    return np.round(figures * GRAIN) / GRAIN


def refusal(costs: TileCosts, candidates: Mapping[Dim, Ints]) -> NoMappingError:
    """Why not even the smallest tile fits."""
    lacking: list[tuple[str, int, int]] = []
    for channels in candidates[Dim.C].tolist():  # fewer of them need partial sums
        smallest = np.array([[channels if dim is Dim.C else candidates[dim][0] for dim in TILED]])
        needs = [int(need) for need in costs.blocks({dim: smallest[0, n] for n, dim in enumerate(TILED)})]
        lack = costs.rooms.lacking(needs, int(costs.taken(smallest)[0]))
        assert lack is not None, "the smallest tile fits, and so has mappings"
        lacking.append(lack)
    where, needed, there = min(lacking, key=lambda lack: lack[1])
    name = costs.pricing.layer.name
    return NoMappingError(name, f"needs at least {needed} bytes of {where}, {there} are there")
