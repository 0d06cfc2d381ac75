"""The search over two memories against trying every mapping."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from match.cost import Cost
from match.layer import Dim, Layer, Operand
from match.schedule.engine import engine
from match.schedule.mapping import Memory
from match.schedule.predict import predict
from tests.schedule.brute_force_levels import two_level_schedules, two_level_size
from tests.schedule.random_schedules import operands_of, random_cost, random_layer


def problem(rng: random.Random, most: int) -> tuple[Layer, tuple[Operand, ...], tuple[Memory, Memory], dict[Dim, int]]:
    """A layer with few mappings onto two memories without limit, and what tiles must be multiples of."""
    while True:
        layer = random_layer(rng, rng.choice([2, 3, 4, 6]))
        operands = operands_of(layer)
        if layer.weight_dtype and rng.random() < 0.2:  # a layout that cannot be divided
            weights = next(operand for operand in operands if operand.name == "weights")
            parameters = replace(weights.components[-1], divisible=False)
            fixed = replace(weights, components=(*weights.components[:-1], parameters))
            operands = tuple(fixed if operand is weights else operand for operand in operands)
        names = [operand.name for operand in operands]
        holds = rng.choice([None, None, frozenset(["weights"]), frozenset(n for n in names if rng.random() < 0.6)])
        outer = Memory("L2", 1 << 20, rng.choice([4, 4, 16]), holds=holds)
        inner = Memory("L1", 1 << 20, rng.choice([4, 4, 1, 8]))
        multiples = {dim: rng.choice([0, 2, 3]) for dim in (Dim.K, Dim.OY, Dim.OX) if rng.random() < 0.4}
        if 30 < two_level_size(layer, operands, (outer, inner), multiples) <= most:
            return layer, operands, (outer, inner), multiples


def key(cost: Cost, objective: str) -> tuple[float, float]:
    """What is minimised, and what decides among equals."""
    cycles = round(cost.cycles * 256) / 256
    first = {"latency": cycles, "bytes": cost.moved_bytes, "energy": round((cost.energy or 0.0) * 256) / 256}
    return first[objective], cost.moved_bytes if objective == "latency" else cycles


def check_optimal(rng: random.Random, most: int) -> int:
    layer, operands, memories, multiples = problem(rng, most)
    model = random_cost(rng)
    fitting = list(two_level_schedules(layer, operands, memories, model, multiples))
    costs = {schedule: predict(schedule, model) for schedule in fitting}
    limited: list[Memory] = []
    for memory in memories:
        needs = sorted({schedule.used_bytes(memory) for schedule in fitting})
        size = rng.choice(needs[: max(1, len(needs) * 2 // 3)]) + rng.choice([0, 0, 1, 30])
        fitting = [schedule for schedule in fitting if schedule.used_bytes(memory) <= size]
        limited.append(replace(memory, size=size))
    objective = rng.choice(["latency", "latency", "latency", "bytes", "energy"])
    best = engine("exact").search(layer, operands, tuple(limited), model, objective, multiples)
    least = min(key(costs[schedule], objective) for schedule in fitting)
    assert key(predict(best, model), objective) == pytest.approx(least, rel=1e-9), (
        layer,
        limited,
        objective,
        multiples,
    )
    assert best.loss == 0
    return len(best.loops)


def test_equals_brute_force() -> None:
    rng = random.Random(40)
    loops = [check_optimal(rng, 3000) for _ in range(70)]
    assert max(loops) >= 3
