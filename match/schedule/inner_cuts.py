"""How inner tiles cut outer tiles along one dimension, and what the pieces cost when all other dimensions are whole."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from match.ir.layer import Axis, Dim, Role
from match.schedule.blocks import axis_lengths, round_up, touched
from match.schedule.mapping import align
from match.schedule.pricing import Pricing
from match.schedule.rooms import Flags, Floats, Ints
from match.schedule.tiles import TILED, TileCosts

Cell = tuple[tuple[int, ...], ...]
"""Outer tiles that are bounded together: their sizes along each of `TILED`."""

Loose = tuple[int, Dim]
"""An operand, by number, that outer tiles cut along a dimension while its blocks in the outer memory are not cut."""


@dataclass(frozen=True)
class Cut:
    """Outer tiles of some sizes along a dimension; arrays are over numbers of pieces that inner tiles make, 1 first.

    Of several sizes, an entry is for all numbers up to the next power of 2, with the least of each figure.

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


class Pieces:
    """Pieces of outer tiles of at most `largest`; inner ones are of the sizes `candidates`.

    Blocks of the operands `dense`, by number, lie in arrays of their own outside, those of others in their tensors.
    Rests on `CostModel.regular`. `pricing` has no gaps (`Pricing.gapless`).
    """

    def __init__(
        self, pricing: Pricing, candidates: Mapping[Dim, Ints], largest: Mapping[Dim, int], dense: Collection[int]
    ) -> None:
        self._pricing = pricing
        self._candidates = candidates
        self._extents = pricing.layer.extents
        self._dense = dense
        self._kernels = {dim: self._kernel_prices(dim, largest[dim]) for dim in TILED}
        self._blocks: dict[tuple[int, Dim, bool], Floats] = {}
        for number, operand in enumerate(pricing.operands):
            for dim in operand.dims & set(TILED):
                for is_dense in {False, number in dense}:
                    self._blocks[number, dim, is_dense] = self._block_prices(number, dim, largest[dim], is_dense)
        self._known: dict[tuple[Dim, tuple[int, ...], int], Cut] = {}

    def cuts(self, cell: Cell, loose: Loose | None) -> list[Cut]:
        """How the tiles of a cell are cut along each of `TILED`."""
        number, along = loose or (-1, None)
        return [self._cut(dim, sizes, number if dim is along else -1) for dim, sizes in zip(TILED, cell, strict=True)]

    def outer_prices(self, number: int, cells: Sequence[tuple[Cell, Loose | None]]) -> Floats:
        """DMA cycles of what the smallest outer tile of each cell has of an operand."""
        smallest = np.array([[min(sizes) for sizes in cell] for cell, _ in cells])
        loose = np.array([[which == (number, dim) for dim in TILED] for _, which in cells])
        dense = ~loose & (number in self._dense)
        places = list(enumerate(TILED))
        return self._prices(number, {dim: smallest[:, n] for n, dim in places}, {dim: dense[:, n] for n, dim in places})

    def _prices(self, number: int, sizes: Mapping[Dim, Ints], dense: Mapping[Dim, Flags]) -> Floats:
        """DMA cycles of an operand's blocks of these sizes, whole along other dimensions, wherever each costs least.

        They are parts of arrays that are as long along the dimensions in which they are `dense`, else the tensor's.
        """
        pricing, count = self._pricing, len(next(iter(sizes.values())))
        constant = pricing.operands[number].role is Role.CONSTANT
        lengths: list[Ints] = []
        limits: list[Ints] = []
        for axis in pricing.axes[number]:
            extent = self._extents[axis.dim]
            size = sizes.get(axis.dim, np.full(count, extent))
            length = axis_lengths(axis, size) if constant else round_up(_shortest(axis, size, extent), axis.multiple)
            limit = align(axis.limit, axis.multiple)
            lengths.append(length)
            limits.append(np.where(dense.get(axis.dim, np.zeros(count, np.bool_)), length, limit))
        rows, within = (np.array(figures, np.int64).reshape(len(lengths), count).T for figures in (lengths, limits))
        return pricing.transfers(number, rows, None if constant else within)

    def _block_prices(self, number: int, dim: Dim, largest: int, dense: bool) -> Floats:
        """`_prices` by size along a dimension, 0 included."""
        sizes = np.arange(1, largest + 1)
        return np.append(0.0, self._prices(number, {dim: sizes}, {dim: np.full(largest, dense)}))

    def _kernel_prices(self, dim: Dim, largest: int) -> Floats:
        """Cycles of kernel calls by size along a dimension; of input channels, of all calls that make them up."""
        if dim is not Dim.C:
            return np.append(0.0, _kernels(self._pricing, dim, np.arange(1, largest + 1)))
        result, costs = np.zeros(largest + 1), TileCosts(self._pricing)
        sizes = self._candidates[dim]
        result[sizes] = costs.kernels.compute(np.array([[*costs.whole[:-1], size] for size in sizes.tolist()]))
        return result

    def _cut(self, dim: Dim, outer: tuple[int, ...], loose: int) -> Cut:
        known = self._known.get((dim, outer, loose))
        if known is None:
            cut, others = self._cut_by(dim, outer)
            self._known[dim, outer, -1] = cut
            for number, transfers in others.items():
                self._known[dim, outer, number] = replace(cut, transfers=cut.transfers | {number: transfers})
            known = self._known[dim, outer, loose]
        return known

    def _cut_by(self, dim: Dim, outer: tuple[int, ...]) -> tuple[Cut, dict[int, Floats]]:
        """`Cut` where nothing is loose, and its `transfers` of operands that are dense there where they are loose."""
        candidates, extent = self._candidates[dim], self._extents[dim]
        sizes = np.array(outer)
        count = np.searchsorted(candidates, sizes, side="right")
        tile, size = np.repeat(sizes, count), np.concatenate([candidates[:most] for most in count.tolist()])
        pieces = tile // size
        over = tile - pieces * size
        number = pieces + (over > 0)
        kind = number if len(outer) == 1 else 1 + np.frexp(number - 1)[1]  # 1, 2, 3 to 4, 5 to 8 pieces
        order = np.argsort(kind.astype(np.min_scalar_type(extent)), kind="stable")
        starts = np.flatnonzero(np.diff(kind[order], prepend=0))
        tile, size, pieces, over, number = (figures[order] for figures in (tile, size, pieces, over, number))
        full, rest = (np.repeat(figures, count)[order] for figures in (extent // sizes, extent % sizes))
        rest_pieces = rest // size
        rest_over = rest - rest_pieces * size

        def least(figures: Floats) -> Floats:
            return np.minimum.reduceat(figures, starts)

        def summed(prices: Floats) -> Floats:
            return (full * pieces + rest_pieces) * prices[size] + full * prices[over] + prices[rest_over]

        calls = full * number + rest_pieces + (rest_over > 0)
        work = self._kernels[dim][size] if dim is Dim.C else summed(self._kernels[dim])
        transfers: dict[int, Floats] = {}
        loose: dict[int, Floats] = {}
        covers: dict[int, Floats] = {}
        for place, operand in enumerate(self._pricing.operands):
            if dim in operand.dims:
                prices = self._blocks[place, dim, False]
                constant = operand.role is Role.CONSTANT  # all blocks are as long as the largest
                cycles = calls * prices[size] if constant else summed(prices)
                if place in self._dense:
                    loose[place] = least(cycles)
                    dense = self._blocks[place, dim, True]
                    cycles = np.where(size == tile, full * dense[tile] + dense[rest], cycles)
                transfers[place] = least(cycles)
                covers[place] = -least(-covering(self._pricing, place, dim, tile, size))
        blocks = min(-(-extent // size) for size in outer)
        cut = Cut(
            outer=np.full(len(starts), min(outer)),
            blocks=np.full(len(starts), blocks),
            full=np.full(len(starts), full.min()),
            whole=np.zeros(len(starts), np.int64),
            size=np.minimum.reduceat(size, starts),
            calls=np.minimum.reduceat(calls, starts),
            work=least(work),
            transfers=transfers,
            covers=covers,
        )
        return cut, loose


def covering(pricing: Pricing, number: int, dim: Dim, tile: Ints, size: Ints) -> Floats:
    """How many blocks like the first, or of an output the last, it takes to cover that of a `tile` cut along `dim`."""
    operand, extent = pricing.operands[number], pricing.layer.size(dim)
    end = (tile - 1) % size + 1 if operand.role is Role.OUTPUT else size
    result = np.ones(len(tile))
    for axis in pricing.axes[number]:
        if axis.dim is dim:
            shortest = _shortest(axis, np.arange(extent + 1), extent)
            whole, part = shortest[tile], shortest[end]
            covered = np.where(part > 0, -(-whole // np.maximum(part, 1)), math.inf)
            np.maximum(result, covered, out=result)
    return result


def joined(cuts: Sequence[Sequence[Cut]]) -> tuple[dict[Dim, Cut], Ints]:
    """Rows of cuts along `TILED`, one behind the other, and where each begins; shape (4, rows)."""
    result: dict[Dim, Cut] = {}
    starts = np.zeros((len(TILED), len(cuts)), np.int64)
    for place, dim in enumerate(TILED):
        parts = list({id(row[place]): row[place] for row in cuts}.values())
        ends = np.cumsum([0] + [len(cut.size) for cut in parts])
        begin = {id(cut): int(start) for cut, start in zip(parts, ends, strict=False)}
        starts[place] = [begin[id(row[place])] for row in cuts]
        numbers = parts[0].transfers
        result[dim] = Cut(
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


def _shortest(axis: Axis, sizes: Ints, extent: int) -> Ints:
    """The fewest indices that so many of `extent` iterations touch: those at a border."""
    return np.minimum(*(touched(axis, start, sizes) for start in (np.zeros_like(sizes), extent - sizes)))


def _kernels(pricing: Pricing, dim: Dim, sizes: Ints) -> Floats:
    """Cycles of kernel calls on so many iterations of a dimension and all of the others, wherever they cost least."""
    layer = pricing.layer
    extents = {along: sizes if along is dim else np.full_like(sizes, layer.size(along)) for along in TILED}
    seen = {
        axis.dim: _shortest(axis, extents[axis.dim], layer.size(axis.dim)) for axis in (pricing.rows, pricing.columns)
    }
    ends = np.ones_like(sizes)
    columns = (extents[Dim.K], extents[Dim.OY], seen[Dim.OY], extents[Dim.OX], seen[Dim.OX], extents[Dim.C], ends, ends)
    return pricing.kernels(np.stack(columns, axis=1))
