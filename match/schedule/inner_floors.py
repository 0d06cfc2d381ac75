"""Lower bounds of what the blocks of outer tiles cost on an inner memory, before any mapping of them is looked at.

Outer tiles of several sizes can be bounded together, and so are the inner tiles that cut these into as many pieces
along each dimension. What operands cost beside the kernels follows from the room that the others leave: a block comes
whole, while no kernel runs, or in pieces, each of which takes the core's time.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.ir.layer import Dim, Role
from match.schedule.inner_cuts import Cell, Cut, Loose, Pieces, joined
from match.schedule.pricing import Pricing
from match.schedule.rooms import Floats, Ints
from match.schedule.tiles import TILED, Sizes, TileCosts, product, smallest, total

FIRST_CHUNK, CHUNK = 64, 512
"""Kinds of inner tiles of an outer one that are looked at a time, the least work first."""


@dataclass(frozen=True)
class InnerTiles:
    """Inner tiles of an outer one, with bounds that those share which cut it into as many pieces.

    sizes: candidates of each dimension, all of whose combinations are meant. kinds: by dimension and size, where tiles
    are in `bounds`, which has an axis for each of `TILED` behind one for cycles in all and for those of the core in
    which no kernel runs.
    """

    sizes: dict[Dim, Ints]
    kinds: dict[Dim, Ints]
    bounds: Floats

    def __bool__(self) -> bool:
        return all(map(len, self.sizes.values()))

    def cycles(self, tiles: Ints, kernels: Floats) -> Floats:
        """Cycles that no mapping of each of `tiles` takes less than, where kernel calls take so many.

        Both without the layer's overhead.
        """
        cycles, beside = self.bounds[:, *(self.kinds[dim][tiles[:, n]] for n, dim in enumerate(TILED))]
        return np.maximum(cycles, kernels + beside)


class InnerFloors:
    """What any mapping onto the inner memory takes, from the tiles that fit there; `candidates` are their sizes.

    Outer tiles are at most `largest`; `held` are the operands that lie in them. Rests on `CostModel.regular`: a kernel
    call on a tile costs no more than those on its parts, and as many blocks as cover another cost no less than that.
    """

    def __init__(
        self, pricing: Pricing, candidates: Mapping[Dim, Ints], largest: Mapping[Dim, int], held: Collection[str]
    ) -> None:
        self._costs = TileCosts(pricing)
        self._pricing = pricing.gapless()
        self._candidates = candidates
        self._numbers = range(len(pricing.operands))
        self._scratch = {dim: self._scratch_along(dim) for dim in TILED}
        dense = [
            n
            for n in self._numbers
            if pricing.operands[n].name in held and pricing.operands[n].role is not Role.CONSTANT
        ]
        self._pieces = Pieces(self._pricing, candidates, largest, dense)
        self._known: dict[tuple[Cell, Loose | None], float] = {}
        self._known_works: dict[Cell, tuple[list[Ints], Floats]] = {}

    def cycles(self, cells: Sequence[tuple[Cell, Loose | None]], most: float) -> Floats:
        """Cycles, without the layer's overhead, that no mapping of an outer tile of each cell takes less than.

        Mappings that take more than `most` do not count; no later call may have a larger one. Blocks in the outer
        memory are dense, but for what is loose.
        """
        missing = [cell for cell in dict.fromkeys(cells) if cell not in self._known]
        if missing:
            self._known.update(zip(missing, self._least(missing, most).tolist(), strict=True))
        return np.array([self._known[cell] for cell in cells])

    def _least(self, cells: Sequence[tuple[Cell, Loose | None]], most: float) -> Floats:
        cut = [self._pieces.cuts(*cell) for cell in cells]
        cuts, starts = joined(cut)
        prices = [self._pieces.outer_prices(number, cells) for number in self._numbers]
        bounded = [self._works_of(cell, row, most) for (cell, _), row in zip(cells, cut, strict=True)]
        kinds, works = [kind for kind, _ in bounded], [work for _, work in bounded]
        left = [np.nonzero(work.ravel() <= most)[0] for work in works]
        result, count = np.full(len(cells), math.inf), FIRST_CHUNK
        while any(map(len, left)):
            chosen: list[Ints] = []
            for n, work in enumerate(works):
                first, left[n] = smallest(work.ravel()[left[n]], left[n], count)
                chosen.append(first)
            cell = np.repeat(np.arange(len(cells)), [len(one) for one in chosen])
            places = [_places(one, kind, work) for one, kind, work in zip(chosen, kinds, works, strict=True)]
            rows = dict(zip(TILED, np.concatenate(places, axis=1) + starts[:, cell], strict=True))
            work = np.concatenate([work.ravel()[one] for one, work in zip(chosen, works, strict=True)])
            cycles, _ = self._with_operands(cuts, rows, work, [price[cell] for price in prices])
            np.minimum.at(result, cell, cycles)
            left = [one[work.ravel()[one] < most] for one, work, most in zip(left, works, result, strict=True)]
            count = CHUNK
        return result

    def tiles(self, tile: Sizes, most: float) -> InnerTiles:
        """The inner tiles of an outer tile whose mappings may take at most `most`, without the layer's overhead."""
        cell = tuple((size,) for size in tile)
        cut = self._pieces.cuts(cell, None)
        kind, work = self._works(cut, most)
        few = np.nonzero(work.ravel() <= most)[0]
        rows = _places(few, kind, work)
        prices = [np.repeat(self._pieces.outer_prices(n, [(cell, None)]), len(rows[0])) for n in self._numbers]
        cuts = dict(zip(TILED, cut, strict=True))
        bounds = np.full((2, *(len(one.size) for one in cut)), math.inf)
        bounds[:, *rows] = self._with_operands(cuts, dict(zip(TILED, rows, strict=True)), work.ravel()[few], prices)
        possible = np.nonzero(bounds[0] <= most)
        sizes: dict[Dim, Ints] = {}
        kinds: dict[Dim, Ints] = {}
        for dim, places, whole in zip(TILED, possible, tile, strict=True):
            candidates = self._candidates[dim][self._candidates[dim] <= whole]
            kind = np.searchsorted(-(-whole // cuts[dim].size), -(-whole // candidates))
            chosen = np.isin(kind, places)
            sizes[dim] = candidates[chosen]
            kinds[dim] = np.zeros(whole + 1, np.int64)
            kinds[dim][sizes[dim]] = kind[chosen]
        return InnerTiles(sizes, kinds, bounds)

    def _works_of(self, cell: Cell, cuts: Sequence[Cut], most: float) -> tuple[list[Ints], Floats]:
        """`_works` of a cell, which does not depend on what is loose."""
        known = self._known_works.get(cell)
        if known is None:
            known = self._known_works[cell] = self._works(cuts, most)
        return known

    def _works(self, cuts: Sequence[Cut], most: float) -> tuple[list[Ints], Floats]:
        """Cycles of the kernel calls of kinds of inner tiles, with an axis for their rows of each of `cuts`.

        Rows of kinds all of which take more than `most` are left out.
        """
        fewest, least = math.prod(int(cut.calls.min()) for cut in cuts), max(float(cut.work.min()) for cut in cuts)
        kept: list[Ints] = []
        for cut in cuts:
            calls = cut.calls * (fewest // int(cut.calls.min()))
            kept.append(np.flatnonzero(np.maximum(cut.work, least) + calls * self._pricing.launch <= most))
        places = np.ix_(*kept)
        calls = product(cut.calls[at] for cut, at in zip(cuts, places, strict=True))
        work = functools.reduce(np.maximum, (cut.work[at] for cut, at in zip(cuts, places, strict=True)))
        return kept, work + calls * self._pricing.launch

    def _with_operands(
        self, cuts: Mapping[Dim, Cut], rows: Mapping[Dim, Ints], work: Floats, prices: list[Floats]
    ) -> Floats:
        """What inner tiles, rows of `cuts`, take with all operands, blocks of whose outer tiles cost `prices`.

        In all, and of the core's cycles those in which no kernel runs; shape (2, n).
        """
        costs, pricing, operands = self._costs, self._pricing, self._pricing.operands
        sizes = {dim: cuts[dim].size[rows[dim]] for dim in TILED}
        scratch = np.maximum.reduce([self._scratch[dim][sizes[dim]] for dim in TILED])
        room = pricing.memory.size - scratch - costs.partial_sums(sizes, sizes[Dim.C])
        needs = [need + np.zeros_like(room) for need in costs.blocks(sizes)]
        fits = np.nonzero(costs.rooms.fit(needs, room))[0]
        rooms = [left[fits] for left in costs.rooms.left(needs, room)]
        # Where blocks are whole, and where they are cut.
        both = {dim: np.array([cuts[dim].whole[row[fits]], row[fits]]) for dim, row in rows.items()}
        lengths = {dim: np.array([cuts[dim].outer[row[0]], cuts[dim].size[row[1]]]) for dim, row in both.items()}
        blocks = product(cuts[dim].blocks[both[dim][1]] for dim in TILED)
        inputs = any(operand.role is not Role.OUTPUT for operand in operands)
        begun = pricing.issue * blocks if inputs and pricing.overlap else 0.0
        held = [self._held(n, cuts, both, lengths, left, prices[n][fits]) for n, left in enumerate(rooms)]
        needs, room = [need[fits] for need in needs], room[fits]
        buffers = [_along(n, len(held), np.array([1, 2])[:, None]) for n in self._numbers]
        together = [need * count for need, count in zip(needs, buffers, strict=True)]
        core, waits, dma = (
            total(_along(n, len(held), ways[:, figure]) for n, ways in enumerate(held)) for figure in range(3)
        )
        beside = begun + np.maximum(core, waits)
        ways = costs.rooms.fit(together, room)
        result = np.full((2, len(work)), math.inf)
        for place, figures in enumerate((np.maximum(work[fits] + beside, dma), beside)):
            result[place, fits] = np.where(ways, figures, math.inf).reshape(2 ** len(held), len(fits)).min(axis=0)
        return result

    def _held(
        self,
        number: int,
        cuts: Mapping[Dim, Cut],
        rows: Mapping[Dim, Ints],
        sizes: Mapping[Dim, Ints],
        room: Ints,
        price: Floats,
    ) -> Floats:
        """What an operand takes at least in one buffer and in two, in whatever blocks it is held; shape (2, 3, n).

        Cycles that it adds to the core's with all that issues transfers, or with what waits for write-backs, of which
        only one counts; and DMA cycles of all transfers. `rows` of `cuts` and `sizes` are those of blocks that are not
        cut along a dimension, and of those that are; shape (2, n).
        """
        pricing, operand = self._pricing, self._pricing.operands[number]
        own = [dim for dim in TILED if dim in operand.dims]
        free = [dim for dim in own if dim not in operand.indivisible_dims]
        blocks = {dim: cuts[dim].blocks[row[1]] for dim, row in rows.items()}
        once = product(blocks[dim] for dim in TILED if dim not in operand.dims)
        full = once * product(cuts[dim].full[rows[dim][1]] for dim in own) * price

        def ways(dim: Dim, figures: npt.NDArray[Any]) -> npt.NDArray[Any]:
            """With an axis for each of `free`, along which blocks are whole or cut; others are cut."""
            return _along(free.index(dim), len(free), figures) if dim in free else figures[1]

        def every(figures: npt.NDArray[Any]) -> npt.NDArray[Any]:
            """In each way, shape (ways, n); in the first one nothing is cut that need not be."""
            return np.broadcast_to(figures, [2] * len(free) + [len(room)]).reshape(2 ** len(free), len(room))

        at = {dim: ways(dim, rows[dim]) for dim in own}
        need = every(self._costs.block(number, {dim: ways(dim, sizes[dim]) for dim in own}))
        fetches = every(once * product(cuts[dim].calls[at[dim]] for dim in own))
        lines = (once * cuts[dim].transfers[number][at[dim]] for dim in own)
        transfer = every(functools.reduce(np.maximum, lines, full))
        parts = np.ones((len(own), 2, len(room)))
        for part, dim in zip(parts, own, strict=True):
            part[1] = cuts[dim].covers[number][rows[dim][1]]
        end = every(full / product(ways(dim, part) for dim, part in zip(own, parts, strict=True)))
        uncut = slice(0, len(own) == len(free))
        end = np.concatenate([transfer[uncut], end[uncut.stop :]])
        result = np.empty((2, 3, len(room)))
        for buffers in (1, 2):
            if not pricing.overlap:
                core = waits = transfer + pricing.issue * fetches
            elif operand.role is Role.OUTPUT:
                core = end + pricing.issue * fetches
                waits = np.maximum(core, transfer + pricing.issue * fetches) if buffers == 1 else core
            else:
                waits = end if buffers == 2 else transfer
                core = waits + pricing.issue * np.maximum(0, fetches - buffers * product(blocks.values()))
            fits = buffers * need <= room
            if buffers == 2:
                fits[uncut] = False
            for place, figures in enumerate((core, waits, transfer)):
                result[buffers - 1, place] = np.where(fits, figures, math.inf).min(axis=0)
        return result

    def _scratch_along(self, dim: Dim) -> Ints:
        """Bytes of scratch by size along a dimension, the least along others: it never shrinks when a tile grows."""
        result, sizes = np.zeros(self._costs.whole[TILED.index(dim)] + 1, np.int64), self._candidates[dim]
        line = [sizes if d is dim else np.full_like(sizes, self._candidates[d][0]) for d in TILED]
        result[sizes] = self._costs.scratch(np.stack(line, axis=1))
        return result


def _places(flat: Ints, kinds: Sequence[Ints], works: Floats) -> list[Ints]:
    """Rows of cuts along `TILED` of some of the `works`, those with the indices `flat`."""
    return [rows[at] for rows, at in zip(kinds, np.unravel_index(flat, works.shape), strict=True)]


def _along(place: int, count: int, figures: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Figures of shape (2, n) with the first axis as number `place` of `count`, and n last."""
    return figures.reshape([2 if n == place else 1 for n in range(count)] + [figures.shape[-1]])
