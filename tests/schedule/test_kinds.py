"""Tiles along a dimension, by what is asked about them, against tiles that are listed one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from match.ir.layer import Dim, Layer, Op, Padding
from match.schedule.kinds import Along, Kinds, Tiles
from match.schedule.mapping import Memory
from match.schedule.pricing import Pricing
from match.schedule.rooms import Ints
from tests.schedule.random_schedules import SteppedCost, operands_of

LAYER = Layer("conv", Op.CONV2D, 13, 5, 17, 9, 17, 9, 3, 3, padding=Padding(1, 1, 1, 1))


@pytest.mark.parametrize("most", [0, 7, (1 << 32) - 1])
@pytest.mark.parametrize("sizes", [range(1, 18), [4, 8, 17], [17]])
def test_kinds_of_tiles(sizes: range | list[int], most: int) -> None:
    """Whatever the numbers asked about: those of three columns may not fit into 64 bits together."""

    def asked(tiles: Tiles) -> list[Ints]:
        return [tiles.size, np.full_like(tiles.size, most), np.full_like(tiles.size, most)]

    pricing = Pricing(LAYER, operands_of(LAYER), Memory("L1", 1 << 20), SteppedCost())
    kinds = Kinds(Along(pricing, Dim.OY, np.array(sizes)), asked)
    for size in sizes:
        found: Counter[tuple[int, ...]] = Counter()
        for number, times in zip(kinds.every.number[size], kinds.every.times[size], strict=True):
            found[tuple(kinds.looks[number].tolist())] += int(times)
        ends = [min(size, LAYER.oy - start) for start in range(0, LAYER.oy, size)]
        assert +found == Counter((end, most, most) for end in ends)
        assert kinds.looks[kinds.ends.number[size, 0]].tolist() == [size, most, most]
