"""What all kernel calls of a tiling cost together, from one representative of each kind of tile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from match.layer import Axis, Dim
from match.schedule.blocks import Span, reduction
from match.schedule.kinds import Kinds, Look
from match.schedule.pricing import Pricing
from match.schedule.rooms import Floats, Ints


class KernelCosts:
    """Cycles of kernel calls; tiles are rows of extents along K, OY, OX and C, shape (n, 4).

    `kinds` makes the tiles along a dimension. With `least_input`, calls are priced as if each read as few rows and
    columns as one of its size reads anywhere: a bound, with fewer kinds of tiles.
    """

    def __init__(
        self,
        pricing: Pricing,
        kinds: Callable[[Dim, Callable[[Span, Span], Look]], Kinds],
        *,
        least_input: bool = False,
    ) -> None:
        self.pricing = pricing
        self._known: dict[tuple[int, ...], float] = {}
        seen = self._least_seen if least_input else self._seen
        self._channels = kinds(Dim.K, lambda span, _: (span[1],))
        self._rows = kinds(Dim.OY, lambda span, _: seen(pricing.rows, span))
        self._columns = kinds(Dim.OX, lambda span, _: seen(pricing.columns, span))
        self._reductions = kinds(Dim.C, lambda span, _: reduction(pricing.layer, span))

    def compute(self, tiles: Ints) -> Floats:
        """Cycles of all calls, without `launch`, when the layer is cut into each of `tiles`."""
        return np.array([self._all(tuple(tile)) for tile in tiles.tolist()], np.float64)

    def last(self, tiles: Ints) -> Floats:
        """Cycles of the last call, with `launch`."""
        return np.array([self.pricing.launch + self._last(*tile) for tile in tiles.tolist()], np.float64)

    def asked(self, tiles: Ints) -> tuple[Ints, Floats]:
        """`tiles` and all that `compute` has been asked for, with what it says of them."""
        self.compute(tiles)
        return np.array(list(self._known), np.int64), np.array(list(self._known.values()), np.float64)

    def _all(self, tile: tuple[int, ...]) -> float:
        known = self._known.get(tile)
        if known is None:
            known = self._known[tile] = self._sum(*tile)
        return known

    def _sum(self, k: int, oy: int, ox: int, c: int) -> float:
        price, result = self.pricing.kernel, 0.0
        rows, columns, reductions = self._rows.of(oy), self._columns.of(ox), self._reductions.of(c)
        for (channels,), many in self._channels.of(k):
            for seen_rows, more in rows:
                for seen_columns, most in columns:
                    for reduced, times in reductions:
                        result += many * more * most * times * price(channels, seen_rows, seen_columns, reduced)
        return result

    def _last(self, k: int, oy: int, ox: int, c: int) -> float:
        ends = (self._channels.last(k), self._rows.last(oy), self._columns.last(ox), self._reductions.last(c))
        (channels,), rows, columns, reduced = [kinds[-1][0] for kinds in ends]
        return self.pricing.kernel(channels, rows, columns, reduced)

    def _seen(self, axis: Axis, span: Span) -> Look:
        """Rows or columns of a tile, and those of the input that it reads."""
        return span[1], axis.span(*span)[1]

    def _least_seen(self, axis: Axis, span: Span) -> Look:
        """The same of the tile of that size that reads the fewest: one at a border."""
        size = span[1]
        return size, min(axis.span(start, size)[1] for start in (0, self.pricing.layer.size(axis.dim) - size))
