from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from match.ir.layer import Op, Operand, Role
from match.mapping.memory import block_bytes
from match.mapping.schedule import Schedule
from match.prediction.predict import predict
from tests.mapping.random_schedules import (
    ACCUMULATING,
    OPS,
    random_cost,
    random_layer,
    random_memories,
    random_schedule,
)
from tests.mapping.walk import constant_block, iterations, touched, walk
from tests.seeds import seeded

pytestmark = pytest.mark.unit

PADDED = (3, 6, 9, 10, 11, 12, 13, 16, 17, 20, 21, 24)
"""Seeds of mappings onto two memories whose blocks of constants inner tiles do not divide."""


@pytest.mark.parametrize("levels", [1, 2, 3])
@seeded(100, 500)
def test_equals_a_walk_over_every_event(levels: int, seed: int) -> None:
    rng = random.Random(seed)
    layer = random_layer(rng, 12)
    schedule = random_schedule(rng, layer, 4 + levels, random_memories(rng, layer, levels))
    model = random_cost(rng)
    cost, line = predict(schedule, model), walk(schedule, model)
    assert cost.cycles == pytest.approx(line.cycles, rel=1e-12), (schedule, model)
    assert cost.compute == pytest.approx(line.compute, rel=1e-12)
    assert cost.transfer == pytest.approx(line.transfer, rel=1e-12)
    assert cost.overhead == pytest.approx(line.overhead, rel=1e-12)
    assert dict(cost.moved) == line.moved
    assert model.energy is not None
    energy = sum(model.energy.byte[name] * count for name, count in line.moved_by_memory.items())
    energy += model.energy.mac * layer.macs + model.energy.cycle * line.cycles
    energy += model.energy.kernel * line.compute + model.energy.control * line.overhead
    assert cost.energy == pytest.approx(energy, rel=1e-12)


def largest_block(schedule: Schedule, operand: Operand, level: int) -> int:
    """Bytes of the largest block that really moves into a memory."""
    memory = schedule.memories[level]
    depth = schedule.placement(operand.name, memory).depth
    whole = {dim: (0, schedule.layer.size(dim)) for dim in schedule.extents(0)}
    sizes = []
    for spans in iterations(schedule.loops[:depth], whole):
        if operand.role is Role.CONSTANT:
            sizes.append(constant_block(schedule, operand, spans, depth, memory).bytes)
        else:
            (component,) = operand.components
            lengths = [len(indices) for indices in touched(component, spans)]
            sizes.append(component.element_bytes * math.prod(lengths))
    return max(sizes)


def check_outer_buffers(rng: random.Random, ops: Sequence[Op]) -> bool:
    """Whether a block of constants takes more than its elements, as inner tiles do not divide it."""
    layer = random_layer(rng, 8, ops)
    memories = random_memories(rng, layer, 2)
    schedule = random_schedule(rng, layer, 5, memories)
    padded = False
    for buffer in schedule.buffers(memories[0]):
        operand, alignment = schedule.operand(buffer.placement.operand), memories[0].alignment
        needed = -(-largest_block(schedule, operand, 0) // alignment) * alignment
        assert buffer.bytes >= needed
        if operand.role is Role.CONSTANT:
            assert buffer.bytes == needed
            padded |= needed > block_bytes(operand, schedule.extents(buffer.placement.depth), alignment)
    used = sum(buffer.bytes * buffer.placement.buffers for buffer in schedule.buffers(memories[0]))
    assert schedule.used_bytes(memories[0]) == used
    return padded


@seeded(100, 100)
def test_buffers_of_outer_memories_hold_every_block(seed: int) -> None:
    check_outer_buffers(random.Random(seed), OPS)


@pytest.mark.parametrize("seed", PADDED)
def test_buffers_of_outer_memories_hold_packed_blocks(seed: int) -> None:
    assert check_outer_buffers(random.Random(seed), ACCUMULATING)
