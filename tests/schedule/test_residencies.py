"""Bounds of all ways to hold operands, in which loop orders that fetch the same blocks are one."""

from __future__ import annotations

import random

import numpy as np
import pytest

import match.schedule.structures
from match.ir.layer import Dim
from match.schedule.mapping import Memory
from match.schedule.pricing import Pricing
from match.schedule.residencies import AllResidencies
from match.schedule.sieve import feasible
from match.schedule.structures import Structures
from match.schedule.tiles import TileCosts, candidate_tiles
from tests.schedule.random_schedules import operands_of, random_cost, random_layer

Figures = set[tuple[int, float, float, float, float]]


@pytest.mark.parametrize("packing", [0, 4])
@pytest.mark.parametrize("part", [1, 1 << 14])
def test_they_are_those_of_every_mapping(packing: int, part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are bounded at a time; mappings in orders of loops that fetch the same have the same."""
    monkeypatch.setattr(match.schedule.structures, "PART", part)
    rng, orders, once, partly = random.Random(61), 0, 0, 0
    for _ in range(20):
        layer = random_layer(rng, 6)
        operands, model = operands_of(layer), random_cost(rng)
        held = rng.choice([operands, operands[:1], operands[-1:], ()])
        ample = TileCosts(Pricing(layer, held, Memory("L1", 1 << 20), model), packing=packing)
        whole = int(sum(ample.blocks({}))) + int(ample.scratch(np.array([ample.whole]))[0])
        memory = Memory("L1", rng.choice([1 << 20, whole, whole * 3 // 4]))
        costs = TileCosts(Pricing(layer, held, memory, model), packing=packing)
        candidates = candidate_tiles(costs.pricing, {Dim.C: 1}, packing=packing)
        tiles = feasible(costs, None, candidates).tiles
        if not len(tiles):
            continue
        tiles = tiles[sorted(rng.sample(range(len(tiles)), min(20, len(tiles))))]
        structures = Structures(costs, tiles, AllResidencies(held, packing > 0))
        expected, found = Figures(), Figures()
        for nests in structures.nests():
            columns = nests.tile, nests.core, nests.dma, nests.fetched, nests.moved
            expected |= set(zip(*(column.tolist() for column in columns), strict=True))
            orders += sum(len(nests.orders(row)) for row in range(len(nests.tile)))
        for bounds in structures.bounds():
            figures = bounds.figures
            partly += int((np.isfinite(figures.core).any(axis=1) & ~np.isfinite(figures.core).all(axis=1)).sum())
            for row, column in zip(*np.nonzero(np.isfinite(figures.core)), strict=True):
                core, dma, fetched, moved = (
                    float(figure[row, column]) for figure in (figures.core, figures.dma, figures.fetched, figures.moved)
                )
                found.add((int(bounds.rows[column]), core, dma, fetched, moved))
                once += 1
        assert found == expected, layer
    assert once < 0.8 * orders, "orders are told apart"
    assert part == 1 or partly > 20, "some fit with some tiles alone"
