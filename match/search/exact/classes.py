"""Equivalence classes of the tiles along one dimension, for all tile sizes at once, and sums over them.

Two tiles are in one class if they look the same to the cost model. The cost of a tiling is the sum over all
combinations of classes along its dimensions: number of tiles times price.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from match.ir.layer import Dim
from match.prediction.arrays import Ints
from match.prediction.prices import Prices


class Tiles(NamedTuple):
    """Some tiles along one dimension; arrays of shape (tiles,), in iterations.

    `row` is the number of the tile size, `full` that size. `start` and `size` are the tile's, `begin` and `extent`
    those of its outer block. `times` is the number of equal tiles.
    """

    row: Ints
    full: Ints
    start: Ints
    size: Ints
    begin: Ints
    extent: Ints
    times: Ints


Asked = Callable[[Tiles], Sequence[npt.NDArray[Any]]]
"""Gives the numbers that describe tiles to a cost model, an array of shape (tiles,) for each number."""


class Table(NamedTuple):
    """Classes of the tiles of each size: their numbers, and how many tiles are of each; shape (sizes, columns)."""

    number: Ints
    times: Ints

    def summed(self, prices: npt.NDArray[Any], axis: int) -> npt.NDArray[Any]:
        """The sum over the tiles of each size, along an axis on which `prices` have an entry for each class."""
        shape = [1] * prices.ndim
        shape[axis] = -1
        result: npt.NDArray[Any] | None = None
        for number, times in zip(self.number.T, self.times.T, strict=True):
            part = prices.take(number, axis)
            if (times != 1).any():
                part *= times.reshape(shape)
            result = part if result is None else np.add(result, part, out=result)
        assert result is not None, "every size has a tile"
        return result

    def largest(self, prices: npt.NDArray[Any], axis: int) -> npt.NDArray[Any]:
        """The largest over the tiles of each size, along an axis on which `prices` have an entry for each class."""
        shape = [1] * prices.ndim
        shape[axis] = -1
        columns = zip(self.number.T, self.times.T, strict=True)
        parts = (prices.take(number, axis) * (times > 0).reshape(shape) for number, times in columns)
        return functools.reduce(np.maximum, parts)


class Classes(NamedTuple):
    """The classes along one dimension.

    `looks` are the numbers that a cost model is told, an array of shape (classes,) for each. `every` is of all tiles,
    `first` and `last` of the first and the last one in each outer block.
    """

    looks: tuple[npt.NDArray[Any], ...]
    every: Table
    first: Table
    last: Table

    def of(self, sizes: slice) -> Classes:
        """Those of the tiles of some sizes."""
        times = self.every.times[sizes]
        columns = times.any(axis=0)
        used, number = np.unique(self.every.number[sizes][:, columns], return_inverse=True)
        first, last = (
            Table(np.searchsorted(used, ends.number[sizes]), ends.times[sizes]) for ends in (self.first, self.last)
        )
        times = times[:, columns]
        return Classes(tuple(look[used] for look in self.looks), Table(number.reshape(times.shape), times), first, last)


class Along:
    """The tiles along one dimension of `sizes`, which rise to that of an outer block, in all outer blocks.

    Without a memory outside, the outer block is the layer.
    """

    def __init__(self, prices: Prices, dim: Dim, sizes: Ints) -> None:
        self.sizes = sizes
        outer, rows, one = int(sizes[-1]), np.arange(len(sizes)), np.ones_like(sizes)
        self.blocks = blocks_along(prices, dim, outer)
        groups: tuple[list[Tiles], ...] = ([], [], [])
        for (begin, extent), times in self.blocks:
            low, high = prices.unclipped(dim, begin + extent)
            ways = (
                _alike(sizes, extent, low - begin, high - begin),
                (rows, np.zeros_like(sizes), one),
                (rows, (extent - 1) // sizes, one),
            )
            for group, (row, index, count) in zip(groups, ways, strict=True):
                full = sizes[row]
                start, block = index * full, (np.full_like(full, begin), np.full_like(full, extent))
                group.append(Tiles(row, full, begin + start, np.minimum(full, extent - start), *block, times * count))
        self._tiles = [Tiles(*map(np.concatenate, zip(*group, strict=True))) for group in groups]
        self.counts = np.bincount(self._tiles[0].row, self._tiles[0].times).astype(np.int64)
        self._known: dict[Hashable, Classes] = {}

    def classes(self, who: Hashable, asked: Asked) -> Classes:
        """The classes of the tiles by what is `asked` about them, which is the same whenever `who` asks."""
        if who not in self._known:
            columns = [np.concatenate(some) for some in zip(*map(asked, self._tiles), strict=True)]
            _, place, number = np.unique(_digits(columns), return_index=True, return_inverse=True)
            numbers = np.split(number, np.cumsum([len(tiles.row) for tiles in self._tiles])[:-1])
            tables = [_table(tiles, some, len(place)) for tiles, some in zip(self._tiles, numbers, strict=True)]
            self._known[who] = Classes(tuple(column[place] for column in columns), *tables)
        return self._known[who]


def blocks_along(prices: Prices, dim: Dim, outer: int) -> list[tuple[tuple[int, int], int]]:
    """The blocks of `outer` iterations of a dimension: the start and extent of one of each class, and their number."""
    extent = prices.layer.size(dim)
    return [
        ((run.first * outer, min(outer, extent - run.first * outer)), run.last - run.first + 1)
        for run in prices.runs(dim, 0, extent, outer)
    ]


def _alike(sizes: Ints, extent: int, low: int, high: int) -> tuple[Ints, Ints, Ints]:
    """Tiles of all sizes in a block: the numbers of their sizes, their places along it, how many are like each.

    Those that lie between `low` and `high` are alike if they are as large as the size.
    """
    count = -(-extent // sizes)
    first = np.maximum(0, -(-low // sizes))
    alike = np.maximum(0, np.minimum(extent, high) // sizes - first)
    apart = count - alike
    each = np.repeat(np.arange(len(sizes)), apart)
    index = np.arange(len(each)) - np.repeat(np.cumsum(apart) - apart, apart)
    index = index + np.where(index < first[each], 0, alike[each])
    many = np.nonzero(alike)[0]
    return (
        np.concatenate([each, many]),
        np.concatenate([index, first[many]]),
        np.concatenate([np.ones_like(index), alike[many]]),
    )


def _digits(columns: Sequence[npt.NDArray[Any]]) -> Ints:
    """One number for each row of columns, the same for equal rows alone."""
    digits = np.zeros(len(columns[0]) if columns else 1, np.int64)
    for column in columns:
        _, digits = np.unique(digits * (int(column.max()) + 1) + column, return_inverse=True)
    return digits


def _table(tiles: Tiles, number: Ints, count: int) -> Table:
    """The table of tiles whose classes have these numbers, up to `count`."""
    which, inverse = np.unique(tiles.row * count + number, return_inverse=True)
    row = which // count
    width = np.bincount(row)
    column = np.arange(len(row)) - np.repeat(np.cumsum(width) - width, width)
    numbers, times = np.zeros((2, len(width), int(width.max())), np.int64)
    numbers[row, column], times[row, column] = which % count, np.bincount(inverse, tiles.times).astype(np.int64)
    return Table(numbers, times)
