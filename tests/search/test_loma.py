"""What ZigZag's LOMA finds, turned into our mappings."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace

import pytest

from match.errors import OptionError, ScheduleError
from match.ir.layer import Dim, Layer, Op, Operand, Role
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Placement, Schedule
from match.prediction.blocks import largest_tile
from match.prediction.predict import predict
from match.search.baselines.loma import LomaEngine
from match.search.baselines.zigzag import Nesting, Rooms, nestings
from match.target.cost import Cost
from match.target.operands import standard_operands
from tests.mapping.random_schedules import SteppedCost, operands_of, random_cost, random_layer
from tests.search.brute_force import nests
from tests.search.networks import add, average, conv, dense, depthwise
from tests.search.problems import searched
from tests.seeds import seeded

pytestmark = pytest.mark.unit

UNLIMITED_FACTORS = 12
POINTWISE = conv("pointwise", 2, 5, (3, 1), (1, 1))
"""Loops over 2 channels and 3 rows; blocks: input 5 bytes a row, weights 5 a channel, output 1 a row and channel."""


def weights_only(layer: Layer) -> tuple[Operand, ...]:
    """Operands whose weights have no parameters, so that bytes are elements."""
    return standard_operands(layer, 0)


def found(layer: Layer, room: int, double: bool = False, limit: int = UNLIMITED_FACTORS) -> set[Nesting]:
    unrolled = {dim: layer.size(dim) if dim in (Dim.C, Dim.FY, Dim.FX) else 1 for dim in Dim}
    return set(nestings(layer, weights_only(layer), unrolled, Rooms(room, {}), double, limit))


def by_divisors(layer: Layer, memory: Memory, model: SteppedCost) -> list[Schedule]:
    """Every mapping whose tiles divide the layer, tried one by one."""
    operands = operands_of(layer)
    every: list[Schedule] = []
    for loops, placements in nests(layer, operands, {}):
        if all(loop.extent % loop.tile == 0 for loop in loops):
            extents = layer.extents | {loop.dim: loop.tile for loop in loops}
            scratch = model.scratch(layer, largest_tile(layer, extents))
            with suppress(ScheduleError):
                every.append(Schedule(layer, operands, (memory,), loops, placements, scratch))
    return every


def volume(layer: Layer) -> int:
    return layer.k * layer.oy * layer.ox


def value(cost: Cost, objective: str) -> float:
    return cost.cycles if objective == "latency" else cost.moved_bytes


def test_allocations_of_two_loops_by_hand() -> None:
    """Each operand keeps the inner loops that move least in the bytes there are; order: input, weights, output."""
    rows_outside, channels_outside = ((Dim.OY, 3), (Dim.K, 2)), ((Dim.K, 2), (Dim.OY, 3))
    assert found(POINTWISE, 15 + 10 + 6) == {Nesting(rows_outside, (0, 0, 0)), Nesting(channels_outside, (0, 0, 0))}
    # Rows outside: 5 of input, 10 of weights, 2 of output. Channels outside: 15, 5 and 3 are too many; the input is
    # fetched again for both channels, 5 and 5 bytes, and all 6 bytes of the output stay.
    assert found(POINTWISE, 17) == {Nesting(rows_outside, (1, 0, 1)), Nesting(channels_outside, (2, 1, 0))}
    # Two buffers of a row of input and of output take 14 of 24 bytes, the weights fit beside them.
    assert Nesting(rows_outside, (1, 0, 1)) in found(POINTWISE, 24, double=True)
    assert Nesting(rows_outside, (1, 0, 1)) not in found(POINTWISE, 23, double=True)
    assert found(POINTWISE, 10) == set()


def test_factors_are_multiplied_to_their_limit() -> None:
    """Always the two smallest of the dimension that has the most."""
    layer = conv("pointwise", 16, 4, (8, 1), (1, 1))
    (loops,) = {tuple(sorted(nesting.loops)) for nesting in found(layer, 10_000, limit=3)}
    assert loops == ((Dim.K, 16), (Dim.OY, 2), (Dim.OY, 4))
    (loops,) = {tuple(sorted(nesting.loops)) for nesting in found(layer, 10_000)}
    assert loops == ((Dim.K, 2),) * 4 + ((Dim.OY, 2),) * 3


def test_loops_of_one_dimension_are_merged() -> None:
    """The outer place counts where two loops over channels are around one over rows."""
    layer = conv("pointwise", 4, 16, (2, 1), (1, 1))
    operands = operands_of(layer)
    schedule = searched(LomaEngine(UNLIMITED_FACTORS), layer, operands, (Memory("L1", 110),), SteppedCost(), "bytes")
    assert len({loop.dim for loop in schedule.loops}) == len(schedule.loops)


@pytest.mark.parametrize("objective", ["latency", "bytes"])
@seeded(5, 3)
def test_never_better_than_all_mappings_by_divisors(seed: int, objective: str) -> None:
    """What is found is one of them, whatever the operator, the cost model and the memory."""
    rng = random.Random(seed)
    layer = next(layer for _ in range(1000) if 8 < volume(layer := random_layer(rng, 4)) <= 36)
    model = random_cost(rng)
    operands = operands_of(layer)
    unlimited = Memory("L1", 1 << 20)
    uncut = Schedule(layer, operands, (unlimited,), (), tuple(Placement(o.name, "L1", 0) for o in operands))
    memory = Memory("L1", rng.randint(uncut.used_bytes(unlimited) // 3, uncut.used_bytes(unlimited) + 200))
    every = by_divisors(layer, memory, model)
    best = min((value(predict(s, model), objective) for s in every), default=None)
    try:
        schedule = searched(LomaEngine(UNLIMITED_FACTORS), layer, operands, (memory,), model, objective)
    except ScheduleError:
        return
    assert schedule in every
    assert best is not None
    assert value(predict(schedule, model), objective) >= best


@pytest.mark.parametrize(
    ("layer", "size"),
    [
        (conv("conv", 4, 3, (4, 1), (3, 3)), 120),
        (depthwise("depthwise", 4, (4, 1)), 90),
        (dense("dense", 12, 10), 150),
        (add("add", 4, 2), 50),
        (average("pool", 8, (3, 3)), 40),
        (Layer("lookup", Op.LOOKUP, 4, 1, 4, 4, 4, 4, weight_dtype=""), 340),
    ],
    ids=lambda value: value.name if isinstance(value, Layer) else str(value),
)
def test_the_best_mapping_by_divisors_is_found(layer: Layer, size: int) -> None:
    """On these, LOMA's allocations include it; in general they do not."""
    memory, model = Memory("L1", size), SteppedCost(bandwidth=1.0)
    best = min(predict(s, model).moved_bytes for s in by_divisors(layer, memory, model))
    schedule = searched(LomaEngine(UNLIMITED_FACTORS), layer, operands_of(layer), (memory,), model, "bytes")
    assert schedule.loops
    assert predict(schedule, model).moved_bytes == best


