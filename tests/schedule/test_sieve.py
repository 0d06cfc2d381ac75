"""A sample of tiles is of those that fit, half of it as large as fits, and none where there are few."""

from __future__ import annotations

import numpy as np

from match.layer import Dim, Layer, Op, Padding
from match.schedule.floors import Floors
from match.schedule.mapping import Memory
from match.schedule.pricing import Pricing
from match.schedule.sieve import Sieve, feasible, sampled
from match.schedule.tiles import TileCosts, candidate_tiles
from tests.schedule.random_schedules import SteppedCost, operands_of

LAYER = Layer("conv", Op.CONV2D, 24, 16, 13, 11, 13, 11, 3, 3, padding=Padding(1, 1, 1, 1))


def sample(crowd: int) -> tuple[Sieve, Sieve]:
    """All tiles, and some of them if there are more than a crowd."""
    pricing = Pricing(LAYER, operands_of(LAYER), Memory("L1", 3000), SteppedCost(kernel_scratch=1))
    costs = TileCosts(pricing)
    candidates = candidate_tiles(pricing, {Dim.C: 4})
    floors = Floors(costs, candidates)
    return feasible(costs, floors, candidates), sampled(costs, floors, candidates, 100, crowd)


def test_a_sample_is_of_tiles_that_fit() -> None:
    every, some = sample(1000)
    assert len(every) > 2000
    bounds = {tuple(tile): cycles for tile, cycles in zip(every.tiles.tolist(), every.cycles, strict=True)}
    drawn = [tuple(tile) for tile in some.tiles.tolist()]
    assert 120 < len(drawn) <= 200
    assert len(set(drawn)) == len(drawn)
    assert [bounds[tile] for tile in drawn] == some.cycles.tolist()
    largest = [tile for tile in drawn if (tile[0] + 1, *tile[1:]) not in bounds]
    assert len(largest) >= len(drawn) / 3
    np.testing.assert_array_equal(some.tiles, sample(1000)[1].tiles)


def test_no_sample_of_few() -> None:
    every, none = sample(1 << 20)
    assert len(every)
    assert not len(none)
