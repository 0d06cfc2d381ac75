"""Lower bounds of what tilings cost, from the costs of those that cut one dimension alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import numpy as np

from match.layer import Axis, Dim, Role
from match.schedule.kernel_costs import KernelCosts
from match.schedule.kinds import Kinds
from match.schedule.rooms import Ints
from match.schedule.tiles import TILED, Floats, Sums, TileCosts


class _Line:
    """An operand that is cut along one dimension; arrays over tile sizes, 0 included, as far as they are `known`.

    transfer: DMA cycles of all blocks. cover: how many blocks like the one at the end it takes to cover the operand,
    infinite if that one is empty. ends: DMA cycles of so many.
    """

    def __init__(self, extent: int) -> None:
        self.known = np.zeros(extent + 1, np.bool_)
        self.transfer, self.cover, self.ends = np.zeros((3, extent + 1))


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
        self._bounds = KernelCosts(gapless, self._costs.kinds, least_input=True)
        self._candidates = candidates
        self._output = [operand.role is Role.OUTPUT for operand in pricing.operands]
        self._dims = [[dim for dim in TILED if dim in operand.dims] for operand in pricing.operands]
        self._compute = [self._kernels_along(dim) for dim in TILED]
        self._lines = [{dim: _Line(costs.extents[dim]) for dim in dims} for dims in self._dims]
        whole, numbers = np.array([costs.whole]), range(len(pricing.operands))
        self._whole_compute = float(self._costs.kernels.compute(whole)[0])
        self._whole = [float(self._costs.sums(n, frozenset(), whole).transfer[0]) for n in numbers]
        self.least_moved = [int(self._costs.moved(n, frozenset(), whole)) for n in numbers]

    def compute(self, tiles: Ints) -> Floats:
        """At most `KernelCosts.compute`."""
        result = np.full(len(tiles), self._whole_compute)
        for n, line in enumerate(self._compute):
            np.maximum(result, line[tiles[:, n]], out=result)
        return result

    def compute_cutting(self, dims: Collection[Dim], tiles: Ints) -> Floats:
        """At most `KernelCosts.compute`: of tilings that cut `dims` alone, each of which stands for many.

        Where tiles cut no other dimensions it is all that follows from the promise, else a little less.
        """
        others = [n for n, dim in enumerate(TILED) if dim not in dims]
        whole = (tiles[:, others] == np.array(self._costs.whole)[others]).all()
        costs = self._costs.kernels if whole else self._bounds
        cut = np.where([dim in dims for dim in TILED], tiles, self._costs.whole)
        place = np.ravel_multi_index(tuple(cut.T), tuple(size + 1 for size in self._costs.whole))
        _, rows, which = np.unique(place, return_index=True, return_inverse=True)
        return costs.compute(cut[rows])[which]

    def sums(self, operand: int, dims: frozenset[Dim], tiles: Ints) -> Sums:
        """At most `TileCosts.sums`; of the ends, only the one that no kernel hides."""
        transfer = np.full(len(tiles), self._whole[operand])
        ends, parts = transfer.copy(), np.ones(len(tiles))
        for n, dim in enumerate(TILED):
            if dim in dims:
                sizes = tiles[:, n]
                line = self._line(operand, dim, sizes)
                np.maximum(transfer, line.transfer[sizes], out=transfer)
                np.maximum(ends, line.ends[sizes], out=ends)
                parts *= line.cover[sizes]
        end, nothing = ends / parts, np.zeros(len(tiles))
        return Sums(transfer, nothing, end) if self._output[operand] else Sums(transfer, end, nothing)

    def _cutting(self, dim: Dim, sizes: Ints) -> Ints:
        """The tiles that cut `dim` alone, one for each size."""
        return np.stack([sizes if d is dim else np.full_like(sizes, self._costs.extents[d]) for d in TILED], axis=1)

    def _kernels_along(self, dim: Dim) -> Floats:
        result, sizes = np.zeros(self._costs.extents[dim] + 1), self._candidates[dim]
        result[sizes] = self._costs.kernels.compute(self._cutting(dim, sizes))
        return result

    def _line(self, operand: int, dim: Dim, sizes: Ints) -> _Line:
        """What is known of an operand that is cut along `dim`, these sizes at least."""
        line = self._lines[operand][dim]
        if not line.known[sizes].all():
            missing = np.unique(sizes[~line.known[sizes]])
            sums = self._costs.sums(operand, frozenset((dim,)), self._cutting(dim, missing))
            cover = self._cover(operand, dim, missing)
            end = sums.last if self._output[operand] else sums.first
            line.transfer[missing], line.cover[missing] = sums.transfer, cover
            line.ends[missing] = np.where(np.isfinite(cover), cover, 0.0) * end
            line.known[missing] = True
        return line

    def _cover(self, operand: int, dim: Dim, sizes: Ints) -> Floats:
        """Of the outer blocks, the most."""
        pricing, extent = self._costs.pricing, self._costs.extents[dim]
        result = np.ones(len(sizes))
        for begin, length in Kinds(pricing, dim, extent, lambda span, _: span).spans:
            start = (length - 1) // sizes * sizes if self._output[operand] else np.zeros_like(sizes)
            tile = np.minimum(sizes, length - start)
            for axis in pricing.axes[operand]:
                if axis.dim is dim:
                    whole, touched = axis.span(begin, length)[1], _touched(axis, begin + start, tile)
                    blocks = np.where(touched > 0, -(-whole // np.maximum(touched, 1)), math.inf)
                    np.maximum(result, blocks, out=result)
        return result


def _touched(axis: Axis, start: Ints, tile: Ints) -> Ints:
    """The second of `Axis.span`, of arrays."""
    begin = start * axis.stride - axis.before
    end = np.minimum(axis.limit, begin + (tile - 1) * axis.stride + axis.window)
    return np.maximum(0, end - np.maximum(0, begin))
