"""The tiles along one dimension, of all tile sizes at once, told apart by what is asked about them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np

from match.ir.layer import Dim
from match.schedule.blocks import Span
from match.schedule.pricing import Pricing
from match.schedule.rooms import Ints


class Tiles(NamedTuple):
    """Some tiles along one dimension; arrays of shape (n,), in iterations.

    `start` and `size` are theirs, `begin` and `extent` those of the block that they are in. `full` is the size that a
    last, smaller tile would have if its block were longer. `times` is how many nothing can tell from each.
    """

    start: Ints
    size: Ints
    full: Ints
    begin: Ints
    extent: Ints
    times: Ints


MOST = 1 << 62
"""Numbers that stay below it are exact in 64 bits."""

Asked = Callable[[Tiles], Sequence[Ints]]
"""Asks how tiles look: gives an array for each number that tells, of the tiles' shape."""


class Table(NamedTuple):
    """By tile size, from 0 on: numbers of tiles or of their looks, and how many there are; shape (sizes, columns).

    `width` is how many of the columns a size has, shape (sizes,); in the others there are none.
    """

    number: Ints
    times: Ints
    width: Ints


class Along:
    """The tiles along one dimension of `sizes`, which rise to that of a block.

    `every` table is of all tiles, one for those that lie in no border and are no smaller than others; `first` and
    `last` are of the first and the last tile of each block.
    """

    def __init__(self, pricing: Pricing, dim: Dim, sizes: Ints) -> None:
        one, outer = np.ones_like(sizes), int(sizes[-1])
        groups: tuple[list[Tiles], ...] = ([], [], [])
        for (begin, extent), times in outer_blocks(pricing, dim, outer):
            low, high = pricing.unclipped(dim, begin + extent)
            ways = (
                _alike(sizes, extent, low - begin, high - begin),
                (sizes, np.zeros_like(sizes), one),
                (sizes, (extent - 1) // sizes, one),
            )
            for group, (full, index, count) in zip(groups, ways, strict=True):
                start = index * full
                block = np.full_like(full, begin), np.full_like(full, extent)
                group.append(Tiles(begin + start, np.minimum(full, extent - start), full, *block, times * count))
        self.tiles = _joined([tiles for group in groups for tiles in group])
        ends = np.cumsum([sum(len(tiles.full) for tiles in group) for group in groups])
        self.every, self.first, self.last = (
            _table(_joined(group), int(end)) for group, end in zip(groups, ends, strict=True)
        )

        self._kinds: dict[Hashable, Kinds] = {}

    @property
    def counts(self) -> Ints:
        """How many tiles there are, by their size; of size 0 none."""
        return self.every.times.sum(axis=1)

    def kinds(self, who: Hashable, asked: Asked, *, at_last: bool = False) -> Kinds:
        """The tiles by what is `asked` about them, which is the same whenever `who` asks."""
        known = self._kinds.get(who)
        if known is None:
            known = self._kinds[who] = Kinds(self, asked, at_last=at_last)
        return known


class Kinds:
    """The tiles along one dimension by their `looks`, that is by what is `asked` about them; shape (looks, numbers).

    `every` table is of all tiles, `ends` of the first one of each block or, with `at_last`, of the last.
    """

    def __init__(self, along: Along, asked: Asked, *, at_last: bool = False) -> None:
        columns = asked(along.tiles)
        digits, count = columns[0], int(columns[0].max()) + 1
        for column in columns[1:]:
            values = int(column.max()) + 1
            if count * values > MOST:
                _, digits = np.unique(digits, return_inverse=True)
                count = len(digits)
            digits, count = digits * values + column, count * values
        _, place, number = np.unique(digits, return_index=True, return_inverse=True)
        self.looks = np.stack([column[place] for column in columns], axis=1).astype(np.int64)
        self.every = along.every._replace(number=number[along.every.number])
        ends = along.last if at_last else along.first
        self.ends = ends._replace(number=number[ends.number])


def _joined(tiles: Sequence[Tiles]) -> Tiles:
    return Tiles(*map(np.concatenate, zip(*tiles, strict=True)))


def _alike(sizes: Ints, extent: int, low: int, high: int) -> tuple[Ints, Ints, Ints]:
    """Tiles of all sizes in a block: their sizes, their numbers along it, how many are like each.

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
        np.concatenate([sizes[each], sizes[many]]),
        np.concatenate([index, first[many]]),
        np.concatenate([np.ones_like(index), alike[many]]),
    )


def _table(tiles: Tiles, end: int) -> Table:
    """Of tiles that are numbered up to `end`."""
    order = np.argsort(tiles.full, kind="stable")
    size, width = tiles.full[order], np.bincount(tiles.full)
    column = np.arange(len(size)) - np.repeat(np.cumsum(width) - width, width)
    number, times = np.zeros((2, len(width), int(width.max())), np.int64)
    number[size, column], times[size, column] = end - len(size) + order, tiles.times[order]
    return Table(number, times, width)


def outer_blocks(pricing: Pricing, dim: Dim, outer: int) -> list[tuple[Span, int]]:
    """The blocks of `outer` iterations of a dimension, one of each kind and how many there are."""
    extent = pricing.layer.size(dim)
    return [
        ((run.first * outer, min(outer, extent - run.first * outer)), run.last - run.first + 1)
        for run in pricing.runs(dim, 0, extent, outer)
    ]
