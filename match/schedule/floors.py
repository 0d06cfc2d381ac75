"""Lower bounds of what tilings cost, from the costs of those that cut one dimension alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import NamedTuple

import numpy as np

from match.layer import Dim, Role
from match.schedule.block_costs import Sums
from match.schedule.blocks import touched
from match.schedule.kernel_costs import KernelCosts
from match.schedule.kinds import outer_blocks
from match.schedule.rooms import Floats, Ints
from match.schedule.tiles import TILED, TileCosts


class _Lines(NamedTuple):
    """An operand that is cut along one dimension, by tile size from 0 on.

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
        self._bounds = KernelCosts(gapless, self._costs.along, self._costs.last_block, least_input=True)
        self._candidates = candidates
        self._output = [operand.role is Role.OUTPUT for operand in pricing.operands]
        self._dims = [[dim for dim in TILED if dim in operand.dims] for operand in pricing.operands]
        self._compute = [self._kernels_along(dim) for dim in TILED]
        whole, numbers = np.array([costs.whole]), range(len(pricing.operands))
        self._whole_compute = float(self._costs.kernels.compute(whole)[0])
        self._whole = [float(self._costs.sums(n, whole).transfer[0]) for n in numbers]
        self._lines = [self._blocks_along(n) for n in numbers]
        self.least_moved = [int(self._costs.moved(n, {})) for n in numbers]

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

    def sums(self, operand: int, tiles: Ints) -> Sums:
        """At most `TileCosts.sums`; of the ends, only the one that no kernel hides."""
        transfer = np.full(len(tiles), self._whole[operand])
        ends, parts = transfer.copy(), np.ones(len(tiles))
        for dim, line in self._lines[operand].items():
            sizes = tiles[:, TILED.index(dim)]
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

    def _blocks_along(self, operand: int) -> dict[Dim, _Lines]:
        dims = self._dims[operand]
        sizes = {dim: self._candidates[dim] for dim in dims}
        if not dims:
            return {}
        cuttings = [self._cutting(dim, sizes[dim]) for dim in dims]
        sums = self._costs.sums(operand, np.concatenate(cuttings))
        exposed = sums.last if self._output[operand] else sums.first
        borders = np.cumsum([len(one) for one in cuttings])[:-1]
        result: dict[Dim, _Lines] = {}
        for dim, transfer, end in zip(dims, np.split(sums.transfer, borders), np.split(exposed, borders), strict=True):
            line = _Lines(*np.zeros((3, self._costs.extents[dim] + 1)))
            cover = self._cover(operand, dim, sizes[dim])
            line.transfer[sizes[dim]], line.cover[sizes[dim]] = transfer, cover
            line.ends[sizes[dim]] = np.where(np.isfinite(cover), cover, 0.0) * end
            result[dim] = line
        return result

    def _cover(self, operand: int, dim: Dim, sizes: Ints) -> Floats:
        """Of the outer blocks, the most."""
        pricing, extent = self._costs.pricing, self._costs.extents[dim]
        result = np.ones(len(sizes))
        for (begin, length), _ in outer_blocks(pricing, dim, extent):
            start = (length - 1) // sizes * sizes if self._output[operand] else np.zeros_like(sizes)
            tile = np.minimum(sizes, length - start)
            for axis in pricing.axes[operand]:
                if axis.dim is dim:
                    whole, part = axis.span(begin, length)[1], touched(axis, begin + start, tile)
                    blocks = np.where(part > 0, -(-whole // np.maximum(part, 1)), math.inf)
                    np.maximum(result, blocks, out=result)
        return result
