"""Layers of 16 bits on the cluster, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.harness import Harness
from tests.kernels.int16_tiles import (
    Margin,
    added,
    averages,
    gate,
    grouped,
    int16_on,
    leaky_relu,
    lstm,
    maxima,
    multiplied,
    requantized,
    softmax,
)
from tests.kernels.pulp_tiles import EXAMPLES, before_pixels, seeds
from tests.kernels.reference import Geometry, geometries, margins

pytestmark = pytest.mark.cc

clips = st.sampled_from([(-(1 << 15), (1 << 15) - 1), (0, (1 << 15) - 1), (0, 9000), (-400, 700)])
pools = geometries(
    filters=st.tuples(st.integers(2, 4), st.integers(2, 4)), channelwise=True, most_padding=1, most_dilation=1
).filter(lambda geometry: min(geometry.input) > 0)
"""Their windows have a pixel each."""
rows = geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), most_dilation=1, most_padding=0, most_channels=40)
calls = st.one_of(
    st.tuples(st.just("conv2d"), geometries()),
    st.tuples(st.just("depthwise_conv2d"), geometries(channelwise=True)),
    st.tuples(st.just("dense"), rows.map(lambda row: replace(row, spare=(0, 0)))),
)


@EXAMPLES
@given(calls, before_pixels, margins, clips, seeds)
def test_layers(
    harness: Harness,
    call: tuple[str, Geometry],
    before: Margin,
    behind: Margin,
    clip: tuple[int, int],
    seed: int,
) -> None:
    int16_on(harness, *call, (before, behind), clip, np.random.default_rng(seed))


@EXAMPLES
@given(st.integers(1, 5), geometries(most_channels=6, most_output=4), before_pixels, margins, clips, seeds)
def test_grouped_conv2d(
    harness: Harness,
    groups: int,
    geometry: Geometry,
    before: Margin,
    behind: Margin,
    clip: tuple[int, int],
    seed: int,
) -> None:
    grouped(harness, groups, geometry, (before, behind), clip, np.random.default_rng(seed))


@pytest.mark.parametrize("kernel", ["conv2d", "depthwise_conv2d", "dense"])
def test_on_any_number_of_cores(harness_for: Callable[[int], Harness], kernel: str) -> None:
    rng, gaps, clip = np.random.default_rng(5), ((0, 0, 0, 0), (0, 1, 2, 0)), (-(1 << 15), (1 << 15) - 1)
    window = ((1, 1), (1, 1), (1, 1), (0, 0, 0, 0)) if kernel == "dense" else ((3, 2), (2, 1), (1, 2), (1, 1, 1, 0))
    for channels, output in ((5, (3, 4)), (16, (1, 1)), (1, (7, 2)), (9, (2, 5))):
        geometry = Geometry(channels, channels, output, *window, (0, 0))
        for cores in (1, 2, 4, 8):
            int16_on(harness_for(cores), kernel, geometry, gaps, clip, rng)


@EXAMPLES
@given(pools, before_pixels, margins, seeds)
def test_max_pool2d(harness: Harness, geometry: Geometry, before: Margin, behind: Margin, seed: int) -> None:
    maxima(harness, geometry, (before, behind), np.random.default_rng(seed))


def test_max_pool2d_on_any_number_of_cores(harness_for: Callable[[int], Harness]) -> None:
    rng, gaps = np.random.default_rng(6), ((0, 0, 0, 0), (0, 1, 2, 0))
    for channels, output in ((5, (3, 4)), (16, (1, 1)), (1, (7, 2)), (9, (2, 5))):
        geometry = Geometry(channels, channels, output, (3, 2), (2, 1), (1, 1), (1, 1, 1, 0), (0, 0))
        for cores in (1, 2, 4, 8):
            maxima(harness_for(cores), geometry, gaps, rng)


means = geometries(
    filters=st.tuples(st.integers(1, 4), st.integers(1, 9)), channelwise=True, most_padding=0, most_dilation=1
)


@EXAMPLES
@given(means, before_pixels, margins, clips, seeds)
def test_avg_pool2d(
    harness: Harness, geometry: Geometry, before: Margin, behind: Margin, clip: tuple[int, int], seed: int
) -> None:
    averages(harness, geometry, (before, behind), clip, np.random.default_rng(seed))


def test_avg_pool2d_on_any_number_of_cores(harness_for: Callable[[int], Harness]) -> None:
    rng, gaps, clip = np.random.default_rng(9), ((0, 0, 0, 0), (0, 1, 2, 0)), (-(1 << 15), (1 << 15) - 1)
    for channels, output in ((5, (3, 4)), (16, (1, 1)), (1, (7, 2)), (9, (2, 5))):
        geometry = Geometry(channels, channels, output, (3, 2), (2, 1), (1, 1), (0, 0, 0, 0), (0, 0))
        for cores in (1, 2, 4, 8):
            averages(harness_for(cores), geometry, gaps, clip, rng)


shapes = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 20))
gaps_of_three = st.tuples(margins, margins, margins)
broadcasts = st.sampled_from(["", "pixel", "channel"])
SOME = [((1, 1, 1), ""), ((3, 5, 7), "pixel"), ((2, 4, 16), "channel"), ((4, 3, 9), "")]


@EXAMPLES
@given(shapes, gaps_of_three, seeds)
def test_requantize(harness: Harness, shape: tuple[int, int, int], gaps: tuple[Margin, ...], seed: int) -> None:
    requantized(harness, shape, gaps, np.random.default_rng(seed))


@EXAMPLES
@given(shapes, gaps_of_three, seeds)
def test_leaky_relu(harness: Harness, shape: tuple[int, int, int], gaps: tuple[Margin, ...], seed: int) -> None:
    leaky_relu(harness, shape, gaps, np.random.default_rng(seed))


@EXAMPLES
@given(shapes, broadcasts, gaps_of_three, seeds)
def test_multiply(
    harness: Harness, shape: tuple[int, int, int], broadcast: str, gaps: tuple[Margin, ...], seed: int
) -> None:
    multiplied(harness, shape, broadcast, gaps, np.random.default_rng(seed))


@pytest.mark.parametrize("function", ["logistic", "tanh"])
@EXAMPLES
@given(shapes, gaps_of_three, seeds)
def test_gates(
    harness: Harness, function: str, shape: tuple[int, int, int], gaps: tuple[Margin, ...], seed: int
) -> None:
    gate(harness, function, shape, gaps, np.random.default_rng(seed))


@EXAMPLES
@given(shapes, gaps_of_three, seeds)
def test_softmax(harness: Harness, shape: tuple[int, int, int], gaps: tuple[Margin, ...], seed: int) -> None:
    softmax(harness, shape, gaps, np.random.default_rng(seed))


@EXAMPLES
@given(
    st.tuples(st.integers(1, 7), st.integers(1, 3), st.integers(1, 21), st.integers(1, 21)),
    st.tuples(margins, margins),
    clips,
    seeds,
)
def test_lstm(
    harness: Harness,
    sizes: tuple[int, int, int, int],
    gaps: tuple[Margin, Margin],
    clip: tuple[int, int],
    seed: int,
) -> None:
    lstm(harness, sizes, gaps, clip, np.random.default_rng(seed))


def test_softmax_of_long_rows(harness: Harness) -> None:
    for seed in range(4):
        softmax(harness, (1, 2, 1000), ((0, 0, 0, 0),) * 2, np.random.default_rng(seed))


def test_elements_on_any_number_of_cores(harness_for: Callable[[int], Harness]) -> None:
    rng = np.random.default_rng(8)
    for cores in (1, 2, 4, 8):
        lstm(harness_for(cores), (3, 2, 5, 11), ((0, 0, 0, 0), (0, 0, 0, 0)), (-(1 << 15), (1 << 15) - 1), rng)
    for shape, broadcast in SOME:
        for gap in ((0, 0, 0, 0), (1, 0, 2, 0)):
            for cores in (1, 2, 4, 8):
                harness = harness_for(cores)
                requantized(harness, shape, (gap, gap), rng)
                leaky_relu(harness, shape, (gap, gap), rng)
                softmax(harness, shape, (gap, gap), rng)
                gate(harness, "tanh", shape, (gap, gap), rng)
                multiplied(harness, shape, broadcast, (gap, gap, gap), rng)
                added(harness, shape, broadcast, (gap, gap, gap), rng)


@EXAMPLES
@given(shapes, broadcasts, gaps_of_three, seeds)
def test_add(
    harness: Harness, shape: tuple[int, int, int], broadcast: str, gaps: tuple[Margin, ...], seed: int
) -> None:
    added(harness, shape, broadcast, gaps, np.random.default_rng(seed))
