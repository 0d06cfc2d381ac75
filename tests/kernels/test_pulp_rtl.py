"""The cluster's kernels as assembly, on the core's RTL: random layers on every number of cores, against NumPy."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Generator
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.rtl import shapes
from benchmarks.rtl.case import Case
from benchmarks.rtl.fit import predicted
from benchmarks.rtl.measure import called
from benchmarks.rtl.shapes import dense, plain, pointwise, transposition
from benchmarks.rtl.simulator import Simulator
from benchmarks.rtl.toolchain import firmware
from match.cost_models.pulp_cycles import STRIP_OUTPUT, Form, KernelCycles, Sharing
from match.cost_models.pulp_loops import as_column, is_small_map, widened
from match.ir.attributes import BroadcastKind, Transposition
from match.ir.layer import Layer, Op, Padding
from match.run.rtl.simulator import default_folder, simulator
from match.targets.pulp.cluster import COST
from tests.seeds import seeded

pytestmark = pytest.mark.cc

CALLS = 20
"""Calls of one operator for each seed."""

FORMS: tuple[Form, ...] = ("int32", "split", "split", "split_signed", "int64")
CORES = (1, 1, 2, 3, 5, 8)
INT16 = Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.DENSE, Op.MAX_POOL2D
MOST_SUMS = 1 << 18
"""Products of a layer: the simulator does some 700,000 cycles a second."""


def windows(rng: random.Random, op: Op, k: int, c: int, filters: tuple[int, int], stride: int) -> Layer | None:
    """A layer whose padding leaves outputs, mostly half a window of it or none."""
    (fy, fx), (iy, ix) = filters, (rng.randint(1, 22), rng.randint(1, 26))
    padding = Padding(
        *(rng.choice((0, size // 2, size // 2, rng.randrange(min(4, size)))) for size in (fy, fx, fy, fx))
    )
    oy = (iy + padding.top + padding.bottom - fy) // stride + 1
    ox = (ix + padding.left + padding.right - fx) // stride + 1
    if min(oy, ox) < 1 or oy * ox * k * c * fy * fx > MOST_SUMS:
        return None
    pad_value = rng.randint(0, 255)
    return Layer(str(op), op, k, c, oy, ox, iy, ix, fy, fx, (stride, stride), padding=padding, pad_value=pad_value)


def convolution(rng: random.Random) -> Layer | None:
    filters = rng.randint(1, 10), rng.randint(1, 8)
    return windows(rng, Op.CONV2D, rng.randint(1, 12), rng.choice([1, 1, 1, 2, 3, 4, 7, 8]), filters, rng.randint(1, 3))


def depthwise(rng: random.Random) -> Layer | None:
    size = rng.choice([3, 3, 3, 5])
    return windows(rng, Op.DEPTHWISE_CONV2D, rng.randint(1, 9), 1, (size, size), rng.randint(1, 2))


def depthwise_strips(k: int, size: int, output: tuple[int, int], stride: int) -> Layer:
    """A layer with half a window of padding on each side."""
    (oy, ox), half = output, size // 2
    iy, ix = ((n - 1) * stride + size - 2 * half for n in output)
    padding = Padding(half, half, half, half)
    strides = stride, stride
    return Layer("d", Op.DEPTHWISE_CONV2D, k, 1, oy, ox, iy, ix, size, size, strides, padding=padding, pad_value=7)


def wide(rng: random.Random) -> Layer | None:
    """Filters that zeros are laid out around, those with holes, and maps with few columns."""
    filters, stride = (rng.randint(1, 5), rng.randint(1, 5)), rng.randint(1, 2)
    dilation = (rng.randint(1, 3), rng.randint(1, 3)) if stride == 1 else (1, 1)
    layer = windows(rng, Op.DEPTHWISE_CONV2D, rng.randint(1, 9), 1, filters, stride)
    if layer is None:
        return None
    reach = [(size - 1) * (holes - 1) for size, holes in zip(filters, dilation, strict=True)]
    layer = replace(layer, dilation=dilation, iy=layer.iy + reach[0], ix=layer.ix + reach[1])
    return layer if widened(layer) else None


def small_map(rng: random.Random) -> Layer | None:
    """Filters of 5x5 on maps of at most nine columns, with any padding."""
    stride, size = rng.randint(1, 2), (rng.randint(1, 9), rng.randint(1, 9))
    padding = Padding(*(rng.randint(0, 4) for _ in range(4)))
    oy = (size[0] + padding.top + padding.bottom - 5) // stride + 1
    ox = (size[1] + padding.left + padding.right - 5) // stride + 1
    if min(oy, ox) < 1:
        return None
    layer = Layer("small map", Op.DEPTHWISE_CONV2D, rng.randint(1, 20), 1, oy, ox, *size, 5, 5, (stride, stride))
    return replace(layer, padding=padding, pad_value=rng.randint(0, 255))


def sequence(rng: random.Random) -> Layer | None:
    """Maps of one row, or of one column, mostly with filters of one; all padding in front or behind in some."""
    rows, size, stride = rng.choice((1, 1, 1, 3)), rng.randint(1, 5), rng.randint(1, 2)
    holes = rng.randint(1, 4) if stride == 1 else 1
    reach, ix, above = (size - 1) * holes + 1, rng.randint(1, rng.choice((12, 60))), rng.randrange(rows)
    left, right = rng.choice(((0, 0), (reach // 2, reach // 2), (reach - 1, 0), (0, reach - 1)))
    ox = (ix + left + right - reach) // stride + 1
    if ox < 1:
        return None
    padding, pad_value = Padding(above, left, rows - 1 - above, right), rng.randint(0, 255)
    layer = Layer("sequence", Op.DEPTHWISE_CONV2D, rng.randint(1, 9), 1, 1, ox, 1, ix, rows, size, (1, stride))
    layer = replace(layer, dilation=(1, holes), padding=padding, pad_value=pad_value)
    layer = layer if rng.random() < 0.7 else as_column(layer)
    return layer if widened(layer) else None


def average(rng: random.Random) -> Layer:
    fy, fx = rng.choice([(2, 2), (3, 3), (1, 5), (8, 8), (7, 3), (6, 6), (3, 40), (17, 17), (1, 33)])
    stride, oy, ox = rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 4)
    sides = (oy - 1) * stride + fy, (ox - 1) * stride + fx
    strides = stride, stride
    return Layer("average", Op.AVG_POOL2D, rng.randint(1, 21), 1, oy, ox, *sides, fy, fx, strides, weight_dtype="")


def maximum(rng: random.Random) -> Layer | None:
    size = rng.choice([2, 2, 3, 4])
    layer = windows(rng, Op.MAX_POOL2D, rng.randint(1, 21), 1, (size, size), rng.randint(1, 3))
    return None if layer is None or max(layer.padding) >= size else replace(layer, weight_dtype="")


def product(rng: random.Random) -> Layer:
    if rng.random() < 0.5:
        return dense(rng.randint(1, 40), rng.randint(1, 80))
    return pointwise(rng.randint(1, 21), rng.randint(1, 40), (rng.randint(1, 5), rng.randint(1, 5)))


def concatenated(rng: random.Random) -> Layer:
    """Few channels and many, of more pixels than cores share out as a whole, and of fewer."""
    first, second = (rng.choice((1, 2, 3, 4, rng.randint(1, 40))) for _ in range(2))
    unchanged = rng.choice(((), (True, False), (False, True), (True, True)))
    return shapes.concatenation(first, second, (rng.randint(1, 7), rng.randint(1, 9)), unchanged)


def transposed(rng: random.Random) -> Layer:
    """Bytes, in rows of some pixels or many, and larger elements."""
    k, size = rng.choice((2, 3, rng.randint(1, 40))), (rng.choice((1, rng.randint(1, 9))), rng.randint(1, 40))
    return replace(transposition(k, size), attributes=Transposition(rng.choice((1, 1, 1, 2, 7))))


@pytest.fixture(scope="module")
def core(rtl: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Simulator]:
    program = firmware(tmp_path_factory.mktemp("kernels"), "corev")
    with Simulator(simulator(default_folder()), program) as simulated:
        yield simulated


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("rows", [16, 17, 18, 19, 20, 33])
def test_windows_below_the_input(core: Simulator, rows: int, stride: int) -> None:
    """Sums of a few rows at a time: some that see only padding in their last rows are not left for themselves."""
    for below in (0, 1, 2, 3, 4):
        iy, ix, padding = (rows - 1) * stride + 3 - below, 2 * stride + 5, Padding(2, 0, below, 0)
        strides = stride, stride
        layer = Layer("d", Op.DEPTHWISE_CONV2D, 3, 1, rows, 3, iy, ix, 5, 5, strides, padding=padding, pad_value=7)
        for form in FORMS[1:]:
            case = Case(layer, form)
            assert np.array_equal(called(core, case, 0, 1)[1], case.tensors.expected), (form, below)


@pytest.mark.parametrize(
    ("filters", "holes", "ix", "padding"),
    [
        ((1, 3), 4, 20, (0, 6, 0, 6)),  # of the outputs at equal distances half see too much padding for strips
        ((1, 3), 3, 12, (0, 4, 0, 4)),
        ((2, 3), 1, 20, (0, 1, 1, 1)),  # filters of more rows than the map has
        ((2, 4), 1, 20, (0, 2, 1, 1)),
        ((1, 5), 1, 20, (1, 2, 0, 2)),  # a row of outputs in the padding
    ],
)
def test_maps_of_one_row(
    core: Simulator, filters: tuple[int, int], holes: int, ix: int, padding: tuple[int, int, int, int]
) -> None:
    """A row of outputs, of what cannot be taken as one column, or in parts only."""
    fy, fx = filters
    ox = ix + padding[1] + padding[3] - (fx - 1) * holes
    layer = Layer("d", Op.DEPTHWISE_CONV2D, 3, 1, 1, ox, 1, ix, fy, fx, dilation=(1, holes), pad_value=7)
    case = Case(replace(layer, padding=Padding(*padding)), "split")
    assert widened(case.layer)
    assert np.array_equal(called(core, case, 0, 1)[1], case.tensors.expected)


def excepted(rng: random.Random, layer: Layer, form: Form) -> int:
    """How many channels have exceptions."""
    return rng.choice((0, 0, 1, layer.k)) if form == "split" and layer.op is not Op.AVG_POOL2D else 0


def meets(case: Case) -> bool:
    """Whether the cores of a team wait for each other, which are simulated one by one."""
    small = is_small_map(case.layer, case.tile) and case.form in STRIP_OUTPUT
    laid_out = widened(case.layer) is not None and not small
    return case.layer.op is Op.DEPTHWISE_CONV2D and (case.excepted > 0 or laid_out)


def test_exceptions_of_all_channels(core: Simulator) -> None:
    """Vectors of whole words, of other bytes and of fewer; a single row of a dense layer has loops of its own."""
    layers = [dense(12, 64), dense(7, 20), dense(5, 3), pointwise(9, 24, (3, 3)), pointwise(6, 2, (2, 3))]
    for layer in layers:
        case = Case(layer, "split", excepted=layer.k)
        for cores in (1, 3):
            outputs = [called(core, case, number, cores)[1] for number in range(cores)]
            assert np.array_equal(np.bitwise_or.reduce(outputs), case.tensors.expected), (layer.name, cores)


@pytest.mark.parametrize(
    ("k", "size", "stride", "channels"),
    [(16, (8, 8), 1, 4), (72, (4, 4), 1, 36), (48, (4, 4), 2, 48), (36, (2, 2), 1, 18), (24, (3, 3), 1, 24)],
)
def test_exceptions_of_depthwise_layers_take_what_is_predicted(
    core: Simulator, k: int, size: tuple[int, int], stride: int, channels: int
) -> None:
    """With the share of outputs that have an exception's value, which the cost model estimates."""
    case = Case(shapes.depthwise(k, size, 5, stride), "split", excepted=channels)
    plain_outputs = replace(case, excepted=0).tensors.expected.reshape(-1, k).T
    met = plain_outputs != case.tensors.expected.reshape(-1, k).T
    channels_with = zip(plain_outputs, met, strict=True)
    alike = [np.mean(row == value) for row, one in channels_with for value in np.unique(row[one])]
    cycles = replace(KernelCycles.measured(), alike=float(np.mean(alike)))
    assert called(core, case, 0, 1)[0] == pytest.approx(predicted(case, cycles), rel=0.04)


