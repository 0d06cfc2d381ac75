"""Lower bounds of what the blocks of outer tiles cost on an inner memory, before any mapping of them is looked at.

Outer tiles of several sizes can be bounded together, and so are the inner tiles that cut these into as many pieces
along each dimension. What operands cost beside the kernels follows from the room that the others leave: a block comes
whole, while no kernel runs, or in pieces, each of which takes the core's time.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from match.layer import Axis, Dim, Role
from match.schedule.mapping import align
from match.schedule.pricing import Pricing
from match.schedule.rooms import Ints
from match.schedule.tiles import TILED, Floats, Sizes, TileCosts, product

FIRST_CHUNK, CHUNK = 64, 512
"""Kinds of inner tiles of an outer one that are looked at a time, the least work first."""


Cell = tuple[tuple[int, ...], ...]
"""Outer tiles that are bounded together: their sizes along each of `TILED`."""

Loose = tuple[int, Dim]
"""An operand, by number, that outer tiles cut along a dimension while its blocks in the outer memory are not cut."""


@dataclass(frozen=True)
class _Cut:
    """Outer tiles of some sizes along a dimension; arrays are over numbers of pieces that inner tiles make, 1 first.

    outer: the smallest outer tile. blocks, full: outer tiles in all, and those that are no rest, at least. whole: where
    the first entry is. size: the smallest inner tile. calls: pieces of the whole layer. work: cycles of kernel calls on
    them when all other dimensions are whole. transfers, covers: by operand that depends on the dimension, DMA cycles of
    all blocks, likewise, and how many like the first (of an output, the last) it takes to cover an outer one.
    """

    outer: Ints
    blocks: Ints
    full: Ints
    whole: Ints
    size: Ints
    calls: Ints
    work: Floats
    transfers: dict[int, Floats]
    covers: dict[int, Floats]


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
        self._extents = {dim: pricing.layer.size(dim) for dim in Dim}
        self._dense = [operand.name in held and operand.role is not Role.CONSTANT for operand in pricing.operands]
        self._scratch = {dim: self._scratch_along(dim) for dim in TILED}
        self._kernels = {dim: self._kernel_prices(dim, largest[dim]) for dim in TILED}
        self._pieces: dict[tuple[int, Dim, bool], Floats] = {}
        for number, operand in enumerate(pricing.operands):
            for dim in operand.dims & set(TILED):
                for dense in {False, self._dense[number]}:
                    self._pieces[number, dim, dense] = self._block_prices(number, dim, largest[dim], dense=dense)
        self._cuts: dict[tuple[Dim, tuple[int, ...], int], _Cut] = {}
        self._known: dict[tuple[Cell, Loose | None], float] = {}

    def cycles(self, cells: Sequence[Cell], loose: Loose | None = None) -> Floats:
        """Cycles, without the layer's overhead, that no mapping of an outer tile of each cell takes less than.

        Blocks in the outer memory are dense, but for what is `loose`.
        """
        missing = [cell for cell in dict.fromkeys(cells) if (cell, loose) not in self._known]
        if missing:
            found = self._least(missing, loose).tolist()
            self._known.update({(cell, loose): cycles for cell, cycles in zip(missing, found, strict=True)})
        return np.array([self._known[cell, loose] for cell in cells])

    def _least(self, cells: Sequence[Cell], loose: Loose | None) -> Floats:
        cut = [self._row(cell, loose) for cell in cells]
        cuts, starts = _joined(cut)
        prices = [
            np.array([self._outer_price(number, cell, loose) for cell in cells]) for number in range(len(self._dense))
        ]
        works = [self._works(row) for row in cut]
        left = [np.arange(work.size) for work in works]
        result, count = np.full(len(cells), math.inf), FIRST_CHUNK
        while any(map(len, left)):
            chosen: list[Ints] = []
            for n, work in enumerate(works):
                least, left[n] = _least(work.ravel()[left[n]], left[n], count)
                chosen.append(least)
            cell = np.repeat(np.arange(len(cells)), [len(one) for one in chosen])
            places = [np.unravel_index(one, work.shape) for one, work in zip(chosen, works, strict=True)]
            rows = dict(zip(TILED, np.concatenate(places, axis=1) + starts[:, cell], strict=True))
            work = np.concatenate([work.ravel()[one] for one, work in zip(chosen, works, strict=True)])
            cycles = self._with_operands(cuts, rows, work, [price[cell] for price in prices])
            np.minimum.at(result, cell, cycles)
            left = [one[work.ravel()[one] < least] for one, work, least in zip(left, works, result, strict=True)]
            count = CHUNK
        return result

    def sizes(self, tile: Sizes, most: float) -> dict[Dim, Ints]:
        """Of each dimension the sizes of inner tiles, without the others', whose mappings may take at most `most`."""
        cell = tuple((size,) for size in tile)
        cut = self._row(cell, None)
        work = self._works(cut)
        rows = np.unravel_index(np.nonzero(work.ravel() <= most)[0], work.shape)
        prices = [np.full(len(rows[0]), self._outer_price(n, cell, None)) for n in range(len(self._dense))]
        cuts = dict(zip(TILED, cut, strict=True))
        possible = self._with_operands(cuts, dict(zip(TILED, rows, strict=True)), work[rows], prices) <= most
        result: dict[Dim, Ints] = {}
        for dim, places in zip(TILED, rows, strict=True):
            whole = int(cuts[dim].outer[0])
            sizes = self._candidates[dim][self._candidates[dim] <= whole]
            numbers = -(-whole // cuts[dim].size[np.unique(places[possible])])
            result[dim] = sizes[np.isin(-(-whole // sizes), numbers)]
        return result

    def _row(self, cell: Cell, loose: Loose | None) -> list[_Cut]:
        number, along = loose or (-1, None)
        return [self._cut(dim, sizes, number if dim is along else -1) for dim, sizes in zip(TILED, cell, strict=True)]

    def _outer_price(self, number: int, cell: Cell, loose: Loose | None) -> float:
        """DMA cycles of what the smallest outer tile of a cell has of an operand."""
        dense = set(TILED) if self._dense[number] else set[Dim]()
        if loose and loose[0] == number:
            dense.discard(loose[1])
        return self._price(number, {dim: min(sizes) for dim, sizes in zip(TILED, cell, strict=True)}, dense)

    def _works(self, cuts: Sequence[_Cut]) -> Floats:
        """Cycles of the kernel calls of all kinds of inner tiles, by their numbers of pieces along `TILED`."""
        places = np.ix_(*(np.arange(len(cut.size)) for cut in cuts))
        calls = product(cut.calls[at] for cut, at in zip(cuts, places, strict=True))
        work = functools.reduce(np.maximum, (cut.work[at] for cut, at in zip(cuts, places, strict=True)))
        return work + calls * self._pricing.launch

    def _with_operands(
        self, cuts: Mapping[Dim, _Cut], rows: Mapping[Dim, Ints], work: Floats, prices: list[Floats]
    ) -> Floats:
        """What inner tiles, rows of `cuts`, take with all operands, blocks of whose outer tiles cost `prices`."""
        costs, pricing, operands = self._costs, self._pricing, self._pricing.operands
        sizes = {dim: cuts[dim].size[rows[dim]] for dim in TILED}
        scratch = np.maximum.reduce([self._scratch[dim][sizes[dim]] for dim in TILED])
        room = pricing.memory.size - scratch - costs.partial_sums(sizes, sizes[Dim.C])
        needs = [need + np.zeros_like(room) for need in costs.blocks(sizes)]
        fits = np.nonzero(costs.rooms.fit(needs, room))[0]
        rooms = [left[fits] for left in costs.rooms.left(needs, room)]
        rows = {dim: row[fits] for dim, row in rows.items()}
        blocks = product(cuts[dim].blocks[rows[dim]] for dim in TILED)
        inputs = any(operand.role is not Role.OUTPUT for operand in operands)
        begun = pricing.issue * blocks if inputs and pricing.overlap else 0.0
        held = [self._held(n, cuts, rows, left, prices[n][fits]) for n, left in enumerate(rooms)]
        needs, room = [need[fits] for need in needs], room[fits]
        least = np.full(len(fits), math.inf)
        for doubles in itertools.product((False, True), repeat=len(held)):
            together = [need * (1 + double) for need, double in zip(needs, doubles, strict=True)]
            core, waits, dma = functools.reduce(
                np.add, (ways[double] for ways, double in zip(held, doubles, strict=True))
            )
            cycles = np.maximum(work[fits] + begun + np.maximum(core, waits), dma)
            np.minimum(least, cycles, out=least, where=costs.rooms.fit(together, room))
        result = np.full(len(work), math.inf)
        result[fits] = least
        return result

    def _held(
        self, number: int, cuts: Mapping[Dim, _Cut], rows: Mapping[Dim, Ints], room: Ints, price: Floats
    ) -> tuple[Floats, Floats]:
        """What an operand takes at least in one buffer and in two, in whatever blocks it is held; shape (3, n) each.

        Cycles that it adds to the core's with all that issues transfers, or with what waits for write-backs, of which
        only one counts; and DMA cycles of all transfers.
        """
        pricing, operand = self._pricing, self._pricing.operands[number]
        own = [dim for dim in TILED if dim in operand.dims]
        blocks = {dim: cuts[dim].blocks[row] for dim, row in rows.items()}
        once = product(blocks[dim] for dim in TILED if dim not in operand.dims)
        full = once * product(cuts[dim].full[rows[dim]] for dim in own) * price
        result = np.full((2, 3, len(room)), math.inf)
        free = [dim for dim in own if dim not in operand.indivisible_dims]
        for inside in itertools.chain.from_iterable(itertools.combinations(free, n) for n in range(len(free) + 1)):
            cut = [dim for dim in own if dim in inside or dim not in free]
            at = {dim: rows[dim] if dim in cut else cuts[dim].whole[rows[dim]] for dim in own}
            size = {dim: (cuts[dim].size if dim in cut else cuts[dim].outer)[rows[dim]] for dim in own}
            need = self._costs.block(number, size)
            fetches = once * product(cuts[dim].calls[at[dim]] for dim in own)
            transfer = functools.reduce(np.maximum, (once * cuts[dim].transfers[number][at[dim]] for dim in own), full)
            end = full / product(cuts[dim].covers[number][rows[dim]] for dim in cut) if cut else transfer
            for buffers in (1, 2) if cut else (1,):
                if not pricing.overlap:
                    core = waits = transfer + pricing.issue * fetches
                elif operand.role is Role.OUTPUT:
                    core = end + pricing.issue * fetches
                    waits = np.maximum(core, transfer + pricing.issue * fetches) if buffers == 1 else core
                else:
                    waits = end if buffers == 2 else transfer
                    core = waits + pricing.issue * np.maximum(0, fetches - buffers * product(blocks.values()))
                fits = buffers * need <= room
                for mine, its in zip(result[buffers - 1], (core, waits, transfer), strict=True):
                    np.minimum(mine, its, out=mine, where=fits)
        return result[0], result[1]

    def _scratch_along(self, dim: Dim) -> Ints:
        """Bytes of scratch by size along a dimension, the least along others: it never shrinks when a tile grows."""
        result, sizes = np.zeros(self._extents[dim] + 1, np.int64), self._candidates[dim]
        line = [sizes if d is dim else np.full_like(sizes, self._candidates[d][0]) for d in TILED]
        result[sizes] = self._costs.scratch(np.stack(line, axis=1))
        return result

    def _price(self, number: int, sizes: Mapping[Dim, int], dense: Collection[Dim]) -> float:
        """DMA cycles of an operand's block of these sizes, whole along other dimensions, wherever it costs least.

        It is part of an array that is as long along the dimensions `dense`, else the tensor's.
        """
        pricing = self._pricing
        constant = pricing.operands[number].role is Role.CONSTANT
        lengths: list[int] = []
        limits: list[int] = []
        for axis in pricing.axes[number]:
            extent = self._extents[axis.dim]
            size = sizes.get(axis.dim, extent)
            lengths.append(axis.length(size) if constant else align(_shortest(axis, size, extent), axis.multiple))
            limits.append(lengths[-1] if axis.dim in dense else align(axis.limit, axis.multiple))
        return pricing.block(number, tuple(lengths), None if constant else tuple(limits)).transfer

    def _block_prices(self, number: int, dim: Dim, largest: int, *, dense: bool) -> Floats:
        """`_price` by size along a dimension, 0 included."""
        along = {dim} if dense else set[Dim]()
        return np.array([0.0] + [self._price(number, {dim: size}, along) for size in range(1, largest + 1)])

    def _kernel_prices(self, dim: Dim, largest: int) -> Floats:
        """Cycles of kernel calls by size along a dimension; of input channels, of all calls that make them up."""
        if dim is not Dim.C:
            return np.array([0.0] + [_kernel(self._pricing, dim, size) for size in range(1, largest + 1)])
        result, costs = np.zeros(largest + 1), TileCosts(self._pricing)
        sizes = self._candidates[dim]
        result[sizes] = costs.kernels.compute(np.array([[*costs.whole[:-1], size] for size in sizes.tolist()]))
        return result

    def _cut(self, dim: Dim, outer: tuple[int, ...], loose: int) -> _Cut:
        known = self._cuts.get((dim, outer, loose))
        if known is None:
            known = self._cuts[dim, outer, loose] = self._cut_by(dim, outer, loose)
        return known

    def _cut_by(self, dim: Dim, outer: tuple[int, ...], loose: int) -> _Cut:
        candidates, extent = self._candidates[dim], self._extents[dim]
        inner = [candidates[: np.searchsorted(candidates, size, side="right")] for size in outer]
        tile, size = np.repeat(outer, [len(sizes) for sizes in inner]), np.concatenate(inner)
        number, rest = -(-tile // size), extent % tile
        order = np.argsort(number, kind="stable")
        starts = np.flatnonzero(np.diff(number[order], prepend=0))
        full = extent // tile

        def least(figures: Floats) -> Floats:
            return np.minimum.reduceat(figures[order], starts)

        def summed(prices: Floats) -> Floats:
            whole = tile // size * prices[size] + prices[tile % size]
            return full * whole + rest // size * prices[size] + prices[rest % size]

        calls = full * number + -(-rest // size)
        work = self._kernels[dim][size] if dim is Dim.C else summed(self._kernels[dim])
        transfers: dict[int, Floats] = {}
        covers: dict[int, Floats] = {}
        for place, operand in enumerate(self._pricing.operands):
            if dim in operand.dims:
                prices = self._pieces[place, dim, False]
                if operand.role is Role.CONSTANT:  # all blocks are as long as the largest
                    cycles = calls * prices[size]
                else:
                    dense = self._pieces[place, dim, self._dense[place] and place != loose]
                    cycles = np.where(size == tile, full * dense[tile] + dense[rest], summed(prices))
                transfers[place] = least(cycles)
                covers[place] = -least(-covering(self._pricing, place, dim, tile, size))
        blocks = min(-(-extent // size) for size in outer)
        return _Cut(
            outer=np.full(len(starts), min(outer)),
            blocks=np.full(len(starts), blocks),
            full=np.full(len(starts), full.min()),
            whole=np.zeros(len(starts), np.int64),
            size=np.minimum.reduceat(size[order], starts),
            calls=np.minimum.reduceat(calls[order], starts),
            work=least(work),
            transfers=transfers,
            covers=covers,
        )


def covering(pricing: Pricing, number: int, dim: Dim, tile: Ints, size: Ints) -> Floats:
    """How many blocks like the first, or of an output the last, it takes to cover that of a `tile` cut along `dim`."""
    operand, extent = pricing.operands[number], pricing.layer.size(dim)
    end = (tile - 1) % size + 1 if operand.role is Role.OUTPUT else size
    result = np.ones(len(tile))
    for axis in pricing.axes[number]:
        if axis.dim is dim:
            lengths = np.zeros(extent + 1, np.int64)
            for n in np.unique(np.concatenate([tile, end])).tolist():
                lengths[n] = _shortest(axis, n, extent)
            covered = np.where(lengths[end] > 0, -(-lengths[tile] // np.maximum(lengths[end], 1)), math.inf)
            np.maximum(result, covered, out=result)
    return result


def _joined(cuts: Sequence[Sequence[_Cut]]) -> tuple[dict[Dim, _Cut], Ints]:
    """Rows of cuts along `TILED`, one behind the other, and where each begins; shape (4, rows)."""
    result: dict[Dim, _Cut] = {}
    starts = np.zeros((len(TILED), len(cuts)), np.int64)
    for place, dim in enumerate(TILED):
        parts = list({id(row[place]): row[place] for row in cuts}.values())
        ends = np.cumsum([0] + [len(cut.size) for cut in parts])
        begin = {id(cut): int(start) for cut, start in zip(parts, ends, strict=False)}
        starts[place] = [begin[id(row[place])] for row in cuts]
        numbers = parts[0].transfers
        result[dim] = _Cut(
            outer=np.concatenate([cut.outer for cut in parts]),
            blocks=np.concatenate([cut.blocks for cut in parts]),
            full=np.concatenate([cut.full for cut in parts]),
            whole=np.concatenate([cut.whole + begin[id(cut)] for cut in parts]),
            size=np.concatenate([cut.size for cut in parts]),
            calls=np.concatenate([cut.calls for cut in parts]),
            work=np.concatenate([cut.work for cut in parts]),
            transfers={n: np.concatenate([cut.transfers[n] for cut in parts]) for n in numbers},
            covers={n: np.concatenate([cut.covers[n] for cut in parts]) for n in numbers},
        )
    return result, starts


def _least(figures: Floats, rows: Ints, count: int) -> tuple[Ints, Ints]:
    """`count` of some rows that have the least figures, and the others."""
    if count >= len(rows):
        return rows, rows[:0]
    order = np.argpartition(figures, count)
    return rows[order[:count]], rows[order[count:]]


def _shortest(axis: Axis, size: int, extent: int) -> int:
    """The fewest indices that `size` of `extent` iterations touch: those at a border."""
    return min(axis.span(start, size)[1] for start in (0, extent - size))


def _kernel(pricing: Pricing, dim: Dim, size: int) -> float:
    """Cycles of a kernel call on `size` iterations of a dimension and all of the others, wherever it costs least."""
    layer = pricing.layer

    def pixels(along: Dim, axis: Axis) -> tuple[int, int]:
        extent = size if along is dim else layer.size(along)
        return extent, _shortest(axis, extent, layer.size(along))

    k = size if dim is Dim.K else layer.k
    return pricing.kernel(k, pixels(Dim.OY, pricing.rows), pixels(Dim.OX, pricing.columns), (layer.c, True, True))
