"""Lower bounds of what the blocks of outer tiles cost on an inner memory, for all outer tiles at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from match.layer import Axis, Dim, Role
from match.schedule.pricing import Pricing
from match.schedule.rooms import Floats, Ints
from match.schedule.sieve import feasible
from match.schedule.tiles import TILED, TileCosts, product

_OUTER: tuple[Dim, ...] = tuple(dim for dim in TILED if dim is not Dim.C)
"""What outer tiles cut."""

CHUNK = 512
"""Inner tiles that are looked at a time."""


class InnerFloors:
    """What any mapping onto the inner memory takes, from the tiles that fit there; `candidates` are of these.

    Rests on `CostModel.regular`: a kernel call on a tile costs no more than those on its parts, and as many blocks as
    cover an operand cost no less than the operand.
    """

    def __init__(self, pricing: Pricing, candidates: Mapping[Dim, Ints]) -> None:
        self._candidates = candidates
        self._places = {dim: _places(candidates[dim]) for dim in _OUTER}
        costs = TileCosts(pricing)
        pricing = pricing.gapless()
        tiles = feasible(costs, None, candidates).tiles
        sizes = {dim: tiles[:, n] for n, dim in enumerate(TILED)}
        self._launch = pricing.launch
        self._lines = [_line(pricing, dim, candidates[dim]) for dim in _OUTER]
        self._counts = [_counts(costs.extents[dim], candidates[dim]) for dim in _OUTER]
        self._reductions = _reductions(pricing, candidates[Dim.C])[sizes[Dim.C]]
        self._reduced = -(-costs.extents[Dim.C] // sizes[Dim.C])
        self._index = self._positions(tiles)
        work = [line.min(axis=1)[at] for line, at in zip(self._lines, self._index, strict=True)]
        self._work = np.maximum.reduce([*work, self._reductions]) + product(costs.counts(tiles).values()) * self._launch
        self._restart = 2 * pricing.issue + _ends(pricing, sizes)
        self._order = np.argsort(self._work, kind="stable")
        self.least = float(self._work.min(initial=np.inf))

    def cycles(self, tiles: Ints, blocks: Ints) -> Floats:
        """Cycles, without the layer's overhead, of outer tiles that make so many full blocks; shapes (n, 4), (n,)."""
        powers = np.floor(np.log2(blocks)).astype(np.int64)
        result = np.zeros(len(tiles))
        index = self._positions(tiles)
        for power in np.unique(powers).tolist():
            rows = powers == power
            result[rows] = self._table(2**power)[tuple(places[rows] for places in index)]
        return result

    def refined(self, tiles: Ints, blocks: Ints) -> Floats:
        """As `cycles`, from how the inner tiles divide each of the outer ones."""
        places = zip(*(index.tolist() for index in self._positions(tiles)), strict=True)
        return np.array([self._refined(at, count) for at, count in zip(places, blocks.tolist(), strict=True)])

    def _refined(self, outer: tuple[int, ...], blocks: int) -> float:
        least, fixed = np.inf, blocks * float(self._restart.min(initial=np.inf))
        for begin in range(0, len(self._order), CHUNK):
            rows = self._order[begin : begin + CHUNK]
            if self._work[rows[0]] + fixed >= least:
                break
            inner = [index[rows] for index in self._index]
            along = list(zip(inner, outer, strict=True))
            lines = [line[one, other] for line, (one, other) in zip(self._lines, along, strict=True)]
            cycles = np.maximum.reduce([*lines, self._reductions[rows]])
            calls = product(counts[one, other] for counts, (one, other) in zip(self._counts, along, strict=True))
            calls = calls * self._reduced[rows]
            least = min(least, (cycles + calls * self._launch + blocks * self._restart[rows]).min())
        return float(least)

    def _table(self, blocks: int) -> Floats:
        """By outer tile, of those that make at least so many full blocks."""
        result = np.full([len(self._candidates[dim]) for dim in _OUTER], np.inf)
        np.minimum.at(result, self._index, self._work + blocks * self._restart)
        for axis in range(len(_OUTER)):  # inner tiles are at most as large
            np.minimum.accumulate(result, axis=axis, out=result)
        return result

    def _positions(self, tiles: Ints) -> tuple[Ints, ...]:
        return tuple(self._places[dim][tiles[:, TILED.index(dim)]] for dim in _OUTER)


