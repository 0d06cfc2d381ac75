"""Generated C of single layers on the mock target: what it computes, and in which order it calls the platform."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from match.codegen.layer import generate
from match.codegen.shared_text import plan_files
from match.dispatch.plan import LayerPlan
from match.errors import ScheduleError, TargetError
from match.ir.layer import Axis, Component, Dim, Op, Operand, Padding, Role
from match.mapping.schedule import Loop, Schedule
from tests.codegen.events import expected_events
from tests.codegen.harness import plan, run
from tests.codegen.layers import Case, make
from tests.codegen.mock_target import OPS, SCRATCHPAD
from tests.kernels.toolchain import PACKAGE

pytestmark = pytest.mark.cc

TILES = {Dim.K: 3, Dim.OY: 2, Dim.OX: 3}


def loops_of(case: Case, order: Sequence[tuple[Dim, int]]) -> list[Loop]:
    """Loops with the given tiles; a tile that would not cut anything is left out."""
    left = case.layer.extents
    loops: list[Loop] = []
    for dim, tile in order:
        if tile < left[dim]:
            loops.append(Loop(dim, tile, left[dim]))
            left[dim] = tile
    return loops


def depths_of(case: Case, operand: Operand, loops: Sequence[Loop]) -> list[int]:
    """Depths at which an operand may be placed: outputs outside loops over input channels, constants inside."""
    reductions = [d for d, loop in enumerate(loops) if loop.dim is Dim.C]
    first, last = min(reductions, default=len(loops)), max(reductions, default=-1)
    depths = [0, *(d for d in range(1, len(loops) + 1) if loops[d - 1].dim in operand.dims)]
    if operand.role is Role.OUTPUT:
        return [d for d in depths if d <= first]
    return [d for d in depths if d > last] if operand.role is Role.CONSTANT else depths


def check(plans: Sequence[LayerPlan], cases: Sequence[Case], tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    outputs = run(plans, cases, trace=trace)
    for item, case, output in zip(plans, cases, outputs, strict=True):
        assert np.array_equal(output, case.expected()), f"{item.layer} {item.schedule.loops} {item.schedule.placements}"
    expected = [event for item in plans for event in expected_events(item.schedule)]
    assert trace.read_text().splitlines() == expected


def cases_of_every_operator() -> list[Case]:
    return [
        make(Op.CONV2D, 3, 8, 9, 8, window=(3, 3), stride=(2, 1), padding=Padding(1, 0, 2, 1), negative_step=True),
        make(Op.CONV2D, 5, 7, 6, 7),
        make(Op.CONV2D, 2, 4, 11, 12, window=(3, 2), dilation=(2, 3), padding=Padding(2, 1, 0, 3)),
        make(Op.DEPTHWISE_CONV2D, 8, 8, 7, 9, window=(3, 5), stride=(1, 2), padding=Padding(0, 3, 2, 1)),
        make(Op.DENSE, 37, 10, 1, 1),
        make(Op.DENSE, 12, 5, 1, 7),
        make(Op.ADD, 7, 7, 5, 8),
        make(Op.LOOKUP, 7, 7, 5, 8),
        make(Op.AVG_POOL2D, 7, 7, 6, 8, window=(2, 3), stride=(2, 2)),
        make(Op.MAX_POOL2D, 7, 7, 7, 8, window=(3, 2), stride=(2, 3), padding=Padding(1, 1, 1, 0)),
    ]


def test_a_tile_with_nothing_in_it_is_told_field_by_field() -> None:
    """All of match_tile.h, so that no compiler clears the memory."""
    header = (PACKAGE / "kernels" / "include" / "match_tile.h").read_text()
    struct = re.sub(r"/\*.*?\*/", "", header[: header.index("} match_tile_t;")].rpartition("typedef struct {")[2])
    case = make(Op.CONV2D, 2, 3, 4, 4)
    (shared,) = (text for name, text in plan_files([plan(case)]).items() if name.endswith(".c"))
    assert re.findall(r"tile->(\w+) = (?:0|NULL);", shared) == re.findall(r"(\w+);", struct)


def test_more_blocks_than_layers_share_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """One block less than a cut convolution with scratch has."""
    case = make(Op.CONV2D, 2, 3, 4, 4)
    streamed = plan(case, loops_of(case, list(TILES.items())), scratch=100)
    (count,) = map(int, re.findall(r"^    BLOCKS = (\d+),", generate(streamed), re.MULTILINE))
    monkeypatch.setattr("match.codegen.layer.MOST_BLOCKS", count)
    generate(streamed)
    monkeypatch.setattr("match.codegen.layer.MOST_BLOCKS", count - 1)
    with pytest.raises(ScheduleError, match=f"it has {count} blocks in L1.* serves {count - 1}"):
        generate(streamed)


@pytest.mark.parametrize("case", cases_of_every_operator(), ids=lambda case: case.layer.op)
def test_kernels_are_told_each_field_once(case: Case) -> None:
    """A cut layer's fields are told before the loops or in them."""
    text = generate(plan(case, loops_of(case, list(TILES.items()))))
    fields = re.findall(r"^ *tile\.(\w+) = ", text, re.MULTILINE)
    assert {"input", "output", "output_height", "channels_out"} <= set(fields)
    assert len(fields) == len(set(fields))


