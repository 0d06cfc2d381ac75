"""Outer tiles that make the same number of blocks along each dimension, bounded together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

from match.ir.layer import Dim, Role
from match.schedule.block_costs import Sums
from match.schedule.floors import Floors
from match.schedule.inner_cuts import Cell, covering
from match.schedule.rooms import Flags, Floats, Ints
from match.schedule.tiles import TILED, TileCosts


class OuterCells:
    """The cells of a layer's outer tiles, `candidates` being their sizes. Also what all tiles of a cell cost at least.

    Of more than `grid` outer tiles a cell is divided into some only; what the others may gain is the schedule's loss.
    tiles: the smallest tile of each cell in which blocks fit. last: the largest, whose last block is the smallest.
    """

    def __init__(self, costs: TileCosts, candidates: Mapping[Dim, Ints], floors: Floors, grid: float) -> None:
        self._costs = costs
        self._floors = floors
        self._sizes = {dim: _by_number(candidates[dim], costs.extents[dim]) for dim in TILED}
        self._all = math.prod(len(candidates[dim]) for dim in TILED) <= grid
        self._lines: dict[tuple[int, Dim], tuple[Floats, Floats]] = {}
        grids = np.meshgrid(*([sizes[0] for sizes in self._sizes[dim]] for dim in TILED), indexing="ij")
        tiles = np.stack([grid.ravel() for grid in grids], axis=1).astype(np.int64)
        needs = costs.blocks({dim: tiles[:, n] for n, dim in enumerate(TILED)})
        self.tiles: Ints = tiles[
            np.broadcast_to(costs.rooms.fit(needs, np.array(costs.pricing.memory.size)), len(tiles))
        ]
        largest = {dim: {sizes[0]: sizes[-1] for sizes in self._sizes[dim]} for dim in TILED}
        self.last = np.array(
            [[largest[dim][size] for dim, size in zip(TILED, tile, strict=True)] for tile in self.tiles.tolist()]
        ).reshape(-1, len(TILED))
        self._members = {dim: {sizes[0]: sizes for sizes in self._sizes[dim]} for dim in TILED}

    def cell(self, row: int) -> Cell:
        """The sizes of a cell's tiles."""
        return tuple(self._members[dim][size] for dim, size in zip(TILED, self.tiles[row].tolist(), strict=True))

    def divided(self, row: int) -> tuple[Ints, bool]:
        """Tiles of a cell that fit, shape (n, 4), and whether these are all."""
        cell = self.cell(row)
        chosen = [list(sizes) if self._all else _some(sizes) for sizes in cell]
        complete = all(len(one) == len(sizes) for one, sizes in zip(chosen, cell, strict=True))
        tiles = np.array(list(itertools.product(*chosen)), np.int64)
        return tiles[self._fit(tiles)], complete

    def _fit(self, tiles: Ints) -> Flags:
        needs = self._costs.blocks({dim: tiles[:, n] for n, dim in enumerate(TILED)})
        return np.broadcast_to(self._costs.rooms.fit(needs, np.array(self._costs.pricing.memory.size)), len(tiles))

    def compute(self, tiles: Ints) -> Floats:
        """At most the cycles of kernel calls: nothing."""
        return np.zeros(len(tiles))

    def sums_by_size(self, operand: int, sizes: Mapping[Dim, Ints]) -> Sums:
        """At most `TileCosts.sums_by_size` of any tile of the cells whose smallest have these sizes."""
        tensor = self._costs.pricing.operands[operand]
        whole = self._floors.sums_by_size(operand, {}).transfer
        transfer, covers = whole, np.ones(())
        for dim, size in sizes.items():
            if dim in tensor.dims:
                line, cover = self._line(operand, dim)
                cut = size < self._costs.extents[dim]
                transfer = np.maximum(transfer, np.where(cut, line[size], 0.0))
                covers = covers * np.where(cut, cover[size], 1.0)
        end, nothing = whole / covers, np.zeros(covers.shape)
        return Sums(transfer, nothing, end) if tensor.role is Role.OUTPUT else Sums(transfer, end, nothing)

    def _line(self, operand: int, dim: Dim) -> tuple[Floats, Floats]:
        """By the smallest size: the least DMA cycles of all blocks, how many like that at the end cover the operand."""
        known = self._lines.get((operand, dim))
        if known is None:
            costs = self._costs
            extent, place = costs.extents[dim], TILED.index(dim)
            sizes = np.concatenate([np.array(one) for one in self._sizes[dim]])
            smallest = np.repeat([one[0] for one in self._sizes[dim]], [len(one) for one in self._sizes[dim]])
            tiles = np.array([costs.whole]).repeat(len(sizes), axis=0)
            tiles[:, place] = sizes
            known = np.full(extent + 1, math.inf), np.zeros(extent + 1)
            np.minimum.at(known[0], smallest, self._floors.sums(operand, tiles).transfer)
            covers = covering(costs.pricing.gapless(), operand, dim, np.full_like(sizes, extent), sizes)
            np.maximum.at(known[1], smallest, covers)
            self._lines[operand, dim] = known
        return known


def _by_number(sizes: Ints, extent: int) -> list[tuple[int, ...]]:
    """Rising tile sizes, those together that make the same number of tiles."""
    return [tuple(group) for _, group in itertools.groupby(sizes.tolist(), lambda size: -(-extent // size))]


def _some(sizes: tuple[int, ...]) -> list[int]:
    """The least of some sizes, and the next that are multiples of 4 and of 16."""
    least = [sizes[0], *(next((size for size in sizes if size % n == 0), sizes[-1]) for n in (4, 16))]
    return sorted({*least})


def fitting_sizes(costs: TileCosts, candidates: Mapping[Dim, Ints]) -> dict[Dim, Ints] | None:
    """The tile sizes with which some block fits; None if there are none."""
    result: dict[Dim, Ints] = {}
    for dim in TILED:
        sizes = {d: candidates[d] if d is dim else candidates[d][:1] for d in TILED}
        fits = costs.rooms.fit(costs.blocks(sizes), np.array(costs.pricing.memory.size))
        result[dim] = candidates[dim][np.broadcast_to(fits, len(candidates[dim]))]
    return result if all(len(sizes) for sizes in result.values()) else None
