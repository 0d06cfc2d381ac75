"""Average and maximum pooling on the cluster, against NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from match.ir.float_average import FloatAverage
from match.ir.float_border import FloatQuantization
from match.target.tile_constants import float_average
from tests.kernels.harness import Bytes, Harness, embed
from tests.kernels.pulp_tiles import (
    EXAMPLES,
    clips,
    empty_output,
    expect,
    fields_of,
    forms,
    kernel_of,
    random_input,
    seeds,
)
from tests.kernels.reference import (
    Geometry,
    Ints,
    geometries,
    margins,
    output_strides_of,
    requantization_of,
    strides_of,
    windows,
)

pytestmark = pytest.mark.cc


@EXAMPLES
@given(geometries(channelwise=True), margins, margins, st.integers(0, 255), forms, seeds)
def test_avg_pool2d(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    pad_value: int,
    form: str,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    source = embed(random_input(rng, geometry), before)
    target = empty_output(geometry, behind)
    acc: Ints = windows(source.tile, geometry, pad_value).sum(axis=(2, 3))
    requantization = requantization_of(rng, acc, form)
    output = harness.kernel(
        kernel_of("match_pulp_avg_pool2d", requantization),
        fields_of(geometry, source, target, requantization, pad_value),
        input=source.block,
        parameters=requantization.packed(),
        output=target.block,
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
    )
    expect(output, target, requantization(acc))


def float_average_on(
    harness: Harness, geometry: Geometry, x: Bytes, margins: tuple[tuple[int, int, int, int], ...], scale: float
) -> None:
    """A tile of average pooling, against sums in float32, element by element."""
    zero, (before, behind) = 7 * len(x) % 256, margins
    source, target = embed(x, before), empty_output(geometry, behind)
    numbers = np.arange(-zero, 256 - zero).astype(np.float32) * np.float32(scale)
    shown = np.float32(scale) if scale < 1 else np.float32(scale * 0.37)
    function = FloatQuantization(shown, zero, "uint8", half_to_even=True, zero_first=True)
    average = FloatAverage(np.float32(scale), zero, function, geometry.filter[0] * geometry.filter[1])
    output = harness.kernel(
        "match_pulp_float_avg_pool2d",
        geometry.fields(**strides_of(source), **output_strides_of(target)),
        input=source.block,
        parameters=np.frombuffer(float_average(average), np.uint8),
        output=target.block,
    )
    inside = windows(np.ones_like(x), geometry, 0) == 1
    seen = np.where(inside, numbers[windows(x, geometry, 0)], np.float32(0))
    sums = np.zeros((*geometry.output, x.shape[2]), np.float32)
    for i, j in np.ndindex(*geometry.filter):
        sums = sums + seen[:, :, i, j]
    means = sums / np.maximum(inside.sum(axis=(2, 3)).astype(np.float32), np.float32(1))
    levels = np.rint(means / shown + np.float32(zero))
    expect(output, target, np.clip(levels, 0, 255).astype(np.uint8))


@EXAMPLES
@given(geometries(channelwise=True, most_dilation=1), margins, margins, st.floats(1e-4, 10.0), seeds)
def test_float_avg_pool2d(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    scale: float,
    seed: int,
) -> None:
    x = random_input(np.random.default_rng(seed), geometry)
    float_average_on(harness, geometry, x, (before, behind), scale)


def test_float_averages_on_any_number_of_cores(harness_for: Callable[[int], Harness]) -> None:
    for channels, side, stride, pad in ((1, 2, 2, 0), (11, 3, 1, 1), (5, 2, 1, 1)):
        around = (pad, pad, pad, pad)
        geometry = Geometry(channels, channels, (5, 6), (side, side), (stride, stride), (1, 1), around, (0, 0))
        x = random_input(np.random.default_rng(side), geometry)
        for cores in (1, 2, 4, 8):
            float_average_on(harness_for(cores), geometry, x, ((0, 0, 0, 0), (1, 0, 0, 2)), 0.0371)


@EXAMPLES
@given(geometries(channelwise=True, most_padding=1, most_dilation=1), margins, margins, clips, seeds)
def test_max_pool2d(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    clip: tuple[int, int],
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    source = embed(random_input(rng, geometry), before)
    target = empty_output(geometry, behind)
    expected = windows(source.tile, geometry, -1).max(axis=(2, 3))
    assume((expected >= 0).all())  # a window without a pixel is no pooling
    output = harness.kernel(
        "match_pulp_max_pool2d",
        geometry.fields(
            **strides_of(source), **output_strides_of(target), pad_value=255, clip_low=clip[0], clip_high=clip[1]
        ),
        input=source.block,
        output=target.block,
    )
    expect(output, target, expected.clip(*clip).astype(np.uint8))