@pytest.mark.parametrize("case", cases_of_every_operator(), ids=lambda case: case.layer.op)
def test_every_loop_order(case: Case, tmp_path: Path) -> None:
    """All orders of all subsets of loops, each operand at its innermost depth, doubly buffered in turns."""
    plans: list[LayerPlan] = []
    names = ("input", "addend", "weights", "output")
    for order in itertools.chain.from_iterable(itertools.permutations(TILES.items(), n) for n in range(4)):
        loops = loops_of(case, order)
        if len(loops) < len(order):
            continue
        depths = {o.name: depths_of(case, o, loops)[-1] for o in plan(case).schedule.operands}
        buffers = {name: 1 + (len(plans) >> i & 1) for i, name in enumerate(names)}
        plans.append(plan(case, loops, depths, buffers, symbol=f"layer_{len(plans)}"))
    check(plans, [case] * len(plans), tmp_path)


@pytest.mark.parametrize("width", [1, 9])
def test_every_loop_order_over_input_channels(width: int, tmp_path: Path) -> None:
    """The same with partial sums, over channels of which the last tile has fewer: of a convolution, of dense rows."""
    case = make(Op.DENSE, 11, 7, 1, 7)
    if width > 1:
        padding = Padding(1, 0, 2, 1)
        case = make(Op.CONV2D, 11, 7, 7, width, window=(3, 3), stride=(2, 1), padding=padding, negative_step=True)
    plans: list[LayerPlan] = []
    for others in itertools.chain.from_iterable(itertools.permutations(TILES.items(), n) for n in range(4)):
        if width == 1 and any(dim is Dim.OY for dim, _ in others):
            continue
        for place in range(len(others) + 1):
            loops = loops_of(case, [*others[:place], (Dim.C, 4), *others[place:]])
            operands = plan(case).schedule.operands
            depths = {
                o.name: depths_of(case, o, loops)[-1 - len(plans) % 3 % len(depths_of(case, o, loops))]
                for o in operands
            }
            buffers = {o.name: 1 + (len(plans) >> i & 1) for i, o in enumerate(operands)}
            plans.append(plan(case, loops, depths, buffers, symbol=f"layer_{len(plans)}"))
    check(plans, [case] * len(plans), tmp_path)


@pytest.mark.parametrize("order", [(Dim.K, Dim.OY), (Dim.OY, Dim.K), (Dim.OX, Dim.OY)], ids=str)
def test_every_placement(order: tuple[Dim, Dim], tmp_path: Path) -> None:
    case = make(Op.CONV2D, 2, 7, 6, 8, window=(3, 3), padding=Padding(1, 1, 1, 1))
    loops = loops_of(case, [(dim, TILES[dim]) for dim in order])
    operands = plan(case).schedule.operands
    choices = [[(d, b) for d in depths_of(case, o, loops) for b in ((1, 2) if d else (1,))] for o in operands]
    plans: list[LayerPlan] = []
    for chosen in itertools.product(*choices):
        placed = dict(zip((o.name for o in operands), chosen, strict=True))
        depths, buffers = ({name: value[i] for name, value in placed.items()} for i in range(2))
        plans.append(plan(case, loops, depths, buffers, symbol=f"layer_{len(plans)}"))
    check(plans, [case] * len(plans), tmp_path)


