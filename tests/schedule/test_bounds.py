"""The bounds that let a search drop mappings: never above what they bound, and close enough to be of use."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np
import pytest

import match.schedule.transfer_floors
from match.ir.layer import Dim, Layer, Op, Padding
from match.schedule.floors import Floors
from match.schedule.mapping import Memory
from match.schedule.predict import latency
from match.schedule.pricing import Pricing
from match.schedule.residencies import AllResidencies
from match.schedule.sieve import Sieve, feasible
from match.schedule.starts import AllStarts
from match.schedule.structures import Nest, Structures
from match.schedule.tiles import TileCosts, candidate_tiles
from match.schedule.transfer_floors import with_transfers
from match.target.cost import Block
from tests.schedule.brute_force import size_of_search
from tests.schedule.random_schedules import SteppedCost, dear_issues, operands_of, random_cost, random_layer

SLACK = 1e-9


def structures_of(pricing: Pricing, tile: tuple[int, ...]) -> Structures:
    """Of one tile."""
    return Structures(TileCosts(pricing), np.array([tile]), AllResidencies(pricing.operands, packed=False))


def mappings(structures: Structures) -> Iterator[tuple[Nest, float, float]]:
    """Every mapping, with the bounds of its cycles and of the bytes that it moves."""
    for nests in structures.nests():
        for row in range(len(nests.cycles)):
            for order in nests.orders(row):
                yield nests.nest(row, order), float(nests.cycles[row]), float(nests.moved[row])


def held(nest: Nest) -> tuple[tuple[int, int], ...]:
    """Depth and buffers of each operand."""
    return tuple((placement.depth, placement.buffers) for placement in nest.placements)


def test_bounds_are_those_of_each_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many tiles they are computed for at a time."""
    rng, parts = random.Random(21), 0
    for _ in range(20):
        layer = random_layer(rng, rng.choice([6, 9]))
        pricing = Pricing(layer, operands_of(layer), Memory("L1", rng.choice([1 << 20, 600])), random_cost(rng))
        costs, candidates = TileCosts(pricing), candidate_tiles(pricing, {Dim.C: rng.choice([0, 1])})
        floors = Floors(costs, candidates)
        tiles = feasible(costs, floors, candidates)
        together = with_transfers(tiles, costs, floors, AllStarts(pricing.operands))
        with monkeypatch.context() as patch:
            patch.setattr(match.schedule.transfer_floors, "PART", 40)
            apart = with_transfers(tiles, costs, floors, AllStarts(pricing.operands))
        parts = max(parts, len(tiles) // 40)
        for field in fields(Sieve):
            np.testing.assert_array_equal(getattr(apart, field.name), getattr(together, field.name))
    assert parts > 3


@pytest.mark.parametrize(("random_model", "count"), [(random_cost, 60), (dear_issues, 30)])
def test_bounds_hold(random_model: Callable[[random.Random], SteppedCost], count: int) -> None:
    rng = random.Random(20)
    layers = 0
    while layers < count:
        layer = random_layer(rng, rng.choice([4, 6, 9]))
        operands = operands_of(layer)
        multiples = {Dim.C: rng.choice([0, 1, 2])}
        if not 1 < size_of_search(layer, operands, multiples) <= 2500:
            continue
        layers += 1
        whole = sum(o.components[0].element_bytes * 200 for o in operands)
        memory = Memory("L1", rng.choice([1 << 20, rng.randint(60, 200 + whole)]))
        pricing = Pricing(layer, operands, memory, random_model(rng))
        costs = TileCosts(pricing)
        candidates = candidate_tiles(costs.pricing, multiples)
        floors = Floors(costs, candidates)
        sieve = feasible(costs, floors, candidates)
        residencies = AllResidencies(operands, packed=False)
        refined = with_transfers(sieve, costs, floors, AllStarts(operands))
        for row, tile in enumerate(sieve.tiles):
            fewest = [np.inf, np.inf]
            both = zip(
                mappings(Structures(costs, tile[None], residencies)),
                mappings(Structures(costs, tile[None], residencies, floors)),
                strict=True,
            )
            for (nest, cycles, moved), (same, rough_cycles, rough_moved) in both:
                assert same == nest
                cost = latency(pricing, nest.loops, nest.placements)
                assert rough_cycles <= cost.cycles * (1 + SLACK), (layer, nest)
                assert rough_moved <= cost.moved_bytes, (layer, nest)
                assert cycles <= cost.cycles * (1 + SLACK), (layer, nest)
                assert moved == cost.moved_bytes, (layer, nest)
                fewest = [min(fewest[0], cost.cycles), min(fewest[1], cost.moved_bytes)]
            assert sieve.cycles[row] <= fewest[0] * (1 + SLACK)
            assert refined.cycles[row] <= fewest[0] * (1 + SLACK), (layer, tile)
            assert refined.moved[row] <= fewest[1], (layer, tile)


def test_every_mapping_of_a_tile_that_fits_is_enumerated() -> None:
    rng = random.Random(21)
    from tests.schedule.brute_force import schedules

    for _ in range(30):
        layer = random_layer(rng, 5)
        operands = operands_of(layer)
        multiples = {Dim.C: rng.choice([0, 1, 2])}
        if size_of_search(layer, operands, multiples) > 2000:
            continue
        model = random_cost(rng)
        memory = Memory("L1", rng.randint(100, 700))
        expected = {(s.loops, s.placements) for s in schedules(layer, operands, memory, model, multiples)}
        costs = TileCosts(Pricing(layer, operands, memory, model))
        tiles = feasible(costs, None, candidate_tiles(costs.pricing, multiples)).tiles
        found = []
        for tile in tiles:
            structures = Structures(costs, tile[None], AllResidencies(operands, packed=False))
            found += [(nest.loops, nest.placements) for nest, _, _ in mappings(structures)]
        assert len(found) == len(set(found))
        assert set(found) == expected


def test_bounds_are_tight_where_transfers_are_uniform() -> None:
    """Double-buffered rows of a convolution whose weights stay: what is bounded is what happens."""
    layer = Layer("conv", Op.CONV2D, 8, 8, 32, 16, 32, 16, 3, 3, padding=Padding(1, 1, 1, 1))
    pricing = Pricing(layer, operands_of(layer), Memory("L1", 1 << 20), SteppedCost(speed=0.125))
    bounds = {held(nest): (nest, cycles) for nest, cycles, _ in mappings(structures_of(pricing, (8, 4, 16, 8)))}
    nest, bound = bounds[(1, 2), (0, 1), (1, 2)]
    assert latency(pricing, nest.loops, nest.placements).cycles <= 1.06 * bound


def test_bounds_count_what_is_queued_before_a_block_that_is_waited_for() -> None:
    """Input blocks in two buffers, filters in one: the DMA brings both while no kernel runs."""
    layer = Layer("conv", Op.CONV2D, 64, 64, 16, 16, 16, 16, 3, 3, padding=Padding(1, 1, 1, 1))
    pricing = Pricing(layer, operands_of(layer), Memory("L1", 1 << 20), SteppedCost(speed=0.125, fixed=400.0))
    bounds = {
        held(nest): (nest, cycles)
        for nest, cycles, _ in mappings(structures_of(pricing, (16, 4, 16, 64)))
        if [loop.dim for loop in nest.loops] == [Dim.OY, Dim.K]
    }
    alone, queued = ((0, 1), (2, 1), (2, 2)), ((1, 2), (2, 1), (2, 2))
    for nest, bound in (bounds[alone], bounds[queued]):
        cost = latency(pricing, nest.loops, nest.placements)
        assert 0.97 * cost.cycles <= bound <= cost.cycles


@pytest.mark.parametrize("single", [False, True], ids=["two buffers", "one buffer"])
def test_bounds_count_what_is_issued_beside_a_write_back(single: bool) -> None:
    """Sums in one buffer: while one is written the core issues what the next kernel needs, and no other transfers."""
    layer = Layer("conv", Op.CONV2D, 64, 64, 16, 16, 16, 16, 3, 3, padding=Padding(1, 1, 1, 1))
    pricing = Pricing(layer, operands_of(layer), Memory("L1", 1 << 20), SteppedCost(fixed=800.0, bandwidth=1.0))
    bounds = {
        held(nest): (nest, cycles)
        for nest, cycles, _ in mappings(structures_of(pricing, (16, 4, 16, 8)))
        if [loop.dim for loop in nest.loops] == [Dim.K, Dim.OY, Dim.C]
    }
    nest, bound = bounds[(3, 2), (3, 1 if single else 2), (2, 1)]
    cycles = latency(pricing, nest.loops, nest.placements).cycles
    assert (1 - 1e-3) * cycles <= bound <= cycles * (1 + SLACK)


@dataclass(frozen=True)
class PricedSeries(SteppedCost):
    """Transfers that cost more for each series of pieces than for each piece."""

    def transfer(self, layer: Layer, block: Block) -> float:
        return 2 * block.chunks + 40 * block.series + block.bytes / 8


@pytest.mark.parametrize(("window", "stride"), [(4, 2), (2, 2), (1, 2), (2, 1)])
def test_bounds_of_transfers_hold_where_windows_leave_columns_out(window: int, stride: int) -> None:
    """Blocks as wide as the layer reads, but not as the tensor, are no whole rows; single columns are less then."""
    before, read = 2, 3 * stride + window
    layer = Layer(
        "conv", Op.CONV2D, 5, 12, 9, 4, 11, read - before + 1, 3, window, (1, stride), padding=Padding(0, before, 0, 0)
    )
    pricing = Pricing(layer, operands_of(layer), Memory("L1", 1 << 20), PricedSeries())
    costs = TileCosts(pricing)
    candidates = candidate_tiles(pricing, {Dim.C: 4})
    floors = Floors(costs, candidates)
    tiles = feasible(costs, floors, candidates).tiles
    assert len(tiles) == 5 * 9 * 4 * 3
    for number, operand in enumerate(pricing.operands):
        sums, bounds = costs.sums(number, tiles), floors.sums(number, tiles)
        for figure, bound in zip(sums, bounds, strict=True):
            assert (bound <= figure * (1 + SLACK)).all(), operand.name
