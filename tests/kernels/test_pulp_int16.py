"""Layers of 16 bits on the cluster, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernels.harness import Harness
from tests.kernels.int16_tiles import Margin, embed_halves, in_halves, int16_on, maxima
from tests.kernels.pulp_tiles import EXAMPLES, before_pixels, expect, seeds
from tests.kernels.reference import Geometry, Ints, geometries, margins, output_strides_of, strides_of

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


def half_away(x: Ints, bits: int) -> Ints:
    """X / 2^bits, rounded half away from zero."""
    return np.sign(x) * ((np.abs(x) + ((1 << bits) >> 1)) >> bits)


def high_product(x: Ints, multiplier: int) -> Ints:
    """X * multiplier, rounded at bit 31, half up."""
    return (x * multiplier + (1 << 30)) >> 31


def add(harness: Harness, shape: tuple[int, int, int], gaps: tuple[Margin, ...], rng: np.random.Generator) -> None:
    """Sums and differences with any multipliers and shifts, by the definition of their fixed point.

    Outputs of small numbers, shifted by little, tell each rounding apart.
    """
    small = rng.random() < 0.5
    low, high = (-2, 2) if small else (-(2**15), 2**15 - 1)
    both = [rng.integers(low, high, shape, endpoint=True).astype(np.int16) for _ in range(2)]
    both[0][rng.random(shape) < 0.2], both[1][rng.random(shape) < 0.2] = low, high
    multipliers, shifts = rng.integers(2**30, 2**31, 3), [int(rng.integers(1, 6)), int(rng.integers(1, 6)), 0]
    shifts[int(rng.integers(2))], shifts[2] = 1, int(rng.integers(4 if small else 18))
    sign = int(rng.choice([-1, 1]))
    clip = ((-(1 << 15), (1 << 15) - 1), (0, 999))[int(rng.integers(2))]
    left, right = (
        half_away(high_product(x.astype(np.int64) << 15, int(multipliers[n])), shifts[n]) for n, x in enumerate(both)
    )
    total = half_away(high_product(left + sign * right, int(multipliers[2])), shifts[2])
    expected = np.clip(total, *clip).astype(np.int16)
    source, addend = (embed_halves(x, gap) for x, gap in zip(both, gaps, strict=False))
    target = embed_halves(np.zeros(shape, np.int16), gaps[2])
    geometry = Geometry(shape[2], shape[2], shape[:2], (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    second = {name.replace("input", "addend"): stride for name, stride in strides_of(addend).items()}
    fields = geometry.fields(
        **in_halves(strides_of(source) | second | output_strides_of(target)), clip_low=clip[0], clip_high=clip[1]
    )
    output = harness.kernel(
        "match_pulp_add_int16",
        fields,
        input=source.block,
        addend=addend.block,
        parameters=np.array([*multipliers, *shifts, sign], "<i4").view(np.uint8),
        output=target.block,
    )
    expect(output, target, expected.view(np.uint8).reshape(target.tile.shape))


@EXAMPLES
@given(st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 20)), st.tuples(margins, margins, margins), seeds)
def test_add(harness: Harness, shape: tuple[int, int, int], gaps: tuple[Margin, ...], seed: int) -> None:
    add(harness, shape, gaps, np.random.default_rng(seed))


def test_additions_on_any_number_of_cores(harness_for: Callable[[int], Harness]) -> None:
    rng = np.random.default_rng(7)
    for shape in ((1, 1, 1), (3, 5, 7), (2, 4, 16)):
        for gaps in ((0, 0, 0, 0), (1, 0, 2, 0)):
            for cores in (1, 2, 4, 8):
                add(harness_for(cores), shape, (gaps, gaps, gaps), rng)
