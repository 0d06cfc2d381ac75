"""Generated C of layers whose blocks pass main memory: what it computes, and what it does in which order."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from match.analysis.simulate import simulate
from match.analysis.trace import LayerTrace
from match.codegen.layer import generate
from match.dispatch.plan import LayerPlan
from match.errors import NoMappingError, ScheduleError
from match.ir.constants import Filters
from match.ir.layer import Dim, Op, Operand, Padding
from match.ir.requantization import Requantizer
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Placement, Schedule
from tests.analysis.simulate.layers import random_case, random_mapping, random_outer_memory
from tests.codegen.harness import scheduled, traced_run
from tests.codegen.layers import Case, make
from tests.codegen.mock_target import OPS, PLAIN, SCRATCHPAD, SIGNED, MockModule
from tests.layer_data import data_of
from tests.mapping.random_schedules import SteppedCost, random_cost
from tests.search.problems import searched

pytestmark = pytest.mark.cc

L2 = Memory("L2", 1 << 24)
MODULE = MockModule()


def form(case: Case) -> Requantizer | None:
    """The mock's choice of requantizer."""
    requant = case.constants.requantization
    return None if requant is None else SIGNED if requant.negative_step is not None else PLAIN


def operands_of(case: Case) -> tuple[Operand, ...]:
    return MODULE.operands(case.layer, form(case))


def planned(case: Case, schedule: Schedule, number: int = 0) -> LayerPlan:
    return scheduled(case, schedule, symbol=f"layer_{number}", module=MODULE, requantizer=form(case))


def mapped(
    case: Case,
    loops: Sequence[Loop],
    outer: Mapping[str, tuple[int, int]],
    inner: Mapping[str, tuple[int, int]],
    memory: Memory = L2,
) -> Schedule:
    """A schedule; `outer` and `inner` have depth and buffers of the operands that are not placed outermost in one."""
    operands, first = operands_of(case), sum(loop.level == 0 for loop in loops)
    placements = [Placement(o.name, memory.name, *outer.get(o.name, (0, 1))) for o in operands if memory.has(o.name)]
    placements += [Placement(o.name, SCRATCHPAD.name, *inner.get(o.name, (first, 1))) for o in operands]
    return Schedule(case.layer, operands, (memory, SCRATCHPAD), tuple(loops), tuple(placements))


def check(plans: Sequence[LayerPlan], cases: Sequence[Case], change: Callable[[str], str] = str) -> None:
    """The layers compute what is defined, and do what is simulated, in that order; their C is changed before."""
    for item, case, output, trace in zip(plans, cases, *traced_run(plans, cases, change=change), strict=True):
        told = f"{item.layer} {item.schedule.memories} {item.schedule.loops} {item.schedule.placements}"
        assert np.array_equal(output, case.expected()), told
        assert trace == LayerTrace(item.symbol, simulate(item.schedule, SteppedCost()).actions), told


def random_plan(rng: random.Random, number: int) -> tuple[LayerPlan, Case]:
    """A random layer with any schedule onto two memories."""
    while True:
        case = random_case(rng, rng.choice(OPS), rng.randrange(1 << 16))
        if case.layer.op in (Op.CONV2D, Op.DEPTHWISE_CONV2D) and rng.random() < 0.5:
            case = odd_windows(rng)
        operands = operands_of(case)
        memories = (random_outer_memory(rng, [operand.name for operand in operands]), SCRATCHPAD)
        loops, placements = random_mapping(rng, case.layer, operands, memories, {})
        try:
            return planned(case, Schedule(case.layer, operands, memories, loops, placements), number), case
        except ScheduleError:  # the mapping contradicts itself
            continue


def odd_windows(rng: random.Random) -> Case:
    """A convolution whose windows are apart, reach far, see only padding, or leave rows and columns unread."""
    window, dilation = (rng.randint(1, 4), rng.randint(1, 4)), (rng.randint(1, 3), rng.randint(1, 2))
    reach = [(f - 1) * d + 1 for f, d in zip(window, dilation, strict=True)]
    pads = Padding(*(rng.randint(0, reach[n % 2] + 1) for n in range(4)))
    return make(
        rng.choice([Op.CONV2D, Op.DEPTHWISE_CONV2D]),
        rng.randint(1, 12),
        rng.randint(1, 12),
        rng.randint(max(1, reach[0] - pads.top - pads.bottom), 13),
        rng.randint(max(1, reach[1] - pads.left - pads.right), 13),
        window=window,
        stride=(rng.randint(1, 4), rng.randint(1, 4)),
        dilation=dilation,
        padding=pads,
        seed=rng.randrange(1 << 16),
    )


def small_case(rng: random.Random) -> Case:
    """A layer that is searched quickly."""
    op = rng.choice([Op.CONV2D, Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.DENSE, Op.ADD, Op.AVG_POOL2D, Op.MAX_POOL2D])
    window, pads, height = (1, 1), Padding(), rng.randint(4, 7)
    if op in (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.MAX_POOL2D):
        window, pads = (3, 3), rng.choice([Padding(), Padding(1, 1, 1, 1)])
    elif op is not Op.AVG_POOL2D:
        height = 1 if op is Op.DENSE else height
    stride = (2, 2) if op is Op.AVG_POOL2D else (1, 1)
    c, k, width = rng.randint(3, 12), rng.randint(4, 20), rng.randint(3, 7)
    return make(op, c, k, height, width, window=window, stride=stride, padding=pads, seed=rng.randrange(1 << 16))


