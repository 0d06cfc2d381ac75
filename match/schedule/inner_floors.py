"""Lower bounds of what the blocks of outer tiles cost on an inner memory, for all outer tiles at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from match.layer import Axis, Dim, Role
from match.schedule.pricing import Pricing
from match.schedule.rooms import Ints
from match.schedule.sieve import feasible
from match.schedule.tiles import TILED, Floats, TileCosts, product

_OUTER: tuple[Dim, ...] = tuple(dim for dim in TILED if dim is not Dim.C)
"""What outer tiles cut."""


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
        compute = [_line(pricing, dim, candidates[dim])[sizes[dim]] for dim in _OUTER]
        compute.append(_reductions(pricing, candidates[Dim.C])[sizes[Dim.C]])
        self._index = self._positions(tiles)
        self._work = np.maximum.reduce(compute) + product(costs.counts(tiles).values()) * pricing.launch
        self._restart = 2 * pricing.issue + _ends(pricing, sizes)
        self._tables: dict[int, Floats] = {}

    def cycles(self, tiles: Ints, blocks: Ints) -> Floats:
        """Cycles, without the layer's overhead, of outer tiles that make so many full blocks; shapes (n, 4), (n,)."""
        powers = np.floor(np.log2(blocks)).astype(np.int64)
        result = np.zeros(len(tiles))
        index = self._positions(tiles)
        for power in np.unique(powers).tolist():
            rows = powers == power
            result[rows] = self._table(power)[tuple(places[rows] for places in index)]
        return result

    def _table(self, power: int) -> Floats:
        """By outer tile, of those that make at least 2 ** `power` blocks."""
        known = self._tables.get(power)
        if known is None:
            known = np.full([len(self._candidates[dim]) for dim in _OUTER], np.inf)
            np.minimum.at(known, self._index, self._work + 2**power * self._restart)
            for axis in range(len(_OUTER)):  # inner tiles are at most as large
                np.minimum.accumulate(known, axis=axis, out=known)
            self._tables[power] = known
        return known

    def _positions(self, tiles: Ints) -> tuple[Ints, ...]:
        return tuple(self._places[dim][tiles[:, TILED.index(dim)]] for dim in _OUTER)


def _places(sizes: Ints) -> Ints:
    result = np.zeros(sizes[-1] + 1, np.int64)
    result[sizes] = np.arange(len(sizes))
    return result


def _line(pricing: Pricing, dim: Dim, candidates: Ints) -> Floats:
    """Cycles of all kernel calls, by inner tile size, when outer and inner tiles cut `dim` alone: the least of all."""
    extent = pricing.layer.size(dim)
    piece = np.array([0.0] + [_kernel(pricing, dim, size) for size in range(1, extent + 1)])
    result = np.zeros(extent + 1)
    for size in candidates.tolist():
        outer = candidates[candidates >= size]
        full, rest = extent // outer, extent % outer
        whole = outer // size * piece[size] + piece[outer % size]
        result[size] = (full * whole + rest // size * piece[size] + piece[rest % size]).min()
    return result


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
    result[candidates] = costs.compute(np.array(tiles))
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
