"""What all tiles of a tiling cost together, from one representative of each kind of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from match.schedule.kinds import Kinds, Table
from match.schedule.rooms import Floats, Ints


class Combined:
    """Sums over the tiles that cut several dimensions, of a price by their looks along each of these.

    Tilings are rows of tile sizes along the dimensions, shape (n, dimensions). `price` gets rows of looks along all
    dimensions, one behind the other; shape (n, numbers).
    """

    def __init__(self, kinds: Sequence[Kinds], price: Callable[[Ints], Floats]) -> None:
        self._price = price
        self._every = [one.every for one in kinds]
        self._ends = [one.ends for one in kinds]
        self._looks = [one.looks for one in kinds]
        self._digits = [math.prod(len(looks) for looks in self._looks[:n]) for n in range(len(kinds))]
        self._prices: dict[int, float] = {}

    def every(self, tilings: Ints) -> Floats:
        """Of all tiles."""
        return self._costs(*self._looks_of(self._every, tilings)).sum(axis=1)

    def ends(self, tilings: Ints) -> Floats:
        """Of the tiles at the ends of blocks along all dimensions."""
        return self._costs(*self._looks_of(self._ends, tilings)).sum(axis=1)

    def both(self, tilings: Ints) -> tuple[Floats, Floats]:
        """`every` and `ends`."""
        every, ends = self._looks_of(self._every, tilings), self._looks_of(self._ends, tilings)
        looks, times = (np.concatenate(columns, axis=1) for columns in zip(every, ends, strict=True))
        costs, width = self._costs(looks, times), every[0].shape[1]
        return costs[:, :width].sum(axis=1), costs[:, width:].sum(axis=1)

    def _looks_of(self, tables: Sequence[Table], tilings: Ints) -> tuple[Ints, Ints]:
        """Looks of the tiles and how many there are of each, which may be none; shape (n, width).

        Looks along the dimensions are the digits of one number, so that each combination of them is priced once.
        """
        count = len(tilings)
        looks, times = np.zeros((count, 1), np.int64), np.ones((count, 1), np.int64)
        for table, digit, sizes in zip(tables, self._digits, tilings.T, strict=True):
            width = int(table.width[sizes].max(initial=0))
            looks = (looks[:, :, None] + digit * table.number[sizes, None, :width]).reshape(count, -1)
            times = (times[:, :, None] * table.times[sizes, None, :width]).reshape(count, -1)
        return looks, times

    def _costs(self, looks: Ints, times: Ints) -> Floats:
        """What so many tiles of these looks cost."""
        there = times > 0
        unique, which = np.unique(looks[there], return_inverse=True)
        result = np.zeros(times.shape)
        result[there] = times[there] * self._of(unique)[which]
        return result

    def _of(self, combinations: Ints) -> Floats:
        """Prices of combinations of looks."""
        numbers = combinations.tolist()
        lacking = [number for number in numbers if number not in self._prices]
        if lacking:
            asked = np.array(lacking)
            looks = [along[asked // digit % len(along)] for along, digit in zip(self._looks, self._digits, strict=True)]
            prices = self._price(np.concatenate([np.empty((len(asked), 0), np.int64), *looks], axis=1))
            self._prices.update(zip(lacking, prices.tolist(), strict=True))
        return np.array([self._prices[number] for number in numbers], np.float64)