def test_halves_go_to_even_outputs(core: Simulator) -> None:
    """Every kind of kernel rounds so, and additions with an odd number of elements for each core and with a few."""
    additions = [Case(plain(Op.ADD, k, size), "split") for k, size in ((5, (6, 7)), (32, (3, 3)), (1, (1, 3)))]
    for case in [*(case for case in shapes.tested() if case.ties), *additions]:
        for cores in (1, 3) if not meets(case) else (1,):
            outputs = [called(core, case, number, cores)[1] for number in range(cores)]
            assert np.array_equal(np.bitwise_or.reduce(outputs), case.tensors.expected), (case.name, cores)


@pytest.mark.parametrize(
    ("k", "size"),
    [
        (3, (1, 1024)),  # fours of three channels
        (2, (16, 58)),  # of two
        (16, (1, 132)),  # one four more than cores have in the mean
        (3, (4, 19)),  # fours of two rows
        (100, (2, 2)),  # channels are shared out
        (23, (1, 7)),  # three of them left for the last core
        (35, (1, 37)),
    ],
)
def test_transpositions_are_shared_out(core: Simulator, k: int, size: tuple[int, int]) -> None:
    """No core of eight takes longer than the cost model says of the one with most to do."""
    case = Case(transposition(k, size))
    calls = [called(core, case, number, 8) for number in range(8)]
    assert np.array_equal(np.bitwise_or.reduce([output for _, output in calls]), case.tensors.expected)
    waits = Sharing.measured().factor(8)
    assert max(cycles for cycles, _ in calls) == pytest.approx(predicted(case, cores=8) / waits, rel=0.1)


