"""The tiles along one dimension, of all tile sizes at once, told apart by what is asked about them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from match.layer import Dim
from match.schedule.blocks import Span
from match.schedule.pricing import Pricing
from match.schedule.rooms import Ints

Look = tuple[int, ...]
"""What is asked about a tile along one dimension."""


@dataclass(frozen=True)
class Tiles:
    """Some tiles along one dimension, those of the same size one after the other; arrays of shape (n,), in iterations.

    `start` and `size` are theirs, `begin` and `extent` those of the block that they are in. `full` is the size that a
    last, smaller tile would have if its block were longer. `times` is how many nothing can tell from each.
    """

    start: Ints
    size: Ints
    full: Ints
    begin: Ints
    extent: Ints
    times: Ints

    @cached_property
    def most(self) -> Ints:
        """How many of them each size has, from 0 on."""
        return np.bincount(self.full)

    def by_size(self, values: Ints) -> Ints:
        """Values of the tiles by their size, from 0 on; 0 in the columns that a size does not need."""
        column = np.arange(len(self.full)) - np.repeat(np.cumsum(self.most) - self.most, self.most)
        result = np.zeros((len(self.most), int(self.most.max())), np.int64)
        result[self.full, column] = values
        return result


Asked = Callable[[Tiles], Sequence[Ints]]
"""Asks for looks: gives an array for each number of a `Look`, of the tiles' shape."""


class Along:
    """The tiles of all sizes along one dimension of blocks of `outer` iterations.

    With `last_block`, only the last of the blocks counts.
    """

    def __init__(self, pricing: Pricing, dim: Dim, outer: int, *, last_block: bool = False) -> None:
        self.outer = outer
        self._blocks = outer_blocks(pricing, dim, outer, last=last_block)
        self._unclipped = [pricing.unclipped(dim, sum(block)) for block, _ in self._blocks]

    @cached_property
    def every(self) -> Tiles:
        """All tiles: one of those that lie in no border and are no smaller than others, and each of the rest."""
        return self._tiles(self._every)

    @cached_property
    def first(self) -> Tiles:
        """The first tile of each block."""
        return self._tiles(lambda n: self._one(np.zeros(self.outer, np.int64)))

    @cached_property
    def last(self) -> Tiles:
        """The last tile of each block."""
        return self._tiles(lambda n: self._one((self._blocks[n][0][1] - 1) // self._sizes))

    @property
    def _sizes(self) -> Ints:
        return np.arange(1, self.outer + 1)

    def _tiles(self, found: Callable[[int], tuple[Ints, Ints, Ints]]) -> Tiles:
        """What is found in each block: sizes of tiles, their numbers along the block, how many there are like each."""
        parts: list[tuple[Ints, ...]] = []
        for n, ((begin, extent), times) in enumerate(self._blocks):
            full, index, count = found(n)
            start = index * full
            block = np.full_like(full, begin), np.full_like(full, extent)
            parts.append((begin + start, np.minimum(full, extent - start), full, *block, times * count))
        columns = [np.concatenate(column) for column in zip(*parts, strict=True)]
        order = np.argsort(columns[2], kind="stable")
        return Tiles(*(column[order] for column in columns))

    def _one(self, index: Ints) -> tuple[Ints, Ints, Ints]:
        return self._sizes, index, np.ones_like(index)

    def _every(self, number: int) -> tuple[Ints, Ints, Ints]:
        sizes, (begin, extent), (low, high) = self._sizes, self._blocks[number][0], self._unclipped[number]
        count = -(-extent // sizes)
        first = np.maximum(0, -((begin - low) // sizes))
        alike = np.maximum(0, np.minimum(extent, high - begin) // sizes - first)
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


class Kinds:
    """Some tiles along one dimension by their `looks`, that is by what is `asked` about them.

    By tile size, from 0 on, `number` are those of looks and `times` how many tiles look so, shape (sizes, columns);
    `most` are the columns that a size needs.
    """

    def __init__(self, tiles: Tiles, asked: Asked) -> None:
        numbers: dict[Look, int] = {}
        looks = zip(*(values.tolist() for values in asked(tiles)), strict=True)
        self.number = tiles.by_size(np.array([numbers.setdefault(look, len(numbers)) for look in looks]))
        self.times = tiles.by_size(tiles.times)
        self.most = tiles.most
        self.looks = list(numbers)


def outer_blocks(pricing: Pricing, dim: Dim, outer: int, *, last: bool = False) -> list[tuple[Span, int]]:
    """The blocks of `outer` iterations of a dimension, one of each kind and how many there are; or the last alone."""
    extent = pricing.layer.size(dim)
    if last:
        start = (extent - 1) // outer * outer
        return [((start, extent - start), 1)]
    return [
        ((run.first * outer, min(outer, extent - run.first * outer)), run.last - run.first + 1)
        for run in pricing.runs(dim, 0, extent, outer)
    ]
