"""The search over two memories against trying every mapping."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from match.errors import ScheduleError
from match.ir.layer import Dim, Layer, Op, Operand, Padding
from match.mapping.memory import Memory, block_bytes
from match.mapping.schedule import Schedule
from match.prediction.predict import predict
from match.prediction.prices import Prices
from match.target.cost import Cost, CostModel
from match.target.external_cost import external_cost
from match.target.operands import standard_operands
from match.targets.gap8.target import Gap8
from match.targets.pulp.external import hyperram
from tests.mapping.random_schedules import (
    dear_issues,
    operands_of,
    random_arrays,
    random_cost,
    random_layer,
    random_operands,
)
from tests.search.brute_force_levels import two_level_schedules, two_level_size
from tests.search.problems import JumpyCost, searched
from tests.seeds import seeded

pytestmark = pytest.mark.unit

Unlimited = tuple[Layer, tuple[Operand, ...], tuple[Memory, Memory], dict[Dim, int]]


def problem(rng: random.Random, most: int) -> Unlimited:
    """A layer with few mappings onto two memories without limit, and what tiles must be multiples of."""
    while True:
        layer = random_layer(rng, rng.choice([2, 3, 4, 6]))
        operands = random_operands(rng, layer)
        names = [operand.name for operand in operands]
        holds = rng.choice([None, None, frozenset(["weights"]), frozenset(n for n in names if rng.random() < 0.6)])
        outer = Memory("L2", 1 << 20, rng.choice([4, 4, 16]), holds=holds)
        inner = Memory("L1", 1 << 20, rng.choice([4, 4, 1, 8]))
        multiples = {dim: rng.choice([0, 2, 3]) for dim in (Dim.K, Dim.OY, Dim.OX) if rng.random() < 0.4}
        if layer.c > 1 and rng.random() < 0.5:
            multiples[Dim.C] = rng.choice([0, 1, 1, 2, 3])
        if 30 < two_level_size(layer, operands, (outer, inner), multiples) <= most:
            return layer, operands, (outer, inner), multiples


def key(cost: Cost, objective: str) -> tuple[float, float]:
    """What is minimised, and what decides among equals."""
    cycles = round(cost.cycles * 256) / 256
    first = {"latency": cycles, "bytes": cost.moved_bytes, "energy": round((cost.energy or 0.0) * 256) / 256}
    return first[objective], cost.moved_bytes if objective == "latency" else cycles


def unpacked_bytes(schedule: Schedule, memory: Memory) -> int:
    """Bytes of one block of each operand that a memory holds, with components aligned as in this memory."""
    held = [
        (operand, schedule.placement(operand.name, memory)) for operand in schedule.operands if memory.has(operand.name)
    ]
    return sum(block_bytes(operand, schedule.extents(place.depth), memory.alignment) for operand, place in held)


def limited_problem(
    rng: random.Random, unlimited: Unlimited, model: CostModel, *, tight: bool = False
) -> tuple[Layer, tuple[Operand, ...], tuple[Memory, ...], dict[Dim, int], list[tuple[Schedule, Cost]]]:
    """A problem whose memories are small, as small as can be if `tight`, with each mapping that fits and what it costs.

    The search rounds each component of a block up to the memory's alignment, and so refuses a few bytes that constants
    of several components fit, which lie in an outer memory as the inner one packs them: no memory is as small as that.
    """
    layer, operands, memories, multiples = unlimited
    fitting = list(two_level_schedules(layer, operands, memories, model, multiples))
    limited: list[Memory] = []
    for memory in memories:
        needs = sorted({schedule.used_bytes(memory) for schedule in fitting})
        some = needs[: 1 if tight else max(1, len(needs) * 2 // 3)]
        size = rng.choice(some) + (0 if tight else rng.choice([0, 0, 1, 30]))
        size = max(size, min(unpacked_bytes(schedule, memory) for schedule in fitting))
        fitting = [schedule for schedule in fitting if schedule.used_bytes(memory) <= size]
        limited.append(replace(memory, size=size))
    return layer, operands, tuple(limited), multiples, [(schedule, predict(schedule, model)) for schedule in fitting]


def check_loss(
    rng: random.Random, unlimited: Unlimited, model: CostModel, *, tight: bool = False
) -> tuple[Schedule, float]:
    """The mapping found, and what it costs over what the best of all costs; `loss` covers the difference."""
    layer, operands, memories, multiples, costs = limited_problem(rng, unlimited, model, tight=tight)
    objective = rng.choice(["latency", "latency", "latency", "bytes", "energy"])
    best = searched("exact", layer, operands, memories, model, objective, multiples)
    least = min(key(cost, objective) for _, cost in costs)
    found = key(predict(best, model), objective)
    assert found[0] >= least[0] * (1 - 1e-9)
    assert found[0] - best.loss <= least[0] * (1 + 1e-9), (layer, memories, objective, multiples, model)
    return best, found[0] / max(least[0], 1e-9)


@seeded(6, 39)
def test_is_near_the_best_and_loss_covers_the_rest(seed: int) -> None:
    rng = random.Random(seed)
    _, ratio = check_loss(rng, problem(rng, 1200), random_cost(rng))
    assert ratio < 1.3


@pytest.mark.sweep
def test_is_mostly_the_best_of_all() -> None:
    rng = random.Random(44)
    found = [check_loss(rng, problem(rng, 4000), random_cost(rng)) for _ in range(45)]
    ratios = sorted(ratio for _, ratio in found)
    assert ratios[len(ratios) // 2] == pytest.approx(1.0, rel=1e-9)
    assert sum(ratios) < 1.05 * len(ratios)


@pytest.mark.sweep
def test_loss_covers_mappings_with_loops_over_all_dimensions_and_partial_sums() -> None:
    """Which few of the layers at random have: memories that hold nothing else."""
    rng = random.Random(5)
    layer = Layer("conv", Op.CONV2D, 2, 8, 2, 2, 2, 2)
    operands = standard_operands(layer, 8, partial_bytes=4)
    memories = Memory("L2", 1 << 20, 1, holds=frozenset({"output"})), Memory("L1", 1 << 20, 1)
    schedule, ratio = check_loss(rng, (layer, operands, memories, {Dim.C: 4}), random_cost(rng), tight=True)
    assert {loop.dim for loop in schedule.loops} == {Dim.C, Dim.K, Dim.OY, Dim.OX}
    assert schedule.partial_bytes > 0
    assert ratio < 1.3


@seeded(10, 60)
def test_loss_covers_what_is_left_out_where_the_cost_model_takes_arrays(seed: int) -> None:
    rng = random.Random(seed)
    check_loss(rng, problem(rng, 500), random_arrays(rng))


@seeded(10, 10)
def test_loss_covers_what_is_left_out_where_it_takes_long_to_issue_transfers(seed: int) -> None:
    rng = random.Random(seed)
    check_loss(rng, problem(rng, 500), dear_issues(rng))


@pytest.mark.sweep
@seeded(100)
def test_loss_covers_what_is_left_out_on_larger_layers(seed: int) -> None:
    rng = random.Random(seed)
    check_loss(rng, problem(rng, 6000), random_cost(rng))


def test_what_any_mapping_takes_is_the_same_whether_the_cost_model_is_asked_in_arrays_or_one_by_one() -> None:
    """The map has other extents than there are kinds of parts of a reduction."""
    layer = Layer("conv", Op.CONV2D, 6, 12, 7, 9, 7, 9, 3, 3, padding=Padding(1, 1, 1, 1))
    operands, memories = standard_operands(layer, 8, partial_bytes=4), (Memory("L2", 1200), Memory("L1", 500))
    least: list[float] = []
    for model in (JumpyCost(), JumpyCost(arrays=False)):
        found = searched("exact", layer, operands, memories, model, multiples={Dim.C: 4})
        assert found.loss > 0
        least.append(predict(found, model).cycles - found.loss)
    assert least[0] == pytest.approx(least[1], rel=1e-12)


def test_arrays_of_blocks_at_a_border_are_shorter() -> None:
    layer = Layer("conv", Op.CONV2D, 4, 4, 8, 8, 8, 8, 3, 3, padding=Padding(1, 1, 1, 1))
    pricing = Prices(layer, operands_of(layer), Memory("L1", 1 << 20), random_cost(random.Random(0)))
    spans = layer.spans
    rows = [pricing.array(0, spans | {Dim.OY: (start, 2)}) for start in (0, 2, 4, 6)]
    (first, *inside, last) = rows
    assert inside[0] == inside[1]
    assert first == last
    assert [a - b for a, b in zip(inside[0], first, strict=True) if a != b] == [1]


def test_says_which_memory_is_too_small() -> None:
    layer = Layer("conv", Op.CONV2D, 6, 4, 7, 5, 7, 5, 3, 3, padding=Padding(1, 1, 1, 1))
    operands, model = operands_of(layer), random_cost(random.Random(0), kernel_scratch=0)
    with pytest.raises(ScheduleError, match=r"layer conv needs at least 92 bytes of L2, 91 are there"):
        searched("exact", layer, operands, (Memory("L2", 91), Memory("L1", 4096)), model)
    with pytest.raises(ScheduleError, match=r"layer conv needs at least 92 bytes of L1, 91 are there"):
        searched("exact", layer, operands, (Memory("L2", 4096), Memory("L1", 91)), model)
    best = searched("exact", layer, operands, (Memory("L2", 92), Memory("L1", 92)), model)
    assert [best.used_bytes(memory) for memory in best.memories] == [92, 92]


def test_rows_of_a_wide_map_come_whole() -> None:
    """Each piece of external memory costs 44 cycles: blocks of some channels have one for each pixel.

    By hand, one row of outputs at a time, one step after the other: three rows of the input in one piece, one of the
    output, and the kernel's time in main memory.
    """
    padding = Padding(0, 0, 1, 1)
    layer = Layer("depthwise", Op.DEPTHWISE_CONV2D, 64, 1, 56, 56, 112, 112, 3, 3, stride=(2, 2), padding=padding)
    chip = Gap8()
    cluster, _ = chip.modules
    requantizer = cluster.requantizers[0]
    operands, model = cluster.operands(layer, requantizer), cluster.cost(layer, requantizer)
    inside = searched("exact", layer, operands, cluster.memories, model)
    outer = Memory("L2", 64512, 8, holds=frozenset(("input", "output")))
    nested = external_cost(model, hyperram(chip.clock_hz), "L2")
    found = searched("exact", layer, operands, (outer, *cluster.memories), nested)
    by_hand = 56 * (44 + 3 * 112 * 64 + 44 + 56 * 64) + 2 * predict(inside, model).cycles
    assert predict(found, nested).cycles < by_hand
