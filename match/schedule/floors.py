"""Lower bounds of what tilings cost, from the costs of those that cut one dimension alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from match.layer import Dim, Role
from match.schedule.kinds import Kinds
from match.schedule.rooms import Ints
from match.schedule.tiles import TILED, Floats, Sums, TileCosts


class _Line(NamedTuple):
    """An operand that is cut along one dimension; arrays over tile sizes, 0 included.

    transfer: DMA cycles of all blocks. cover: how many blocks like the one at the end it takes to cover the operand,
    infinite if that one is empty. ends: DMA cycles of so many.
    """

    transfer: Floats
    cover: Floats
    ends: Floats


class Floors:
    """Stands in for `TileCosts` where a bound will do: a few hundred costs, once, instead of some for every tile.

    Rests on `CostModel.regular`: a tiling costs no less than one that cuts fewer dimensions into the same sizes. The
    end of an operand is its first block, for an output the last one: those are the transfers that no kernel hides.
    `least_moved` are the bytes of each operand when every element that is needed moves once.
    """

    def __init__(self, costs: TileCosts, candidates: Mapping[Dim, Ints]) -> None:
        pricing = costs.pricing
        gapless = pricing.gapless()
        self._costs = costs if gapless is pricing else TileCosts(gapless, costs.outer, costs.packing)
        self._candidates = candidates
        self._output = [operand.role is Role.OUTPUT for operand in pricing.operands]
        self._dims = [[dim for dim in TILED if dim in operand.dims] for operand in pricing.operands]
        self._compute = [self._by_size(dim, self._costs.compute(self.tiles_along(dim))) for dim in TILED]
        self._lines: dict[int, dict[Dim, _Line]] = {}
        whole, numbers = np.array([costs.whole]), range(len(pricing.operands))
        self._whole_compute = float(self._costs.compute(whole)[0])
        self._whole = [float(self._costs.sums(n, frozenset(), whole).transfer[0]) for n in numbers]
        self.least_moved = [int(self._costs.moved(n, frozenset(), whole)) for n in numbers]

    def compute(self, tiles: Ints) -> Floats:
        """At most `TileCosts.compute`."""
        result = np.full(len(tiles), self._whole_compute)
        for n, line in enumerate(self._compute):
            np.maximum(result, line[tiles[:, n]], out=result)
        return result

    def compute_cutting(self, dims: Collection[Dim], tiles: Ints) -> Floats:
        """At most `TileCosts.compute`: of tilings that cut `dims` alone, each of which stands for many."""
        cut = np.where([dim in dims for dim in TILED], tiles, self._costs.whole)
        place = np.ravel_multi_index(tuple(cut.T), tuple(size + 1 for size in self._costs.whole))
        _, rows, which = np.unique(place, return_index=True, return_inverse=True)
        return self._costs.compute(cut[rows])[which]

    def sums(self, operand: int, dims: frozenset[Dim], tiles: Ints) -> Sums:
        """At most `TileCosts.sums`; of the ends, only the one that no kernel hides."""
        if operand not in self._lines:
            self._lines[operand] = {dim: self._line(operand, dim) for dim in self._dims[operand]}
        transfer = np.full(len(tiles), self._whole[operand])
        ends, parts = transfer.copy(), np.ones(len(tiles))
        for n, dim in enumerate(TILED):
            if dim in dims:
                line, sizes = self._lines[operand][dim], tiles[:, n]
                np.maximum(transfer, line.transfer[sizes], out=transfer)
                np.maximum(ends, line.ends[sizes], out=ends)
                parts *= line.cover[sizes]
        end, nothing = ends / parts, np.zeros(len(tiles))
        return Sums(transfer, nothing, end) if self._output[operand] else Sums(transfer, end, nothing)

    def tiles_along(self, dim: Dim) -> Ints:
        """The tiles that cut `dim` alone, one for each candidate size."""
        sizes = self._candidates[dim]
        return np.stack([sizes if d is dim else np.full_like(sizes, self._costs.extents[d]) for d in TILED], axis=1)

    def _by_size(self, dim: Dim, values: Floats) -> Floats:
        result = np.zeros(self._costs.extents[dim] + 1)
        result[self._candidates[dim]] = values
        return result

    def _line(self, operand: int, dim: Dim) -> _Line:
        sums = self._costs.sums(operand, frozenset((dim,)), self.tiles_along(dim))
        cover = self._cover(operand, dim)
        end = sums.last if self._output[operand] else sums.first
        ends = np.where(np.isfinite(cover), cover, 0.0) * end
        return _Line(*(self._by_size(dim, values) for values in (sums.transfer, cover, ends)))

    def _cover(self, operand: int, dim: Dim) -> Floats:
        """Of the outer blocks, the most."""
        pricing, extent = self._costs.pricing, self._costs.extents[dim]
        axes = [axis for axis in pricing.axes[operand] if axis.dim is dim]
        kinds = Kinds(pricing, dim, extent, lambda span, _: tuple(axis.span(*span)[1] for axis in axes))
        wholes = [look for look, _ in kinds.first(extent)]
        result: list[float] = []
        for size in self._candidates[dim].tolist():
            ends = kinds.last(size) if self._output[operand] else kinds.first(size)
            result.append(
                max(
                    1,
                    *(
                        -(-length // n) if n else math.inf
                        for whole, (end, _) in zip(wholes, ends, strict=True)
                        for length, n in zip(whole, end, strict=True)
                    ),
                )
            )
        return np.array(result)