@pytest.mark.parametrize(
    ("k", "size", "columns", "stride", "cores"),
    [
        (128, 3, 8, 1, 8),
        (128, 3, 8, 2, 8),
        (64, 5, 8, 1, 8),
        (64, 5, 8, 2, 8),
        (64, 5, 16, 1, 16),  # two cores with each channel
        (64, 5, 15, 1, 8),  # shares that are no multiple of all banks, and one that is less
    ],
)
def test_strips_whose_channels_share_banks(
    core: Simulator, k: int, size: int, columns: int, stride: int, cores: int
) -> None:
    """Cores whose strips begin with channels in the same bank of L1 begin apart; each strip is computed by one."""
    layer = depthwise_strips(k, size, (3, columns), stride)
    case = Case(layer, "split")
    outputs = [called(core, case, number, cores)[1].astype(np.int32) for number in range(cores)]
    assert np.array_equal(sum(outputs), case.tensors.expected)


@pytest.mark.parametrize(
    "draw",
    [convolution, depthwise, wide, small_map, sequence, average, maximum, product, concatenated, transposed],
)
@seeded(2, 40)
def test_random_layers(core: Simulator, draw: Callable[[random.Random], Layer | None], seed: int) -> None:
    """Each core's outputs are 0 where another core's are."""
    rng = random.Random(seed)
    calls = 0
    while calls < CALLS:
        layer = draw(rng)
        if layer is None:
            continue
        form = rng.choice(FORMS)
        case = Case(layer, form, excepted=excepted(rng, layer, form))
        try:
            expected = case.tensors.expected
        except ValueError:  # the form has no line for sums of so many bits
            continue
        calls += 1
        cores = 1 if meets(case) else rng.choice(CORES)
        outputs = [called(core, case, number, cores)[1] for number in range(cores)]
        told = f"{case.layer}, {case.form}, {cores} cores"
        assert np.array_equal(np.bitwise_or.reduce(outputs), expected), told
        assert all(np.all((output == 0) | (output == expected)) for output in outputs), told