def test_sizes_keep_the_multiples_of_the_module() -> None:
    layer = depthwise("depthwise", 48, (6, 6))
    multiples = {Dim.K: 16, Dim.OY: 0}
    schedule = searched("loma", layer, operands_of(layer), (Memory("L1", 3500),), SteppedCost(), multiples=multiples)
    sizes = {loop.dim: loop.tile for loop in schedule.loops}
    assert sizes.get(Dim.K, 16) % 16 == 0
    assert Dim.OY not in sizes
    assert sizes


def test_dimensions_that_no_multiple_divides_have_a_smaller_last_tile() -> None:
    layer = depthwise("depthwise", 24, (4, 4))
    multiples = {Dim.K: 16, Dim.OY: 0, Dim.OX: 0}
    schedule = searched("loma", layer, operands_of(layer), (Memory("L1", 1000),), SteppedCost(), multiples=multiples)
    assert schedule.loops == (Loop(Dim.K, 16, 24),)


def test_layouts_that_cannot_be_divided_are_fetched_inside_the_loop_that_cuts_them() -> None:
    layer = conv("conv", 16, 16, (8, 8), (3, 3))
    operands = tuple(
        replace(o, components=tuple(replace(c, divisible=False) for c in o.components))
        if o.role is Role.CONSTANT
        else o
        for o in operands_of(layer)
    )
    schedule = searched("loma", layer, operands, (Memory("L1", 1500),), SteppedCost(), multiples={Dim.OY: 0})
    depth = schedule.placement("weights", schedule.inner_memory).depth
    assert Dim.K in {loop.dim for loop in schedule.loops[:depth]}


def test_private_memories_are_filled_on_their_own() -> None:
    layer = conv("conv", 32, 16, (8, 8), (3, 3))
    block = 9 * 16 + 16
    memory = Memory("L1", 1 << 16, private=(("weights", 8 * block),))
    schedule = searched("loma", layer, operands_of(layer), (memory,), SteppedCost())
    assert schedule.used_bytes(memory, "weights") <= 8 * block
    assert [loop.dim for loop in schedule.loops] == [Dim.K]


def test_scratch_that_grows_with_tiles_is_left_free() -> None:
    layer = conv("conv", 16, 16, (16, 16), (1, 1))
    model = SteppedCost(kernel_scratch=30)
    memory = Memory("L1", 8000)
    schedule = searched("loma", layer, operands_of(layer), (memory,), model)
    tile = schedule.extents(len(schedule.loops))
    assert schedule.scratch == 30 * tile[Dim.K] * tile[Dim.OX] + 4 * 16
    assert schedule.used_bytes(memory) <= 8000


def test_no_mapping() -> None:
    layer = conv("conv", 16, 64, (8, 8), (3, 3))
    with pytest.raises(
        ScheduleError, match="layer conv has no mapping that LOMA finds, along divisors, in the 600 byt"
    ):
        searched("loma", layer, operands_of(layer), (Memory("L1", 600),), SteppedCost())


def test_refusals() -> None:
    operands = operands_of(POINTWISE)
    with pytest.raises(ScheduleError, match="layer pointwise has 2 levels of scratchpad, and the loma engine maps on"):
        searched("loma", POINTWISE, operands, (Memory("L2", 9999), Memory("L1", 999)), SteppedCost())
    with pytest.raises(OptionError, match="objective 'beauty' is unknown"):
        searched("loma", POINTWISE, operands, (Memory("L1", 999),), SteppedCost(), "beauty")


def test_the_same_every_time() -> None:
    layer = conv("conv", 16, 16, (16, 16), (3, 3))
    arguments = layer, operands_of(layer), (Memory("L1", 4096),), SteppedCost()
    assert searched("loma", *arguments) == searched("loma", *arguments)