def chosen_plan(rng: random.Random, number: int) -> tuple[LayerPlan, Case]:
    """A random layer with what the exact engine chooses for small memories."""
    while True:
        case, model = small_case(rng), random_cost(rng, overlap=True)
        operands = operands_of(case)
        memories = (random_outer_memory(rng, [operand.name for operand in operands]), SCRATCHPAD)
        whole = mapped(case, (), {}, {}, memories[0])
        memories = tuple(replace(m, size=int(whole.used_bytes(m) * rng.uniform(0.4, 0.9))) for m in memories)
        try:
            schedule = searched("exact", case.layer, operands, memories, model, "latency", {Dim.K: 2, Dim.C: 3})
        except (ScheduleError, NoMappingError):  # the memories are too small
            continue
        if schedule.first_loop(1):
            return planned(case, schedule, number), case


@pytest.mark.parametrize(
    ("choose", "seed", "count"),
    [
        (random_plan, 1, 24),
        (chosen_plan, 1, 6),
        *(pytest.param(random_plan, seed, 60, marks=pytest.mark.sweep) for seed in range(2, 12)),
        *(pytest.param(chosen_plan, seed, 30, marks=pytest.mark.sweep) for seed in range(2, 6)),
    ],
)
def test_random_layers(choose: Callable[[random.Random, int], tuple[LayerPlan, Case]], seed: int, count: int) -> None:
    rng = random.Random(seed)
    plans, cases = zip(*(choose(rng, number) for number in range(count)), strict=True)
    assert any({0, 1} <= {loop.level for loop in plan.schedule.loops} for plan in plans)
    check(plans, cases)


def streamed() -> tuple[LayerPlan, Case]:
    """Two buffers everywhere; rows and channels cut in both memories, nothing divides what it cuts."""
    case = make(Op.CONV2D, 5, 20, 13, 9, window=(3, 3), padding=Padding(1, 1, 1, 1), name="streamed")
    loops = [
        Loop(Dim.K, 9, 20),
        Loop(Dim.OY, 5, 13),
        Loop(Dim.OX, 5, 9, 1),
        Loop(Dim.OY, 2, 5, 1),
        Loop(Dim.K, 4, 9, 1),
    ]
    outer = {"input": (2, 2), "weights": (1, 2), "output": (2, 2)}
    inner = {"input": (4, 2), "weights": (5, 2), "output": (5, 2)}
    return planned(case, mapped(case, loops, outer, inner)), case


def replaced(old: str, new: str) -> Callable[[str], str]:
    def change(text: str) -> str:
        assert text.count(old) == 1, f"{old} is {text.count(old)} times in the C"
        return text.replace(old, new)

    return change


FAULTS = {
    "nothing": str,
    "rows of the tensor": replaced("rows.first - part->input_rows.first", "rows.first"),
    "channels of the tensor": replaced(
        ".external_row_stride = (uint32_t)part->output_channels.count", ".external_row_stride = 1"
    ),
    "weights of another part": replaced("(next_k1.k1 - part->k) / K1_TILE", "next_k1.k1 / K1_TILE"),
    "all parts equally long": replaced("weights_before(k_end) - index", "3"),
    "the same rows again": replaced("at->oy1 = part->oy;\n    at->ox += OX_TILE;", "at->ox += OX_TILE;"),
    "parts stored before they are complete": replaced(
        "return match_on_unit_settle(l1, BLOCKS, MATCH_OK);", "return MATCH_OK;"
    ),
    "an output that is not waited for": replaced("MATCH_TRY(match_external_wait(&l2[L2_OUTPUT + output_turn]));\n", ""),
}


@pytest.mark.parametrize("change", FAULTS.values(), ids=FAULTS)
def test_faults_show(change: Callable[[str], str]) -> None:
    item, case = streamed()
    if change is str:
        check([item], [case])
        return
    assert change(generate(item)) != generate(item)
    with pytest.raises(AssertionError):
        check([item], [case], change)


def test_operands_that_do_not_pass_main_memory() -> None:
    """Blocks of constants pass it, in parts of different length; inputs and outputs are fetched from their tensors."""
    case = make(Op.CONV2D, 7, 17, 6, 5, window=(3, 3), stride=(2, 1), padding=Padding(1, 0, 2, 1))
    memory = replace(L2, holds=frozenset({"weights"}))
    loops = [Loop(Dim.K, 7, 17), Loop(Dim.C, 3, 7, 1), Loop(Dim.OX, 2, 4, 1), Loop(Dim.K, 3, 7, 1)]
    schedules = [
        mapped(case, loops, {"weights": (1, buffers)}, {"weights": (4, 2), "input": (3, buffers)}, memory)
        for buffers in (1, 2)
    ]
    plans = [planned(case, schedule, number) for number, schedule in enumerate(schedules)]
    check(plans, [case] * 2)