def test_nested_loops_over_input_channels(tmp_path: Path) -> None:
    """Input channels cut twice, output channels between and inside, none of the tiles dividing what they cut."""
    case = make(Op.CONV2D, 11, 11, 6, 5, window=(3, 3), padding=Padding(1, 1, 1, 1))
    orders = [
        [(Dim.C, 7), (Dim.K, 7), (Dim.C, 3), (Dim.K, 3)],
        [(Dim.K, 7), (Dim.C, 7), (Dim.K, 3), (Dim.C, 4)],
        [(Dim.OY, 4), (Dim.C, 5), (Dim.OY, 3), (Dim.C, 2), (Dim.K, 4)],
    ]
    plans: list[LayerPlan] = []
    for order in orders:
        loops = loops_of(case, order)
        assert len(loops) == len(order)
        for level in range(3):
            depths = {o.name: depths_of(case, o, loops)[-1 - level :][0] for o in plan(case).schedule.operands}
            buffers = {o.name: 1 + (i + level) % 2 for i, o in enumerate(plan(case).schedule.operands)}
            plans.append(plan(case, loops, depths, buffers, symbol=f"layer_{len(plans)}"))
    check(plans, [case] * len(plans), tmp_path)


@pytest.mark.parametrize("op", [Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.ADD])
def test_nested_loops_over_one_dimension(op: Op, tmp_path: Path) -> None:
    """Loops of one dimension inside each other, none of whose tiles divide what they cut."""
    window = (1, 1) if op is Op.ADD else (3, 3)
    case = make(op, 11, 11, 9, 10, window=window, padding=Padding() if op is Op.ADD else Padding(1, 1, 1, 1))
    order = [(Dim.K, 7), (Dim.OY, 5), (Dim.K, 4), (Dim.OX, 4), (Dim.OY, 3), (Dim.K, 3)]
    loops = loops_of(case, order)
    assert len(loops) == len(order)
    operands = plan(case).schedule.operands
    plans: list[LayerPlan] = []
    for level in range(4):
        depths = {
            o.name: depths_of(case, o, loops)[-1 - min(level, len(depths_of(case, o, loops)) - 1)] for o in operands
        }
        buffers = {o.name: 1 + (i + level) % 2 for i, o in enumerate(operands)}
        plans.append(plan(case, loops, depths, buffers, symbol=f"layer_{level}"))
    check(plans, [case] * len(plans), tmp_path)


@st.composite
def random_cases(draw: st.DrawFn) -> Case:
    op = draw(st.sampled_from(OPS))
    pixelwise = op in (Op.ADD, Op.LOOKUP, Op.DENSE, Op.MATRICES)
    window = (1, 1) if pixelwise else draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    convolution = op in (Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.GROUPED_CONV2D)
    dilation = draw(st.tuples(st.integers(1, 2), st.integers(1, 2))) if convolution else (1, 1)
    reach = [(f - 1) * d + 1 for f, d in zip(window, dilation, strict=True)]
    usual, wide = [f - 1 for f in window], [length + 2 for length in reach]  # wide: some windows see padding alone
    most = draw(st.sampled_from((usual, usual, wide)))
    pads = [0] * 4 if pixelwise else [draw(st.integers(0, most[i % 2])) for i in range(4)]
    height = 1 if op is Op.DENSE else draw(st.integers(max(1, reach[0] - pads[0] - pads[2]), 12))
    width = draw(st.integers(max(1, reach[1] - pads[1] - pads[3]), 12))
    return make(
        op,
        draw(st.integers(1, 9)),
        draw(st.integers(1, 14)),
        height,
        width,
        window=window,
        stride=(1, 1) if pixelwise else draw(st.tuples(st.integers(1, 3), st.integers(1, 3))),
        dilation=dilation,
        padding=Padding(*pads),
        negative_step=op not in (Op.ADD, Op.MAX_POOL2D, Op.LOOKUP) and draw(st.booleans()),
        broadcast=draw(st.sampled_from(["", "pixel", "channel", "outer"])) if op is Op.ADD else "",
        seed=draw(st.integers(0, 1 << 16)),
    )


@st.composite
def random_plans(draw: st.DrawFn) -> tuple[Case, list[Loop], dict[str, int], dict[str, int]]:
    case = draw(random_cases())
    inputs = [] if case.layer.op in (Op.GROUPED_CONV2D, Op.MATRICES) else [Dim.C]
    dims = draw(st.lists(st.sampled_from([*TILES, *inputs]), max_size=5))
    loops = loops_of(case, [(dim, draw(st.integers(1, max(1, case.layer.size(dim) - 1)))) for dim in dims])
    operands = plan(case).schedule.operands
    depths = {o.name: draw(st.sampled_from(depths_of(case, o, loops))) for o in operands}
    return case, loops, depths, {o.name: draw(st.integers(1, 2)) for o in operands}


