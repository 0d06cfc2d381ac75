"""How much effort a search of mappings onto two memories takes at most."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace


@dataclass(frozen=True)
class Limits:
    """What is left out when a limit is reached is bounded, and in the schedule's loss.

    complete: with at most so many pairs of an outer and an inner tile, fitting or not, none of the others but `grid` is
        a limit.
    grid: so many outer tiles are all candidates; of more, only some sizes of each dimension are.
    inner_grid: so many inner tiles of an outer one are all candidates; of more, only some sizes of each dimension are.
    searched: outer tiles whose mappings are searched. alike: those of them that are of one cell.
    cells: cells that are bounded in both memories. divided: those that are divided into tiles. refined: tiles that are
        bounded by themselves.
    first_predicted, predicted: mappings that are predicted, as `Effort` counts them: of one outer tile at first, to
        have one to compare with, and then of all outer tiles. Where the outer memory's transfers take longest, the
        bounds of thousands are equal, and next to nothing tells them apart.
    first_bounded, bounded: inner tiles whose mappings are bounded, likewise. first_bounded_in_all: those of all outer
        tiles at first; where it is reached, no other outer tile is searched.
    """

    complete: float = 1 << 16
    grid: float = 1 << 8
    inner_grid: float = 1 << 13
    searched: float = 10
    alike: float = 3
    cells: float = 96
    divided: float = 24
    refined: float = 80
    first_predicted: float = 1 << 4
    predicted: float = 1 << 6
    first_bounded: float = 3 << 6
    first_bounded_in_all: float = 1 << 10
    bounded: float = 1 << 8

    def of(self, pairs: int) -> Limits:
        """Those of a layer with so many pairs of an outer and an inner tile."""
        return self if pairs > self.complete else replace(UNLIMITED, grid=self.grid)


DEFAULT = Limits()
"""Some tenths of a second for a layer: nearly all layers of MobileNet on GAP8 take 0.1 to 0.5 seconds."""

UNLIMITED = Limits(*(math.inf for _ in fields(Limits)))
"""A search that ends when nothing is left."""
