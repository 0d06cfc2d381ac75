"""Impossible schedules cannot be built: every rule of `Schedule`, broken and kept."""

from __future__ import annotations

from dataclasses import replace

import pytest

from match.errors import ScheduleError
from match.ir.layer import Dim, Layer, Op, Operand, Padding
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Placement, Schedule
from match.target.operands import WEIGHTS, standard_operands

pytestmark = pytest.mark.unit

LAYER = Layer("conv", Op.CONV2D, 8, 16, 6, 6, 6, 6, 3, 3, padding=Padding(1, 1, 1, 1))
L1 = Memory("L1", 4096)
L2 = Memory("L2", 8192, holds=frozenset({WEIGHTS}))


def operands(partial_bytes: int = 4) -> tuple[Operand, ...]:
    *others, output = standard_operands(LAYER, 16)
    return (*others, replace(output, partial_bytes=partial_bytes))


def held(memory: str, **depths: tuple[int, int]) -> tuple[Placement, ...]:
    return tuple(Placement(name, memory, depth, buffers) for name, (depth, buffers) in depths.items())


def build(
    *loops: Loop, memories: tuple[Memory, ...] = (L1,), placements: tuple[Placement, ...], partial_bytes: int = 4
) -> Schedule:
    return Schedule(LAYER, operands(partial_bytes), memories, loops, placements)


def test_private_memory_has_offsets_and_a_limit_of_its_own() -> None:
    weights, activations = 8 * 9 * 16 + 8 * 16, 6 * 6 * 16 + 6 * 6 * 8
    memory = Memory("L1", activations, private=((WEIGHTS, weights),))
    placements = held("L1", input=(0, 1), weights=(0, 1), output=(0, 1))
    schedule = build(memories=(memory,), placements=placements)
    assert [buffer.offset for buffer in schedule.buffers(memory)] == [0, 0, 6 * 6 * 16]
    assert (schedule.used_bytes(memory), schedule.used_bytes(memory, WEIGHTS)) == (activations, weights)
    with pytest.raises(ScheduleError, match=f"{activations} bytes of L1, which has {activations - 1}"):
        build(memories=(replace(memory, size=activations - 1),), placements=placements)
    with pytest.raises(ScheduleError, match=f"{weights} bytes of L1's memory for weights, which has {weights - 4}"):
        build(memories=(replace(memory, private=((WEIGHTS, weights - 4),)),), placements=placements)


def test_operands_pass_through_the_levels_that_hold_them() -> None:
    loops = Loop(Dim.K, 4, 8), Loop(Dim.OY, 3, 6, level=1)
    inner = held("L1", input=(2, 2), weights=(1, 1), output=(2, 1))
    schedule = build(*loops, memories=(L2, L1), placements=(*held("L2", weights=(1, 2)), *inner))
    assert [buffer.placement.operand for buffer in schedule.buffers(L2)] == [WEIGHTS]
    assert schedule.used_bytes(L2) == 2 * (4 * 9 * 16 + 4 * 16)
    assert schedule.first_loop(1) == 1
    for placements in (inner, (*held("L2", weights=(1, 2), input=(0, 1)), *inner)):
        with pytest.raises(ScheduleError, match="exactly one placement in each memory that it passes through"):
            build(*loops, memories=(L2, L1), placements=placements)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_blocks_of_a_level_are_made_by_its_loops(depth: int) -> None:
    loops = Loop(Dim.K, 4, 8), Loop(Dim.OY, 3, 6, level=1), Loop(Dim.K, 2, 4, level=1)
    placements = (
        *held("L2", weights=(1, 1)),
        *held("L1", input=(2, 1), weights=(depth, 1), output=(3, 1)),
    )
    if depth in (1, 3):
        build(*loops, memories=(L2, L1), placements=placements)
    else:
        with pytest.raises(ScheduleError, match=r"placed at depth 0|does not depend on the loop"):
            build(*loops, memories=(L2, L1), placements=placements)


@pytest.mark.parametrize("levels", [(1, 0), (0, 2), (-1, 0)])
def test_loops_of_a_level_lie_outside_the_next(levels: tuple[int, int]) -> None:
    loops = Loop(Dim.K, 4, 8, levels[0]), Loop(Dim.OY, 3, 6, levels[1])
    placements = (*held("L2", weights=(0, 1)), *held("L1", input=(0, 1), weights=(0, 1), output=(0, 1)))
    with pytest.raises(ScheduleError, match="loops make blocks of the memories"):
        build(*loops, memories=(L2, L1), placements=placements)


def test_partial_sums_stay_until_all_channels_are_added_up() -> None:
    loops = Loop(Dim.OY, 2, 6), Loop(Dim.C, 4, 16)
    placements = held("L1", input=(2, 2), weights=(2, 1), output=(1, 2))
    schedule = build(*loops, placements=placements)
    assert schedule.partial_bytes == 4 * (2 * 6 * 8)
    buffers = 2 * (4 * 6 * 4) + (8 * 9 * 4 + 8 * 16) + 2 * (2 * 6 * 8)
    assert (schedule.partial_offset, schedule.used_bytes(L1)) == (buffers, buffers + schedule.partial_bytes)
    with pytest.raises(ScheduleError, match="the output is placed inside the loop over C"):
        build(*reversed(loops), placements=held("L1", input=(2, 2), weights=(1, 1), output=(2, 2)))
    with pytest.raises(ScheduleError, match="reduction over C is cut into tiles of 4; kernels need it whole"):
        build(*loops, placements=placements, partial_bytes=0)


def test_only_input_channels_are_cut_of_a_reduction() -> None:
    with pytest.raises(ScheduleError, match="reduction over FY is cut"):
        build(Loop(Dim.FY, 1, 3), placements=held("L1", input=(0, 1), weights=(0, 1), output=(0, 1)))


def test_an_operand_is_fetched_where_it_changes() -> None:
    loop = Loop(Dim.OY, 3, 6)
    with pytest.raises(ScheduleError, match="weights does not depend on the loop"):
        build(loop, placements=held("L1", input=(1, 1), weights=(1, 1), output=(1, 1)))
    with pytest.raises(ScheduleError, match="at depth 1 with 3 buffers"):
        build(loop, placements=held("L1", input=(1, 3), weights=(0, 1), output=(1, 1)))
    with pytest.raises(ScheduleError, match="splits 6 into tiles of 6"):
        build(replace(loop, tile=6), placements=held("L1", input=(1, 1), weights=(0, 1), output=(1, 1)))