@settings(
    max_examples=15,
    phases=(Phase.explicit, Phase.generate, Phase.shrink),
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
)
@given(st.lists(random_plans(), min_size=10, max_size=10))
def test_random_layers_and_schedules(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[Case, list[Loop], dict[str, int], dict[str, int]]]
) -> None:
    plans = [plan(*arguments, symbol=f"layer_{i}") for i, arguments in enumerate(drawn)]
    check(plans, [case for case, *_ in drawn], tmp_path_factory.mktemp("random"))


def test_tiles_that_see_padding_alone(tmp_path: Path) -> None:
    """Rows and columns of padding on all sides that no window reaches across; kernels check that pads add up."""
    case = make(Op.CONV2D, 2, 3, 4, 3, window=(2, 2), padding=Padding(3, 4, 4, 3))
    plans = [
        plan(case, loops_of(case, [(Dim.OY, tile), (Dim.OX, tile)]), {"input": 2, "output": 2}, symbol=f"layer_{tile}")
        for tile in (1, 2)
    ]
    check(plans, [case] * 2, tmp_path)


@pytest.mark.parametrize(
    ("height", "width", "stride", "padding"),
    [(1, 1, 3, Padding(3, 0, 0, 1)), (2, 5, 4, Padding(5, 0, 0, 0)), (5, 1, 4, Padding(0, 4, 0, 0))],
)
def test_layers_that_see_padding_alone(tmp_path: Path, height: int, width: int, stride: int, padding: Padding) -> None:
    """Steps are so long that no window reaches the input, or a column of windows does not."""
    case = make(Op.CONV2D, 2, 3, height, width, window=(2, 2), stride=(stride, stride), padding=padding)
    cut = loops_of(case, [(Dim.OY, 1), (Dim.OX, 1)])
    plans = [plan(case), plan(case, cut, {"input": len(cut), "output": len(cut)}, symbol="layer_1")]
    check(plans, [case] * 2, tmp_path)


def test_scratch_is_reserved_and_passed() -> None:
    case = make(Op.CONV2D, 2, 3, 4, 4)
    text = generate(plan(case, scratch=100))
    assert "SCRATCH_BYTES = 100" in text
    assert "tile.scratch = l1[SCRATCH].data;" in text


@pytest.mark.parametrize("blocks", range(6))
def test_exhausted_scratchpad_is_an_error_code(blocks: int) -> None:
    """Whichever reservation fails, the layer gives back the others and returns MATCH_ERROR_MEMORY."""
    case = make(Op.CONV2D, 2, 4, 4, 4)
    item = plan(case, [Loop(Dim.OY, 2, 4)], {"input": 1, "output": 1}, {"input": 2, "output": 2}, scratch=8)
    with pytest.raises(AssertionError, match="layer 0: status -2"):
        run([item], [case], environment={"MOCK_BLOCKS": str(blocks)})


def test_generated_text_is_the_same_every_time() -> None:
    case = make(Op.CONV2D, 2, 4, 4, 4)
    assert generate(plan(case)) == generate(plan(case))


@pytest.mark.parametrize("op", [Op.CONV2D, Op.LOOKUP])
def test_constants_that_the_network_places(op: Op, tmp_path: Path) -> None:
    """The file has no array; the layer asks the network for the address."""
    case = make(op, 6, 6, 5, 4)
    tiled = plan(case, [Loop(Dim.OY, 2, 5), Loop(Dim.K, 4, 6)], {} if op is Op.LOOKUP else {"weights": 2})
    item = replace(tiled, constants_at="network")
    text = generate(item)
    assert "static const uint8_t constants" not in text
    assert "MATCH_TRY(layer_0_constants(&arguments.constants));" in text
    check([item], [case], tmp_path)


def test_activation_without_columns_is_refused() -> None:
    case = make(Op.ADD, 4, 4, 4, 4)
    item = plan(case)
    flat = Operand("output", Role.OUTPUT, (Component("output", (Axis(Dim.K, 4), Axis(Dim.OY, 4))),))
    operands = (*item.schedule.operands[:-1], flat)
    schedule = Schedule(case.layer, operands, (SCRATCHPAD,), (), item.schedule.placements)
    with pytest.raises(TargetError, match="not an activation of rows, columns and channels"):
        generate(replace(item, schedule=schedule))
