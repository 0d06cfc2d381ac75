"""What all tiles of a tiling cost together, from one representative of each kind of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from match.schedule.kinds import Kinds, Look
from match.schedule.rooms import Floats, Ints


class Combined:
    """Sums over the tiles that cut several dimensions, of a `price` by their looks along each of these."""

    def __init__(self, kinds: Sequence[Kinds], price: Callable[[Sequence[Look]], float]) -> None:
        self._price = price
        self._kinds = [(one, math.prod(len(other.looks) for other in kinds[:n])) for n, one in enumerate(kinds)]
        self._prices: dict[int, float] = {}
        self._asked: list[tuple[Ints, Floats]] = []

    def of(self, tilings: Ints) -> Floats:
        """Of tilings, rows of tile sizes along the dimensions, shape (n, dimensions).

        Looks along the dimensions are the digits of one number, so that each combination of them is priced once.
        """
        count = len(tilings)
        looks, times = np.zeros((count, 1), np.int64), np.ones((count, 1), np.int64)
        for (kinds, digit), sizes in zip(self._kinds, tilings.T, strict=True):
            most = int(kinds.most[sizes].max(initial=0))
            looks = (looks[:, :, None] + digit * kinds.number[sizes, None, :most]).reshape(count, -1)
            times = (times[:, :, None] * kinds.times[sizes, None, :most]).reshape(count, -1)
        there = times > 0
        unique, which = np.unique(looks[there], return_inverse=True)
        costs = np.zeros(times.shape)
        costs[there] = times[there] * np.array([self._of(look) for look in unique.tolist()], np.float64)[which]
        result: Floats = costs.sum(axis=1)
        self._asked.append((tilings, result))
        return result

    def asked(self) -> tuple[Ints, Floats]:
        """All tilings that `of` was asked about, and what it said."""
        tilings, results = zip(*self._asked, strict=True)
        return np.concatenate(tilings), np.concatenate(results)

    def _of(self, look: int) -> float:
        known = self._prices.get(look)
        if known is None:
            looks = [kinds.looks[look // digit % len(kinds.looks)] for kinds, digit in self._kinds]
            known = self._prices[look] = self._price(looks)
        return known
