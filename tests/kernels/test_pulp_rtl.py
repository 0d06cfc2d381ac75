"""The cluster's kernels as assembly, on the core's RTL: random layers on every number of cores, against NumPy."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator

import numpy as np
import pytest

from benchmarks.rtl.case import Case
from benchmarks.rtl.measure import called
from benchmarks.rtl.shapes import dense, pointwise
from benchmarks.rtl.simulator import Simulator
from benchmarks.rtl.toolchain import firmware
from match.cost_models.pulp_cycles import Form
from match.ir.layer import Layer, Op, Padding
from match.run.rtl.simulator import default_folder, simulator
from tests.seeds import seeded

pytestmark = pytest.mark.cc

CALLS = 20
"""Of one operator for each seed."""

FORMS: tuple[Form, ...] = ("int32", "split", "split", "split_signed", "int64")
CORES = (1, 1, 2, 3, 5, 8)
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


def average(rng: random.Random) -> Layer:
    fy, fx = rng.choice([(2, 2), (3, 3), (1, 5), (8, 8), (7, 3), (6, 6), (3, 40), (17, 17), (1, 33)])
    stride, oy, ox = rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 4)
    sides = (oy - 1) * stride + fy, (ox - 1) * stride + fx
    strides = stride, stride
    return Layer("average", Op.AVG_POOL2D, rng.randint(1, 21), 1, oy, ox, *sides, fy, fx, strides, weight_dtype="")


def product(rng: random.Random) -> Layer:
    if rng.random() < 0.5:
        return dense(rng.randint(1, 40), rng.randint(1, 80))
    return pointwise(rng.randint(1, 21), rng.randint(1, 40), (rng.randint(1, 5), rng.randint(1, 5)))


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


@pytest.mark.parametrize("draw", [convolution, depthwise, average, product])
@seeded(2, 40)
def test_random_layers(core: Simulator, draw: Callable[[random.Random], Layer | None], seed: int) -> None:
    """Each core's outputs are 0 where another core's are."""
    rng = random.Random(seed)
    calls = 0
    while calls < CALLS:
        layer = draw(rng)
        case = Case(layer, rng.choice(FORMS)) if layer is not None else None
        if case is None:
            continue
        try:
            expected = case.tensors.expected
        except ValueError:  # the form has no line for sums of so many bits
            continue
        calls += 1
        cores = rng.choice(CORES)
        outputs = [called(core, case, number, cores)[1] for number in range(cores)]
        told = f"{case.layer}, {case.form}, {cores} cores"
        assert np.array_equal(np.bitwise_or.reduce(outputs), expected), told
        assert all(np.all((output == 0) | (output == expected)) for output in outputs), told