def _places(sizes: Ints) -> Ints:
    result = np.zeros(sizes[-1] + 1, np.int64)
    result[sizes] = np.arange(len(sizes))
    return result


def _line(pricing: Pricing, dim: Dim, candidates: Ints) -> Floats:
    """Cycles of all kernel calls, by inner and outer tile size, when these cut `dim` alone; shape (inner, outer)."""
    extent = pricing.layer.size(dim)
    piece = np.array([0.0] + [_kernel(pricing, dim, size) for size in range(1, extent + 1)])
    result = np.full((len(candidates), len(candidates)), np.inf)
    for n, size in enumerate(candidates.tolist()):
        outer = candidates[n:]
        full, rest = extent // outer, extent % outer
        whole = outer // size * piece[size] + piece[outer % size]
        result[n, n:] = full * whole + rest // size * piece[size] + piece[rest % size]
    return result


def _counts(extent: int, candidates: Ints) -> Ints:
    """Into how many pieces inner and outer tile sizes cut a dimension; shape (inner, outer)."""
    inner, outer = candidates[:, None], candidates[None, :]
    return extent // outer * -(-outer // inner) + -(-(extent % outer) // inner)


def _kernel(pricing: Pricing, dim: Dim, size: int) -> float:
    """Cycles of a kernel call on `size` iterations of a dimension and all of the others, wherever it costs least."""
    layer = pricing.layer

    def pixels(along: Dim, axis: Axis) -> tuple[int, int]:
        extent = layer.size(along)
        if along is not dim:
            return extent, axis.span(0, extent)[1]
        return size, min(axis.span(start, size)[1] for start in (0, extent - size))

    k = size if dim is Dim.K else layer.k
    return pricing.kernel(k, pixels(Dim.OY, pricing.rows), pixels(Dim.OX, pricing.columns), (layer.c, True, True))


def _reductions(pricing: Pricing, candidates: Ints) -> Floats:
    """Cycles of all kernel calls, by inner tile size, when inner tiles cut the input channels alone."""
    costs = TileCosts(pricing)
    result = np.zeros(pricing.layer.c + 1)
    tiles = [[size if dim is Dim.C else costs.extents[dim] for dim in TILED] for size in candidates.tolist()]
    result[candidates] = costs.kernels.compute(np.array(tiles))
    return result


def _ends(pricing: Pricing, sizes: Mapping[Dim, Ints]) -> Floats:
    """DMA cycles beside which no kernel runs: of the first block of each input."""
    result = np.zeros(())
    for number, operand in enumerate(pricing.operands):
        if operand.role is Role.OUTPUT:  # its last block may be a small rest
            continue
        axes = pricing.axes[number]
        whole = {dim: (0, pricing.layer.size(dim)) for dim in Dim}
        move = pricing.move(number, whole, {dim: extent for dim, (_, extent) in whole.items()})
        cover = np.ones(())
        for dim in TILED:
            if dim in operand.dims:
                cover = cover * _cover([axis for axis in axes if axis.dim is dim], whole[dim][1])[sizes[dim]]
        result = result + move.transfer / cover
    return result


def _cover(axes: list[Axis], extent: int) -> Floats:
    """How many blocks of each size it takes to cover an operand along some axes, wherever one is smallest."""
    result = np.ones(extent + 1)
    for size in range(1, extent + 1):
        for axis in axes:
            least = min(axis.span(start, size)[1] for start in (0, extent - size))
            whole = axis.span(0, extent)[1]
            result[size] = max(result[size], -(-whole // least) if least else np.inf)
    return result
