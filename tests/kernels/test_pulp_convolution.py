"""Convolutions, dense layers and products of activations on the cluster, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.kernels.harness import Harness, embed
from tests.kernels.pulp_tiles import (
    CORES,
    EXAMPLES,
    SCRATCHES,
    accumulate_on,
    before_pixels,
    by_columns,
    clips,
    conv2d_scratch,
    convolve_on,
    empty_output,
    expect,
    fields_of,
    forms,
    kernel_of,
    pointwise,
    pool_on,
    random_input,
    random_weights,
    seeds,
)
from tests.kernels.reference import FORMS, Geometry, Ints, conv2d, geometries, margins, requantization_of

pytestmark = pytest.mark.cc

SMALL = Geometry(3, 5, (3, 4), (2, 2), (1, 1), (1, 1), (1, 0, 0, 0), (0, 0))
by_fours = geometries(most_dilation=1, most_channels=4, most_output=9).map(
    lambda geometry: replace(geometry, channels_in=4 * geometry.channels_in, channels_out=4 * geometry.channels_out)
)
"""Convolutions whose windows are multiplied where they lie in the input."""


@EXAMPLES
@given(st.one_of(geometries(), by_fours), before_pixels, margins, st.integers(0, 255), clips, forms, seeds)
def test_conv2d(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    pad_value: int,
    clip: tuple[int, int],
    form: str,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    source = embed(random_input(rng, geometry), before)
    target = empty_output(geometry, behind)
    weights = random_weights(rng, (geometry.channels_out, *geometry.filter, geometry.channels_in))
    acc = conv2d(source.tile, weights, geometry, pad_value)
    requantization = requantization_of(rng, acc, form, clip)
    output = harness.kernel(
        kernel_of("match_pulp_conv2d", requantization),
        fields_of(geometry, source, target, requantization, pad_value),
        input=source.block,
        weights=by_columns(weights),
        parameters=requantization.packed(),
        output=target.block,
        scratch=conv2d_scratch(geometry, CORES),
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
    )
    expect(output, target, requantization(acc))


@settings(max_examples=30)
@given(geometries(most_channels=9), st.integers(1, 5), before_pixels, margins, st.integers(0, 255), forms, seeds)
@example(SMALL, 4, (0, 0, 0, 0), (0, 0, 0, 0), 9, "split_except", 3)
@example(SMALL, 3, (0, 0, 0, 0), (0, 0, 0, 0), 9, "int64_except", 4)
def test_grouped_conv2d(
    harness: Harness,
    geometry: Geometry,
    groups: int,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    pad_value: int,
    form: str,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    inputs, outputs = geometry.channels_in, geometry.channels_out
    whole = replace(geometry, channels_in=groups * inputs, channels_out=groups * outputs)
    source, target = embed(random_input(rng, whole), before), empty_output(whole, behind)
    weights = random_weights(rng, (groups * outputs, *geometry.filter, inputs))
    parts = [
        conv2d(source.tile[..., g * inputs :][..., :inputs], weights[g * outputs :][:outputs], geometry, pad_value)
        for g in range(groups)
    ]
    acc = np.concatenate(parts, axis=2)
    requantization = requantization_of(rng, acc, form)
    output = harness.kernel(
        kernel_of("match_pulp_grouped_conv2d", requantization),
        fields_of(geometry, source, target, requantization, pad_value),
        input=source.block,
        weights=by_columns(weights),
        parameters=requantization.packed(),
        output=target.block,
        scratch=conv2d_scratch(geometry, CORES),
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
        groups=groups,
    )
    expect(output, target, requantization(acc))


@EXAMPLES
@given(pointwise, margins, margins, clips, forms, seeds, st.sampled_from(["pointwise", "dense"]))
def test_pointwise_and_dense(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    clip: tuple[int, int],
    form: str,
    seed: int,
    kernel: str,
) -> None:
    rng = np.random.default_rng(seed)
    source = embed(random_input(rng, geometry), before)
    target = empty_output(geometry, behind)
    weights = random_weights(rng, (geometry.channels_out, geometry.channels_in))
    acc: Ints = source.tile[: geometry.output[0], : geometry.output[1]].astype(np.int64) @ weights.T.astype(np.int64)
    requantization = requantization_of(rng, acc, form, clip)
    output = harness.kernel(
        kernel_of(f"match_pulp_{kernel}", requantization),
        fields_of(geometry, source, target, requantization),
        input=source.block,
        weights=weights.view(np.uint8),
        parameters=requantization.packed(),
        output=target.block,
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
    )
    expect(output, target, requantization(acc))


@settings(max_examples=40)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 7), st.integers(1, 21), st.integers(1, 35)),
    st.tuples(margins, margins, margins),
    st.tuples(st.integers(0, 255), st.integers(0, 255)),
    forms,
    seeds,
)
@example((2, 3, 2, 9), ((0, 0, 0, 0),) * 3, (3, 200), "split_except", 5)
@example((1, 2, 9, 16), ((0, 0, 0, 0),) * 3, (3, 200), "int64_except", 6)
def test_matrices(
    harness: Harness,
    sizes: tuple[int, int, int, int],
    gaps: tuple[tuple[int, int, int, int], ...],
    zeros: tuple[int, int],
    form: str,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    count, rows, columns, depth = sizes
    a, b, target = (
        embed(rng.integers(0, 256, shape, np.uint8), gap)
        for shape, gap in zip(
            ((count, rows, depth), (count, columns, depth), (count, rows, columns)), gaps, strict=True
        )
    )
    acc = np.einsum("yxc,ykc->yxk", a.tile.astype(np.int64) - zeros[0], b.tile.astype(np.int64) - zeros[1])
    requantization = requantization_of(rng, acc.reshape(count, -1, 1), form)
    geometry = Geometry(depth, columns, (count, rows), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    fields = fields_of(geometry, a, target, requantization, 0)
    output = harness.kernel(
        kernel_of("match_pulp_matrices", requantization),
        replace(fields, addend_row_stride=b.row_stride, addend_pixel_stride=b.pixel_stride),
        input=a.block,
        addend=b.block,
        weights=np.array(zeros, "<i4").view(np.uint8),
        parameters=requantization.packed(),
        output=target.block,
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
    )
    expect(output, target, requantization(acc.reshape(count, -1, 1)).reshape(acc.shape))


@EXAMPLES
@given(geometries(), margins, margins, st.sampled_from(["conv2d", "pointwise", "dense"]), forms, seeds)
def test_input_channels_a_part_at_a_time(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    kernel: str,
    form: str,
    seed: int,
) -> None:
    """Parts of any sizes."""
    rng = np.random.default_rng(seed)
    if kernel != "conv2d":
        geometry = replace(geometry, filter=(1, 1), stride=(1, 1), dilation=(1, 1), pad=(0, 0, 0, 0), spare=(0, 0))
    cuts = {int(cut) for cut in rng.integers(0, geometry.channels_in, 3)}
    parts = list(pairwise(sorted(cuts | {0, geometry.channels_in})))
    accumulate_on(harness, geometry, (before, behind), kernel, form, parts, rng)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", ["conv2d", "pointwise", "dense"])
def test_partial_sums_on_any_number_of_cores(harness_for: Callable[[int], Harness], kernel: str, form: str) -> None:
    """Whole words and bytes behind them, vectors too short for words, blocks of four channels and single ones."""
    side = 3 if kernel == "conv2d" else 1
    pad = side // 2
    geometry = Geometry(15, 11, (5, 7), (side, side), (1, 1), (1, 1), (pad, pad, pad, pad), (0, 0))
    for cores in (1, 2, 4, 8):
        parts = [(0, 4), (4, 9), (9, 11), (11, 15)]
        margin = ((0, 0, 0, 0), (1, 0, 0, 2))
        accumulate_on(harness_for(cores), geometry, margin, kernel, form, parts, np.random.default_rng(3), cores)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kernel", ["conv2d", "pointwise", "dense"])
def test_vectors_shorter_than_a_word(harness: Harness, kernel: str, form: str) -> None:
    """Blocks of four channels and single ones, pairs of pixels and a last one."""
    for channels in (1, 2, 3):
        geometry = Geometry(channels, 11, (5, 5), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
        scratch = conv2d_scratch(geometry, CORES) if kernel == "conv2d" else 0
        convolve_on(harness, geometry, f"match_pulp_{kernel}", scratch, form)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "kernel", ["conv2d", "depthwise_conv2d", "depthwise_widened", "pointwise", "dense", "avg_pool2d"]
)
def test_any_number_of_cores(harness_for: Callable[[int], Harness], kernel: str, form: str) -> None:
    side = 1 if kernel in ("pointwise", "dense") else 3
    pad = side // 2
    geometry = Geometry(11, 11, (5, 6), (side, side), (1, 1), (1, 1), (pad, pad, pad, pad), (0, 0))
    if kernel == "depthwise_widened":
        geometry = replace(geometry, filter=(3, 2), dilation=(2, 1))
    scratch = SCRATCHES.get(kernel, lambda *_: 0)
    if kernel == "avg_pool2d":
        outputs = [pool_on(harness_for(cores), geometry, form) for cores in (1, 2, 4, 8)]
    else:
        name = f"match_pulp_{kernel}"
        outputs = [
            convolve_on(harness_for(cores), geometry, name, scratch(geometry, cores), form) for cores in (1, 2, 4, 8)
        ]
    for output in outputs[1:]:
        np.testing.assert_array_equal(output, outputs[0])
