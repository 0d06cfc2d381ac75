"""A sample of tiles is of those that fit and cut evenly, half of it as large as fits; it is drawn from a crowd."""

from __future__ import annotations

import math

import numpy as np

from match.ir.layer import Dim, Layer, Op, Padding
from match.schedule.floors import Floors
from match.schedule.mapping import Memory
from match.schedule.pricing import Pricing
from match.schedule.rooms import Ints
from match.schedule.sieve import crowded, even_sizes, feasible, sampled
from match.schedule.tiles import TILED, TileCosts, candidate_tiles
from match.target.cost import Tile
from tests.schedule.random_schedules import SteppedCost, operands_of

EVEN = 1, 2, 3, 4, 5, 6, 8, 12, 24
"""The sizes of K that cut it into 24, 12, 8, 6, 5, 4, 3, 2 tiles and one."""

LAYER = Layer("conv", Op.CONV2D, 24, 16, 13, 11, 13, 11, 3, 3, padding=Padding(1, 1, 1, 1))


def costs_of_layer() -> tuple[TileCosts, dict[Dim, Ints]]:
    pricing = Pricing(LAYER, operands_of(LAYER), Memory("L1", 3000), SteppedCost(kernel_scratch=1))
    return TileCosts(pricing), candidate_tiles(pricing, {Dim.C: 4})


def test_a_sample_is_of_tiles_that_fit() -> None:
    costs, candidates = costs_of_layer()
    floors = Floors(costs, candidates)
    every, some = feasible(costs, floors, candidates), sampled(costs, floors, candidates, 100)
    assert len(every) > 2000
    bounds = {tuple(tile): cycles for tile, cycles in zip(every.tiles.tolist(), every.cycles, strict=True)}
    drawn = [tuple(tile) for tile in some.tiles.tolist()]
    assert 90 < len(drawn) <= 200
    assert len(set(drawn)) == len(drawn)
    assert [bounds[tile] for tile in drawn] == some.cycles.tolist()
    np.testing.assert_array_equal(some.tiles, sampled(costs, floors, candidates, 100).tiles)
    for tile in drawn:  # the next smaller size makes more tiles
        for size, dim in zip(tile, TILED, strict=True):
            smaller = candidates[dim][candidates[dim] < size]
            assert all(-(-LAYER.size(dim) // less) > -(-LAYER.size(dim) // size) for less in smaller.tolist())
    larger = {size: min((s for s in EVEN if s > size), default=25) for size in EVEN}
    assert {tile[0] for tile in drawn} <= set(EVEN)
    largest = [tile for tile in drawn if (larger[tile[0]], *tile[1:]) not in bounds]
    assert len(largest) >= len(drawn) / 3


def test_a_crowd_is_of_tiles_that_fit() -> None:
    costs, candidates = costs_of_layer()
    fitting = len(feasible(costs, Floors(costs, candidates), candidates))
    assert fitting < math.prod(map(len, candidates.values())) / 2
    assert crowded(costs, candidates, 0.9 * fitting)
    assert not crowded(costs, candidates, 1.1 * fitting)
    assert not crowded(costs, candidates, 1 << 20)


class CoresCost(SteppedCost):
    """Rows in steps of 8, one for each of so many cores; an odd number of steps costs a little more."""

    def compute(self, layer: Layer, tile: Tile) -> float:
        return 1000.0 * -(-tile.oy // 8) + tile.oy % 16


def test_even_sizes_are_the_smallest_and_those_kernels_fit_best() -> None:
    layer = Layer("pool", Op.MAX_POOL2D, 1, 1, 112, 1, 112, 1)
    costs = TileCosts(Pricing(layer, operands_of(layer), Memory("L1", 1 << 20), CoresCost()))
    candidates = candidate_tiles(costs.pricing, {})
    even = even_sizes(costs, Floors(costs, candidates), candidates)[Dim.OY].tolist()
    tiles = {size: -(-112 // size) for size in even}
    assert sorted(set(tiles.values())) == sorted({-(-112 // size) for size in range(1, 113)})
    assert [size for size in even if tiles[size] == 3] == [38, 40]  # 5 + 5 + 5 steps, and 5 + 5 + 4; 6 + 6 + 2 is least
    assert [size for size in even if tiles[size] == 2] == [56]  # 7 + 7 steps; 8 + 6 is least
    assert [size for size in even if tiles[size] == 4] == [28, 32]  # 4 + 4 + 4 + 4, and 4 + 4 + 4 + 2
