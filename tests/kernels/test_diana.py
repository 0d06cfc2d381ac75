"""DIANA's kernels, through driver, registers and model, against NumPy on random tiles; and jobs without the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from match.target.operands import WEIGHTS
from match.targets.diana import packing
from match.targets.diana.memory import L1
from tests.kernels.diana_harness import (
    FILL,
    DianaHarness,
    Planes,
    connected_weights,
    grouped_weights,
    planes,
    vectors,
)
from tests.kernels.harness import EMPTY, Bytes, HarnessError, TileFields
from tests.kernels.reference import (
    Geometry,
    Ints,
    conv2d,
    depthwise_conv2d,
    geometries,
)
from tests.kernels.toolchain import PROJECT, SANITIZE, STRICT, compile_c, host_sources

pytestmark = pytest.mark.cc

COMPUTE = -4
EXAMPLES = settings(max_examples=60)
WEIGHT_MEMORY = dict(L1.private)[WEIGHTS]
seeds = st.integers(0, 2**32 - 1)
sides = st.sampled_from((1, 3, 5, 7))
margins = st.tuples(st.integers(0, 1), st.integers(0, 2))


def sliding(stride: int, *, channelwise: bool = False) -> st.SearchStrategy[Geometry]:
    return geometries(
        filters=st.tuples(sides, sides),
        strides=st.just((stride, stride)),
        most_dilation=1,
        most_channels=40,
        most_output=6,
        channelwise=channelwise,
    )


@pytest.fixture(scope="module")
def diana(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DianaHarness]:
    sources = [*host_sources("diana"), PROJECT / "tests" / "kernels" / "diana_harness.c"]
    program = compile_c(sources, tmp_path_factory.mktemp("diana") / "harness", *STRICT, *SANITIZE, target="diana")
    harness = DianaHarness(program)
    yield harness
    harness.close()


def int8(rng: np.random.Generator, shape: tuple[int, ...]) -> Bytes:
    return rng.integers(0, 256, shape, np.uint8)


def signed(values: Bytes) -> Ints:
    return values.view(np.int8).astype(np.int64)


def shifted(acc: Ints, shift: int, relu: bool) -> Bytes:
    """What the output stage stores: the sum keeps 32 bits."""
    wrapped = (acc + 2**31) % 2**32 - 2**31
    return np.clip(wrapped >> shift, 0 if relu else -128, 127).astype(np.int8).view(np.uint8)


def biases(rng: np.random.Generator, channels: int) -> Ints:
    """Biases of every size; the largest make sums wrap."""
    return rng.integers(-(2**31), 2**31, channels) >> rng.integers(0, 24, channels)


def check_output(block: Bytes, target: Planes, expected: Bytes) -> None:
    """The outputs are there, and nothing is written outside the words and groups of channels that they are in."""
    np.testing.assert_array_equal(block[target.bytes], expected)
    outside = np.ones(block.shape, np.bool_)
    outside[target.words] = False
    assert (block[outside] == FILL).all()


@pytest.mark.parametrize("kind", ["conv2d", "depthwise_conv2d"])
@EXAMPLES
@given(st.data(), margins, margins, seeds)
def test_convolutions(
    diana: DianaHarness, kind: str, data: st.DataObject, before: tuple[int, int], behind: tuple[int, int], seed: int
) -> None:
    depthwise = kind == "depthwise_conv2d"
    geometry = data.draw(st.one_of(sliding(1, channelwise=depthwise), sliding(2, channelwise=depthwise)))
    rng = np.random.default_rng(seed)
    x = int8(rng, (*geometry.input, geometry.channels_in))
    source = planes(x, before)
    depth = 1 if depthwise else geometry.channels_in
    weights = rng.integers(-128, 128, (geometry.channels_out, *geometry.filter, depth))
    bias, shift, relu = biases(rng, geometry.channels_out), int(rng.integers(0, 32)), bool(rng.integers(2))
    acc = (
        depthwise_conv2d(signed(x), weights[..., 0], geometry, 0)
        if depthwise
        else conv2d(signed(x), weights, geometry, 0)
    )
    target = planes(np.zeros((*geometry.output, geometry.channels_out), np.uint8), behind, group=1 if depthwise else 16)
    clip = {"clip_low": 0 if relu else -128, "clip_high": 127}
    fields = geometry.fields(**source.strides("input"), **target.strides("output"), **clip)
    stream = grouped_weights(weights, bias, 4 if depthwise else 16)
    assume(stream.nbytes <= WEIGHT_MEMORY)
    strides = source.channel_stride, 0, target.channel_stride
    status, output = diana.run_kernel(kind, fields, shift, (source.block, EMPTY, stream), target.block, strides)
    assert status == 0
    check_output(output, target, shifted(acc + bias, shift, relu))


@EXAMPLES
@given(st.integers(1, 70), st.integers(1, 50), st.integers(1, 3), seeds)
def test_dense(diana: DianaHarness, c: int, k: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, weights, bias = int8(rng, (rows, c)), rng.integers(-128, 128, (k, c)), biases(rng, k)
    shift, relu = int(rng.integers(0, 32)), bool(rng.integers(2))
    words, k_words = -(-c // 16) + seed % 2, -(-k // 16)
    source, _ = vectors(x, words)
    target, places = vectors(np.zeros((rows, k), np.uint8), k_words)
    fields = TileFields(
        channels_in=c,
        channels_out=k,
        input_width=rows,
        input_pixel_stride=16 * words,
        input_row_stride=16 * words * rows,
        output_width=rows,
        output_pixel_stride=16 * k_words,
        output_row_stride=16 * k_words * rows,
        clip_low=0 if relu else -128,
        clip_high=127,
    )
    status, output = diana.run_kernel("dense", fields, shift, (source, EMPTY, connected_weights(weights, bias)), target)
    assert status == 0
    np.testing.assert_array_equal(output[places], shifted(signed(x) @ weights.T + bias, shift, relu))


@EXAMPLES
@given(st.tuples(*[st.integers(1, 6)] * 2, st.integers(1, 40)), margins, margins, margins, seeds)
def test_add(
    diana: DianaHarness,
    shape: tuple[int, int, int],
    first: tuple[int, int],
    second: tuple[int, int],
    behind: tuple[int, int],
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    x, y = int8(rng, shape), int8(rng, shape)
    a, b = planes(x, first), planes(y, second)
    target = planes(np.zeros(shape, np.uint8), behind, group=16)
    shift, relu = int(rng.integers(0, 4)), bool(rng.integers(2))
    fields = TileFields(
        channels_in=shape[2],
        channels_out=shape[2],
        input_height=shape[0],
        input_width=shape[1],
        output_height=shape[0],
        output_width=shape[1],
        clip_low=0 if relu else -128,
        clip_high=127,
    )
    fields = replace(fields, **a.strides("input"), **b.strides("addend"), **target.strides("output"))
    strides = a.channel_stride, b.channel_stride, target.channel_stride
    status, output = diana.run_kernel("add", fields, shift, (a.block, b.block, EMPTY), target.block, strides)
    assert status == 0
    check_output(output, target, shifted(signed(x) + signed(y), shift, relu))


# ---- the layout of weights ----


@pytest.mark.parametrize("channels", [1, 4, 7, 16, 37])
def test_packing_is_the_described_layout(channels: int) -> None:
    rng = np.random.default_rng(channels)
    weights, bias = rng.integers(-128, 128, (channels, 3, 5, 9)), biases(rng, channels)
    assert packing.convolution(weights.astype(np.int8), bias) == grouped_weights(weights, bias, 16).tobytes()
    single = weights[..., :1]
    assert packing.depthwise(single.astype(np.int8), bias) == grouped_weights(single, bias, 4).tobytes()
    flat = weights.reshape(channels, -1)
    assert packing.fully_connected(flat.astype(np.int8), bias) == connected_weights(flat, bias).tobytes()


# ---- jobs, register by register ----

OPERATION, FILTER_HEIGHT, STRIDE, LANE, SHIFT = 0, 11, 13, 15, 16


def job(channels: int = 3) -> list[int]:
    """A 1x1 convolution of one pixel, `channels` to 1, each channel in a word of its own."""
    return [0, 0, 0, 0, 0, channels, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 2, 0, 16, 16, 0, 0, 16, 16]


def pixel(*channels: int) -> Bytes:
    """One pixel as the accelerator has it: the first column of a word is its fourth byte."""
    return planes(np.array([[channels]]).astype(np.uint8), (0, 0)).block


def outputs(channels: int = 16) -> Bytes:
    return np.zeros(16 * channels, np.uint8)


def test_job(diana: DianaHarness) -> None:
    """One of the 16 channels by 16 columns that are written is an output."""
    weights = grouped_weights(np.array([[[[10, -20, 30]]]]), np.array([5]), 16)
    status, output = diana.run_job(job(), pixel(1, 2, 3), weights, outputs())
    assert (status, output[3]) == (0, (10 - 40 + 90 + 5) >> 2)
    assert output.all(), "what is not an output is written, and not 0"


def test_addition_job(diana: DianaHarness) -> None:
    words = job()
    words[OPERATION], words[6], words[20:22] = 3, 3, [16, 16]
    a, b = pixel(100, 200, 3), pixel(100, 200, 250)
    status, output = diana.run_job(words, a, EMPTY, outputs(), addend=b)
    assert (status, output.view(np.int8)[[3, 19, 35]].tolist()) == (0, [50, -28, -1])


def test_fully_connected_job_reads_a_vector(diana: DianaHarness) -> None:
    words = job(5)
    words[OPERATION], words[6] = 2, 2
    weights = connected_weights(np.array([[1, 2, 3, 4, 5], [0, 0, 0, 0, 9]]), np.array([0, 2]))
    vector, _ = vectors(np.array([[1, 10, 100, 50, 7]], np.uint8), 1)
    status, output = diana.run_job(words, vector, weights, outputs(1))
    assert (status, output[3], output[2]) == (0, 127, (63 + 2) >> 2)


@pytest.mark.parametrize(
    "change",
    [
        {OPERATION: 4},
        {FILTER_HEIGHT: 2},
        {FILTER_HEIGHT: 9},
        {STRIDE: 3},
        {STRIDE: 0},
        {SHIFT: 32},
        {OPERATION: 1},  # depthwise takes one channel
        {OPERATION: 1, 5: 1, LANE: 4},
        {OPERATION: 2, 9: 2},  # fully connected makes one pixel
        {OPERATION: 2, FILTER_HEIGHT: 3},
        {1: 0x7000_0000},  # input outside the activation memory
        {3: 0x7000_0000},  # weights outside theirs
        {4: 0x7000_0000},  # output outside
        {1: 1},  # bytes lie in groups of four
        {18: 8},  # rows are whole words
        {23: 20},
    ],
    ids=str,
)
def test_jobs_that_are_refused(diana: DianaHarness, change: dict[int, int]) -> None:
    words = job()
    for word, value in change.items():
        words[word] = value
    weights = grouped_weights(np.array([[[[1, 1, 1]]]]), np.array([4]), 16)
    status, output = diana.run_job(words, pixel(1, 2, 3), weights, outputs())
    assert status == COMPUTE
    assert not output.any()


def test_accesses_stay_in_their_blocks(diana: DianaHarness) -> None:
    """A channel too many in the filter reaches the gap behind the input, one too few that behind the output."""
    weights = grouped_weights(np.ones((1, 1, 1, 4), np.int64), np.array([0]), 16)
    with pytest.raises(HarnessError, match="use-after-poison"):
        diana.run_job(job(channels=4), pixel(1, 2, 3), weights, outputs())
    with pytest.raises(HarnessError, match="use-after-poison"):
        diana.run_job(job(), pixel(1, 2, 3), weights, outputs(15))
