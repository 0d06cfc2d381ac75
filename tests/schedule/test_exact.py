from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest

from match.cost import Block, CostModel, Tile
from match.errors import CostModelError, OptionError, ScheduleError
from match.layer import Dim, Layer, Op, Operand, Padding
from match.schedule.engine import OBJECTIVES, engine, engine_names
from match.schedule.mapping import Memory, Schedule
from match.schedule.predict import predict
from tests.schedule.brute_force import rank, schedules, size_of_search
from tests.schedule.random_schedules import SteppedCost, operands_of, random_cost, random_layer
from tests.schedule.walk import walk


@dataclass(frozen=True)
class ErraticCost(SteppedCost):
    """Costs without any rule: only trying everything finds the least."""

    regular: bool = False
    seed: int = 0

    def compute(self, layer: Layer, tile: Tile) -> float:
        return random.Random(f"{self.seed} {tile}").randrange(1, 400)

    def transfer(self, layer: Layer, block: Block) -> float:
        return random.Random(f"{self.seed} {block}").randrange(1, 100)


def small_problem(rng: random.Random, most: int) -> tuple[Layer, tuple[Operand, ...], dict[Dim, int]]:
    while True:
        layer = random_layer(rng, rng.choice([3, 4, 6, 9]))
        operands = operands_of(layer)
        if layer.weight_dtype and rng.random() < 0.2:  # a layout that cannot be divided
            weights = next(operand for operand in operands if operand.name == "weights")
            parameters = replace(weights.components[-1], divisible=False)
            fixed = replace(weights, components=(*weights.components[:-1], parameters))
            operands = tuple(fixed if operand is weights else operand for operand in operands)
        multiples = {dim: rng.choice([0, 2, 3]) for dim in (Dim.K, Dim.OY, Dim.OX) if rng.random() < 0.3}
        if 1 < size_of_search(layer, operands, multiples) <= most:
            return layer, operands, multiples


def check_optimal(rng: random.Random, model: CostModel, most: int, *, by_walking: bool = False) -> None:
    layer, operands, multiples = small_problem(rng, most)
    everything = list(schedules(layer, operands, Memory("L1", 1 << 20), model, multiples))
    needs = sorted({schedule.used_bytes(schedule.inner_memory) for schedule in everything})
    size = rng.choice(needs[: max(1, len(needs) * 2 // 3)]) + rng.choice([0, 0, 1, 50])
    memory = Memory("L1", size)
    fitting = [schedule for schedule in everything if schedule.used_bytes(schedule.inner_memory) <= size]
    objective = rng.choice(["latency", "latency", "bytes"])
    ranks = []
    for schedule in fitting:
        if by_walking:
            line = walk(schedule, model)
            ranks.append(rank(schedule, line.cycles, sum(line.moved.values()), objective))
        else:
            cost = predict(schedule, model)
            ranks.append(rank(schedule, cost.cycles, cost.moved_bytes, objective))
    best = engine("exact").search(layer, operands, (memory,), model, objective, multiples)
    cost = predict(best, model)
    found = rank(best, cost.cycles, cost.moved_bytes, objective)
    assert found == min(ranks), (layer, size, objective, multiples, model)  # type: ignore[type-var]


def test_equals_brute_force() -> None:
    rng = random.Random(10)
    for _ in range(170):
        check_optimal(rng, random_cost(rng), most=1500)


def test_equals_brute_force_over_an_event_by_event_walk() -> None:
    rng = random.Random(11)
    for _ in range(25):
        check_optimal(rng, random_cost(rng), most=300, by_walking=True)


def test_equals_brute_force_without_regularity() -> None:
    rng = random.Random(12)
    for seed in range(25):
        check_optimal(rng, ErraticCost(seed=seed, overlap=rng.random() < 0.8), most=800)