def test_constants_in_the_code_do_not_pass_main_memory() -> None:
    case = make(Op.CONV2D, 7, 17, 6, 5, window=(3, 3))
    loops = [Loop(Dim.K, 7, 17), Loop(Dim.OY, 2, 4), Loop(Dim.K, 3, 7), Loop(Dim.K, 2, 3, 1), Loop(Dim.OX, 2, 3, 1)]
    outer, memory = {"input": (2, 2), "output": (3, 1)}, replace(L2, holds=frozenset({"input", "output"}))
    schedule = mapped(case, loops, outer, {"weights": (4, 2), "output": (5, 2), "input": (5, 1)}, memory)
    check([replace(planned(case, schedule), constants_at="code")], [case])


def test_scratch_and_an_output_that_stays() -> None:
    case = make(Op.DEPTHWISE_CONV2D, 9, 9, 7, 7, window=(3, 3), dilation=(2, 2), padding=Padding(2, 2, 2, 2))
    loops = [Loop(Dim.K, 4, 9), Loop(Dim.OY, 3, 7, 1)]
    schedule = mapped(case, loops, {"input": (1, 2), "weights": (1, 1)}, {"input": (2, 2), "output": (2, 2)})
    check([planned(case, replace(schedule, scratch=24))], [case])


def test_parts_that_see_padding_alone() -> None:
    """Their inputs are empty blocks, at the end of the tensor or of the block outside."""
    case = make(Op.CONV2D, 2, 3, 4, 5, window=(2, 2), padding=Padding(0, 3, 4, 0))
    loops = [Loop(Dim.OY, 2, 7), Loop(Dim.OY, 1, 2, 1), Loop(Dim.OX, 1, 7, 1)]
    outer, inner = {"input": (1, 2), "output": (1, 1)}, {"input": (3, 2), "output": (2, 1)}
    check([planned(case, mapped(case, loops, outer, inner))], [case])


def test_a_layer_that_sees_padding_alone() -> None:
    """Steps are so long that no window reaches the input's only row, and some no column."""
    case = make(Op.CONV2D, 2, 3, 1, 5, window=(2, 2), stride=(3, 1), padding=Padding(3, 0, 0, 3))
    loops = [Loop(Dim.OX, 4, 7), Loop(Dim.OX, 1, 4, 1)]
    whole = mapped(case, (), {}, {})
    cut = mapped(case, loops, {"input": (1, 2), "output": (1, 1)}, {"input": (2, 2), "output": (2, 1)})
    check([planned(case, whole), planned(case, cut, 1)], [case] * 2)


def refusal(case: Case, memories: tuple[Memory, ...], **changes: object) -> str:
    operands = operands_of(case)
    placements = tuple(Placement(o.name, m.name, 0) for m in memories for o in operands if m.has(o.name))
    item = planned(case, Schedule(case.layer, operands, memories, (), placements))
    with pytest.raises(ScheduleError) as error:
        generate(replace(item, **changes))  # pyright: ignore[reportArgumentType]
    return str(error.value)


def test_what_is_refused() -> None:
    case = make(Op.ADD, 4, 4, 4, 4)
    assert "has 3 levels of scratchpad" in refusal(case, (replace(L2, name="L3"), L2, SCRATCHPAD))
    assert "no functions that move them there" in refusal(case, (L2, SCRATCHPAD), external=None)
    assert "let the network place them" in refusal(case, (L2, SCRATCHPAD), constants_at="code")
    assert "holds none of its operands" in refusal(case, (replace(L2, holds=frozenset()), SCRATCHPAD))


@pytest.mark.parametrize("order", [(Dim.K, Dim.C), (Dim.C, Dim.K)], ids=str)
def test_blocks_of_constants_lie_together(order: tuple[Dim, Dim]) -> None:
    """Those of a part of the output channels one after the other, and in them those of L1 in the order of fetch."""
    case = make(Op.CONV2D, 5, 11, 4, 4)
    weights = data_of(case.constants, Filters).values.reshape(11, 5)
    inner = {Dim.K: Loop(Dim.K, 3, 8, 1), Dim.C: Loop(Dim.C, 2, 5, 1)}
    loops = [Loop(Dim.OY, 1, 4), Loop(Dim.K, 8, 11), Loop(Dim.OX, 2, 4, 1), *(inner[dim] for dim in order)]
    item = planned(case, mapped(case, loops, {"weights": (2, 1)}, {"weights": (5, 1)}))
    block = 8 + 3 * PLAIN.parameter_bytes
    assert len(item.constants) == (3 + 1) * 3 * block
    wanted: list[bytes] = []
    for parts in ([(0, 3), (3, 6), (6, 8)], [(8, 11)]):
        channels = [(k, c) for k in parts for c in ((0, 2), (2, 4), (4, 5))]
        for k, c in channels if order[0] is Dim.K else sorted(channels, key=lambda pair: pair[1]):
            wanted.append(weights[slice(*k), slice(*c)].tobytes())
    found = [item.constants[n * block :][: len(content)] for n, content in enumerate(wanted)]
    assert found == wanted