@pytest.mark.parametrize("op", [Op.ADD, Op.MULTIPLY, Op.MAXIMUM, Op.MINIMUM])
@seeded(2, 20)
def test_two_inputs(core: Simulator, op: Op, seed: int) -> None:
    """Inputs of one shape, or one of a pixel or channel: fours and fewer, in each form; shares begin anywhere."""
    rng = random.Random(seed)
    by_op: dict[Op, tuple[Form, ...]] = {
        Op.ADD: ("int32", "split"),
        Op.MULTIPLY: ("int32", "rows", "split", "split_signed"),
    }
    broadcasts: tuple[BroadcastKind, ...] = ("", "pixel", "channel", "outer")
    for form, broadcast, k in itertools.product(
        by_op.get(op, ("int32",)), broadcasts, (rng.randint(2, 3), rng.randint(4, 40))
    ):
        if form == "rows" and not broadcast:
            continue
        size, cores = (rng.randint(1, 6), rng.randint(2, 9)), rng.choice(CORES)
        case = Case(shapes.shared(op, k, size, broadcast) if broadcast else plain(op, k, size), form)
        outputs = [called(core, case, number, cores)[1] for number in range(cores)]
        told = f"{case.layer.name}, {case.form}, {cores} cores"
        assert np.array_equal(np.bitwise_or.reduce(outputs), case.tensors.expected), told


