"""What all kernel calls of a tiling cost together."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from match.ir.layer import Axis, Dim
from match.schedule.blocks import touched
from match.schedule.combined import Combined
from match.schedule.kinds import Along, Asked, Tiles
from match.schedule.pricing import Pricing
from match.schedule.rooms import Floats, Ints


class KernelCosts:
    """Cycles of kernel calls; tiles are rows of extents along K, OY, OX and C, shape (n, 4).

    `along` are all tiles along these dimensions. With `least_input`, calls are priced as if each read as few rows and
    columns as one of its size reads anywhere: a bound, with fewer kinds of tiles.
    """

    def __init__(self, pricing: Pricing, along: Mapping[Dim, Along], *, least_input: bool = False) -> None:
        self.pricing = pricing
        self._least_input = least_input
        asked: dict[Dim, Asked] = {
            Dim.K: lambda tiles: (tiles.size,),
            Dim.OY: partial(self._seen, pricing.rows),
            Dim.OX: partial(self._seen, pricing.columns),
            Dim.C: lambda tiles: (tiles.size, tiles.start == 0, tiles.start + tiles.size == pricing.layer.c),
        }
        who = "kernels", least_input
        kinds = [along[dim].kinds(who, ask, at_last=True) for dim, ask in asked.items()]
        self._calls = Combined(kinds, pricing.kernels)
        self._asked: list[tuple[Ints, Floats]] = []

    def compute(self, tiles: Ints) -> Floats:
        """Cycles of all calls, without `launch`, when the layer is cut into each of `tiles`."""
        result = self._calls.every(tiles)
        self._asked.append((tiles, result))
        return result

    def last(self, tiles: Ints) -> Floats:
        """Cycles of the last call in each outer block, without `launch`."""
        return self._calls.ends(tiles)

    def asked(self, tiles: Ints) -> tuple[Ints, Floats]:
        """`tiles` and all that `compute` has been asked for, with what it says of them."""
        self.compute(tiles)
        every, cycles = zip(*self._asked, strict=True)
        return np.concatenate(every), np.concatenate(cycles)

    def _seen(self, axis: Axis, tiles: Tiles) -> tuple[Ints, Ints]:
        """Rows or columns of tiles, and those of the input that each reads; the fewest are read at a border."""
        if not self._least_input:
            return tiles.size, touched(axis, tiles.start, tiles.size)
        end = self.pricing.layer.size(axis.dim) - tiles.size
        starts = (np.zeros_like(end), end)
        return tiles.size, np.minimum(*(touched(axis, start, tiles.size) for start in starts))
