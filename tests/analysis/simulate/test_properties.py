"""What holds for every schedule onto one, two or three memories."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import numpy as np
import pytest

from match.analysis.simulate import Kind, Timeline, simulate, stream
from match.ir.layer import Role
from match.mapping.memory import Memory
from match.mapping.schedule import Placement, Schedule
from match.target.cost import Tile
from tests.mapping.random_schedules import SteppedCost, random_cost, random_layer, random_memories, random_schedule
from tests.seeds import seeded

pytestmark = pytest.mark.unit


def random_nested(rng: random.Random, levels: int) -> Schedule:
    """Any legal mapping onto memories without limit, some of which do not hold all operands."""
    layer = random_layer(rng, 12)
    return random_schedule(rng, layer, 3 + levels, random_memories(rng, layer, levels))


def check(schedule: Schedule, timeline: Timeline) -> None:
    layer, events = schedule.layer, timeline.events
    # The core does one thing after the other.
    times = [timeline.offload, *itertools.chain.from_iterable((e.core_begin, e.core_end) for e in events)]
    assert all(a <= b for a, b in itertools.pairwise(times))
    assert times[-1] == timeline.cycles
    # So does each engine, in the order of issue, and nothing is waited for twice or never.
    for memory in schedule.memories:
        served = [e for e in events if e.action.memory == memory.name and e.action.kind is not Kind.WAIT]
        assert all(a.end <= b.begin for a, b in itertools.pairwise(served))
    moves = {e.action._replace(kind=Kind.WAIT): e for e in events if e.action.kind in (Kind.FETCH, Kind.STORE)}
    waits = {e.action: e for e in events if e.action.kind is Kind.WAIT}
    assert moves.keys() == waits.keys()
    assert len(waits) == sum(e.action.kind is Kind.WAIT for e in events)
    assert all(moves[action].end <= wait.core_end for action, wait in waits.items())
    # Tiles make up the layer, and every output is stored once.
    tiles = [e.action.tile for e in events if e.action.tile]
    work = layer.k * layer.c * layer.oy * layer.ox
    assert sum(tile.k * tile.c * tile.oy * tile.ox for tile in tiles) == work
    assert sum(tile.k * tile.oy * tile.ox for tile in tiles if tile.end) == layer.k * layer.oy * layer.ox
    inner = schedule.inner_memory.name
    stored = [e.action.bytes for e in events if e.action.kind is Kind.STORE and e.action.memory == inner]
    assert sum(stored) == layer.output_channels * layer.oy * layer.ox * np.dtype(layer.output_dtype).itemsize


@pytest.mark.parametrize("levels", [1, 2, 3])
@seeded(50, 100)
def test_invariants(levels: int, seed: int) -> None:
    rng = random.Random(seed)
    schedule, model = random_nested(rng, levels), random_cost(rng)
    check(schedule, simulate(schedule, model))


@seeded(40, 60)
def test_a_memory_that_cuts_nothing_adds_a_transfer_of_everything(seed: int) -> None:
    """The inner events are those of the mapping onto one memory; whole operands come before them, and leave after."""
    rng = random.Random(seed)
    inner = random_nested(rng, 1)
    placed = tuple(Placement(operand.name, "L2", 0, rng.choice([1, 2])) for operand in inner.operands)
    loops = tuple(replace(loop, level=1) for loop in inner.loops)
    outer = Schedule(
        inner.layer,
        inner.operands,
        (Memory("L2", 1 << 30), *inner.memories),
        loops,
        (*placed, *inner.placements),
    )
    alone, nested = (simulate(schedule, SteppedCost()).actions for schedule in (inner, outer))
    fetched = [operand for operand in inner.operands if operand.role is not Role.OUTPUT]
    inside = nested[2 * len(fetched) : -2]
    assert [(a.kind, a.operand, a.number, a.memory, a.tile) for a in inside] == [
        (a.kind, a.operand, a.number, a.memory, a.tile) for a in alone
    ]
    assert {a.memory for a in (*nested[: 2 * len(fetched)], *nested[-2:])} == {"L2"}


def test_events_one_by_one() -> None:
    schedule = random_nested(random.Random(6), 2)
    assert tuple(stream(schedule, SteppedCost())) == simulate(schedule, SteppedCost()).events


def test_the_cost_model_is_asked_once_for_each_tile_and_block() -> None:
    asked: list[Tile] = []

    class Counting(SteppedCost):
        def compute(self, layer, tile):
            asked.append(tile)
            return super().compute(layer, tile)

    simulate(random_nested(random.Random(9), 2), Counting())
    assert len(asked) == len(set(asked)) > 0