@pytest.mark.parametrize(
    ("op", "k", "size", "broadcast", "form"),
    [
        *(
            (*case, form)
            for case in [
                (Op.MULTIPLY, 16, (8, 8), "pixel"),  # half a four of channels for each core
                (Op.MULTIPLY, 288, (2, 2), "pixel"),
                (Op.MULTIPLY, 24, (5, 5), "channel"),  # shares that begin inside a pixel
                (Op.ADD, 64, (4, 4), "pixel"),
                (Op.ADD, 96, (7, 7), "pixel"),
            ]
            for form in ("int32", "split")
        ),
        (Op.MULTIPLY, 16, (8, 8), "pixel", "rows"),
        (Op.MULTIPLY, 288, (2, 2), "pixel", "rows"),
        (Op.MULTIPLY, 24, (5, 5), "channel", "rows"),
    ],
)
def test_lines_are_shared_out(
    core: Simulator, op: Op, k: int, size: tuple[int, int], broadcast: BroadcastKind, form: Form
) -> None:
    """The core of eight with most to do takes what the cost model says."""
    case = Case(shapes.shared(op, k, size, broadcast), form)
    longest = max(called(core, case, number, 8)[0] for number in range(8))
    assert longest == pytest.approx(predicted(case, cores=8) / Sharing.measured().factor(8), rel=0.03)


@pytest.mark.parametrize(
    ("first", "second", "size"),
    [(8, 8, (16, 16)), (3, 3, (16, 16)), (6, 18, (8, 8)), (128, 128, (4, 4)), (96, 12, (4, 4))],
)
@pytest.mark.parametrize("unchanged", [(), (True, True)])
def test_concatenations_are_shared_out(
    core: Simulator, first: int, second: int, size: tuple[int, int], unchanged: tuple[bool, ...]
) -> None:
    """The core of eight with most to do takes what the cost model says, banks aside."""
    layer = shapes.concatenation(first, second, size, unchanged)
    model = replace(COST, cores=8, sharing=replace(Sharing.measured(), tables=0))
    longest = max(called(core, Case(layer), number, 8)[0] for number in range(8))
    assert longest == pytest.approx(model.compute(layer, Case(layer).tile) / Sharing.measured().factor(8), rel=0.03)


@pytest.mark.parametrize(
    ("op", "k", "size", "f", "stride"),
    [
        (Op.MAX_POOL2D, 8, (16, 16), 3, 1),  # fewer fours of channels than cores
        (Op.MAX_POOL2D, 64, (7, 7), 2, 1),
        (Op.AVG_POOL2D, 288, (1, 1), 2, 1),  # a pixel, whose channels are shared out
        (Op.AVG_POOL2D, 64, (4, 4), 2, 2),
    ],
)
def test_pooling_is_shared_out(core: Simulator, op: Op, k: int, size: tuple[int, int], f: int, stride: int) -> None:
    """The core of eight with most to do takes what the cost model says, banks aside."""
    case = Case(shapes.pool(op, k, size, f, stride), "split" if op is Op.AVG_POOL2D else "int64")
    model = replace(COST, cores=8, form=case.form)
    longest = max(called(core, case, number, 8)[0] for number in range(8))
    assert longest == pytest.approx(model.compute(case.layer, case.tile) / Sharing.measured().factor(8), rel=0.04)


@pytest.mark.parametrize("draw", [convolution, depthwise, product, maximum])
@seeded(1, 8)
def test_random_layers_of_16_bits(core: Simulator, draw: Callable[[random.Random], Layer | None], seed: int) -> None:
    rng = random.Random(seed)
    drawn = (draw(rng) for _ in range(2 * CALLS))
    for layer in [layer for layer in drawn if layer is not None and layer.op in INT16][:CALLS]:
        case, cores = Case(shapes.in_int16(replace(layer, pad_value=0))), rng.choice(CORES)
        outputs = [called(core, case, number, cores)[1] for number in range(cores)]
        assert np.array_equal(np.bitwise_or.reduce(outputs), case.tensors.expected), f"{case.layer}, {cores} cores"


@pytest.mark.parametrize("cores", [1, 8])
@pytest.mark.parametrize(
    ("k", "size", "broadcast"),
    [
        *((16, (16, 16), broadcast) for broadcast in ("", "pixel", "channel", "outer")),
        (5, (19, 17), "pixel"),  # bytes behind the words of each run
        (3, (51, 13), ""),
    ],
)
def test_extrema_take_what_is_predicted(
    core: Simulator, k: int, size: tuple[int, int], broadcast: BroadcastKind, cores: int
) -> None:
    """The core with most to do."""
    case = Case(shapes.shared(Op.MAXIMUM, k, size, broadcast))
    longest = max(called(core, case, number, cores)[0] for number in range(cores))
    assert longest == pytest.approx(predicted(case, cores=cores) / Sharing.measured().factor(cores), rel=0.1)
