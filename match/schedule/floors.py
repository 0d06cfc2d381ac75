"""Lower bounds of what tilings cost, from the costs of those that cut one dimension alone."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from match.ir.layer import Dim, Role
from match.schedule.block_costs import Sums
from match.schedule.blocks import touched
from match.schedule.kernel_costs import KernelCosts
from match.schedule.kinds import outer_blocks
from match.schedule.rooms import Floats, Ints
from match.schedule.tiles import TILED, TileCosts

COUNTED = 1 << 16
"""Tilings are counted among so many: more than any number that matters, and no more bytes than a cache has."""


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
        self._costs = costs if gapless is pricing else TileCosts(gapless, costs.outer, costs.packing, costs.sizes)
        self._candidates = candidates
        self._output = [operand.role is Role.OUTPUT for operand in pricing.operands]
        self._compute = self._kernels_along()
        self.least_moved = [int(self._costs.moved(n, {})) for n in range(len(pricing.operands))]

    def among(self, candidates: Mapping[Dim, Ints]) -> Floors:
        """The same of tiles of these sizes alone, with fewer blocks to ask for."""
        result = copy.copy(self)
        vars(result).pop("_lines", None)
        result._candidates = candidates
        return result

    @cached_property
    def _lines(self) -> list[tuple[float, dict[Dim, _Lines]]]:
        operands = self._costs.pricing.operands
        return [self._blocks_along(n, operand.dims) for n, operand in enumerate(operands)]

    @cached_property
    def _bounds(self) -> KernelCosts:
        return KernelCosts(self._costs.pricing, self._costs.along, least_input=True)

    def compute(self, tiles: Ints) -> Floats:
        """At most `KernelCosts.compute`."""
        return functools.reduce(np.maximum, (self._compute[dim][tiles[:, n]] for n, dim in enumerate(TILED)))

    def compute_cutting(self, dims: Collection[Dim], tiles: Ints) -> Floats:
        """At most `KernelCosts.compute`: of tilings that cut `dims` alone, each of which stands for many.

        Where tiles cut no other dimensions it is all that follows from the promise, else a little less.
        """
        others = [n for n, dim in enumerate(TILED) if dim not in dims]
        whole = (tiles[:, others] == np.array(self._costs.whole)[others]).all()
        costs = self._costs.kernels if whole else self._bounds
        _, rows, which = np.unique(self._places(dims, tiles), return_index=True, return_inverse=True)
        cut = np.where([dim in dims for dim in TILED], tiles[rows], self._costs.whole)
        return costs.compute(cut)[which]

    def tilings_cutting(self, dims: Collection[Dim], tiles: Ints) -> int:
        """Of how many tilings `compute_cutting` takes the costs; of many it may be a few less."""
        return int(np.count_nonzero(np.bincount(self._places(dims, tiles) % COUNTED)))

    def _places(self, dims: Collection[Dim], tiles: Ints) -> Ints:
        """Of tilings that cut `dims` alone among all such."""
        cut = [n for n, dim in enumerate(TILED) if dim in dims]
        return np.asarray(np.ravel_multi_index(tuple(tiles[:, cut].T), tuple(self._costs.whole[n] + 1 for n in cut)))

    def sums(self, operand: int, tiles: Ints) -> Sums:
        """At most `TileCosts.sums`; of the ends, only the one that no kernel hides."""
        return self.sums_by_size(operand, {dim: tiles[:, n] for n, dim in enumerate(TILED)})

    def sums_by_size(self, operand: int, sizes: Mapping[Dim, Ints]) -> Sums:
        """At most `TileCosts.sums_by_size`."""
        whole, lines = self._lines[operand]
        transfer = ends = np.array(whole)
        parts = np.ones(())
        for dim, line in lines.items():
            size = sizes.get(dim, self._costs.extents[dim])
            transfer = np.maximum(transfer, line.transfer[size])
            ends = np.maximum(ends, line.ends[size])
            parts = parts * line.cover[size]
        end, nothing = ends / parts, np.zeros(transfer.shape)
        return Sums(transfer, nothing, end) if self._output[operand] else Sums(transfer, end, nothing)

    def _cutting(self, dims: Sequence[Dim]) -> list[Ints]:
        """For each of `dims`, the tiles that cut it alone."""
        return [self._costs.cutting(dim, self._candidates[dim]) for dim in dims]

    def _rows(self, dims: Sequence[Dim]) -> Iterator[tuple[Dim, slice]]:
        """Which of these cut each dimension, one behind the other."""
        begin = 0
        for dim in dims:
            end = begin + len(self._candidates[dim])
            yield dim, slice(begin, end)
            begin = end

    def _kernels_along(self) -> dict[Dim, Floats]:
        cycles = self._costs.kernels.compute(np.concatenate(self._cutting(TILED)))
        result = {dim: np.zeros(self._costs.extents[dim] + 1) for dim in TILED}
        for dim, rows in self._rows(TILED):
            result[dim][self._candidates[dim]] = cycles[rows]
        return result

    def _blocks_along(self, operand: int, cut: Collection[Dim]) -> tuple[float, dict[Dim, _Lines]]:
        """DMA cycles of an operand that is not cut, and what it costs cut along each dimension."""
        dims = [dim for dim in TILED if dim in cut]
        sums = self._costs.sums(operand, np.concatenate([*self._cutting(dims), [self._costs.whole]]))
        end = sums.last if self._output[operand] else sums.first
        result: dict[Dim, _Lines] = {}
        for dim, rows in self._rows(dims):
            extent, sizes = self._costs.extents[dim], self._candidates[dim]
            line = result[dim] = _Lines(np.zeros(extent + 1), np.ones(extent + 1), np.zeros(extent + 1))
            cover = self._cover(operand, dim, sizes)
            line.transfer[sizes], line.cover[sizes] = sums.transfer[rows], cover
            line.ends[sizes] = np.where(np.isfinite(cover), cover, 0.0) * end[rows]
        return float(sums.transfer[-1]), result

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
