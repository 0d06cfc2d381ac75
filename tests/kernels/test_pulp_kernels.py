"""Cluster kernels against NumPy, on random tiles inside larger blocks; AddressSanitizer watches the borders."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from match.ir.float_average import FloatAverage
from match.ir.float_border import FloatQuantization
from match.target.tile_constants import float_average, quantization
from tests.kernels.harness import Bytes, Harness, HarnessError, TileFields, View, embed
from tests.kernels.recurrent import Gru, GruResetFirst, Lstm
from tests.kernels.reference import (
    FORMS,
    WIDE_FORMS,
    Geometry,
    Ints,
    Requantization,
    conv2d,
    depthwise_conv2d,
    geometries,
    margins,
    normalized,
    output_strides_of,
    packed_positions,
    random_columns,
    random_positions,
    random_requantization,
    requantization_of,
    resized,
    softmax_of,
    strides_of,
    windows,
)
from tests.kernels.toolchain import PROJECT

pytestmark = pytest.mark.cc

CORES = 8
Gaps = tuple[tuple[int, int, int, int], ...]
"""Margins of two inputs and an output."""

Reals = np.ndarray[tuple[int, ...], np.dtype[np.float32]]
EXAMPLES = settings(max_examples=60)
seeds = st.integers(0, 2**32 - 1)
forms = st.sampled_from(FORMS)
wide_forms = st.sampled_from(WIDE_FORMS)
clips = st.sampled_from([(0, 255), (3, 200), (-128, 127), (-100, 90)])

SMALL = Geometry(3, 5, (3, 4), (2, 2), (1, 1), (1, 1), (1, 0, 0, 0), (0, 0))
by_fours = geometries(most_dilation=1, most_channels=4, most_output=9).map(
    lambda geometry: replace(geometry, channels_in=4 * geometry.channels_in, channels_out=4 * geometry.channels_out)
)
"""Of which windows are multiplied where they lie in the input."""
before_pixels = st.one_of(margins, st.tuples(st.integers(0, 2), st.integers(0, 2), st.just(0), st.just(0)))
shared_parts = st.sampled_from(["", "pixel", "channel", "outer"])
pointwise = geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), most_channels=33)
depthwise = st.one_of(
    geometries(channelwise=True),
    geometries(filters=st.just((3, 3)), most_dilation=1, channelwise=True, most_output=12),
)

widened = geometries(
    filters=st.tuples(st.integers(1, 5), st.integers(1, 5)), most_dilation=3, channelwise=True, most_output=12
)


def one_row(geometry: Geometry) -> Geometry:
    """The geometry's columns in a map of one row."""
    (_, ox), (_, fx), (_, left, _, right) = geometry.output, geometry.filter, geometry.pad
    return replace(geometry, output=(1, ox), filter=(1, fx), pad=(0, left, 0, right), spare=(0, geometry.spare[1]))


def turned(geometry: Geometry) -> Geometry:
    """Its rows as columns and columns as rows."""
    pairs = ("output", "filter", "stride", "dilation", "spare")
    top, left, bottom, right = geometry.pad
    swapped = {name: getattr(geometry, name)[::-1] for name in pairs}
    return replace(geometry, pad=(left, top, right, bottom), **swapped)


sequences = widened.map(one_row).filter(lambda geometry: min(geometry.input) >= 1)
depthwise_calls = st.one_of(
    st.tuples(st.just("depthwise_conv2d"), depthwise),
    st.tuples(st.just("depthwise_widened"), st.one_of(widened, sequences, sequences.map(turned))),
)


def align4(size: int) -> int:
    return -(-size // 4) * 4


def conv2d_scratch(geometry: Geometry, cores: int) -> int:
    """As match_pulp.h gives it."""
    column = align4(geometry.filter[0] * geometry.filter[1] * geometry.channels_in) + 4
    return cores * min(16 * column, max(512, 2 * column))


def depthwise_scratch(geometry: Geometry, cores: int) -> int:
    """As match_pulp.h gives it."""
    rows = (geometry.output[0] - 1) * geometry.stride[0] + (geometry.filter[0] - 1) * geometry.dilation[0] + 1
    return cores * align4(geometry.filter[1] * rows)


def widened_scratch(geometry: Geometry, cores: int) -> int:
    """As match_pulp.h gives it."""
    size = 3 if max(geometry.filter) <= 3 else 5
    strides = {stride for stride, outputs in zip(geometry.stride, geometry.output, strict=True) if outputs > 1}
    lone = (geometry.filter[1], geometry.input[1], geometry.output[1], geometry.pad[1]) == (1, 1, 1, 0)
    some = (size == 5 or not strides <= {1, 3}) and not lone
    narrow = 5 * geometry.input[0] * geometry.channels_in if some else 0
    return depthwise_scratch(geometry, cores) + align4(size * size * geometry.channels_in) + narrow


SCRATCHES = {
    "conv2d": conv2d_scratch,
    "depthwise_conv2d": depthwise_scratch,
    "depthwise_widened": widened_scratch,
}
"""Of kernels that need some."""


def random_input(rng: np.random.Generator, geometry: Geometry) -> Bytes:
    return rng.integers(0, 256, (*geometry.input, geometry.channels_in), np.uint8)


def random_weights(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
    return rng.integers(-128, 128, shape, np.int8)


def by_columns(weights: np.ndarray[tuple[int, ...], np.dtype[np.int8]]) -> Bytes:
    """A convolution's filters as match_pulp.h has them: column by column, zeros behind each up to whole words."""
    rows = weights.transpose(0, 2, 1, 3).reshape(len(weights), -1)
    return np.pad(rows, ((0, 0), (0, align4(rows.shape[1]) - rows.shape[1]))).view(np.uint8)


def fields_of(
    geometry: Geometry, source: View, target: View, requantization: Requantization, pad_value: int = 0
) -> TileFields:
    """The tile's fields for these views and parameters."""
    return geometry.fields(
        **strides_of(source),
        **output_strides_of(target),
        pad_value=pad_value,
        clip_low=requantization.clip[0],
        clip_high=requantization.clip[1],
    )


def kernel_of(kernel: str, requantization: Requantization) -> str:
    """The kernel of match_pulp.h that has these parameters."""
    return kernel + requantization.suffix


def empty_output(geometry: Geometry, margin: tuple[int, int, int, int]) -> View:
    return embed(np.zeros((*geometry.output, geometry.channels_out), np.uint8), margin)


def expect(output: Bytes, target: View, expected: Bytes) -> None:
    """The tile holds what is expected, and nothing else of its block was written."""
    target.tile[...] = expected
    np.testing.assert_array_equal(output, target.block)


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


def accumulate_on(
    harness: Harness,
    geometry: Geometry,
    margin: tuple[tuple[int, int, int, int], ...],
    kernel: str,
    form: str,
    parts: list[tuple[int, int]],
    rng: np.random.Generator,
    cores: int = CORES,
) -> None:
    """Input channels a part at a time, compared; margins of input and output.

    The first part overwrites what is where its sums go, only the last one writes the output.
    """
    x = random_input(rng, geometry)
    weights = random_weights(rng, (geometry.channels_out, *geometry.filter, geometry.channels_in))
    acc = conv2d(x, weights, geometry, 11)
    requantization = requantization_of(rng, acc, form)
    target = empty_output(geometry, margin[1])
    sums = rng.integers(-(2**31), 2**31, target.block.size, np.int64).astype(np.int32)
    before_all = sums.copy()
    added, output = np.zeros_like(acc), target.block
    for begin, end in parts:
        part = replace(geometry, channels_in=end - begin)
        source, cut = embed(x[..., begin:end], margin[0]), weights[..., begin:end].copy()
        added += conv2d(source.tile, weights[..., begin:end], part, 11)
        output = harness.kernel(
            kernel_of(f"match_pulp_{kernel}", requantization),
            fields_of(part, source, target, requantization, 11),
            input=source.block,
            weights=by_columns(cut) if kernel == "conv2d" else cut.view(np.uint8),
            parameters=requantization.packed(),
            output=target.block,
            scratch=conv2d_scratch(part, cores),
            negative_step=requantization.negative_step,
            lists=requantization.lists(),
            sums=sums,
            begins=begin == 0,
            ends=end == geometry.channels_in,
        )
        if end < geometry.channels_in:
            expected = before_all.copy()
            strides = [4 * stride for stride in target.tile.strides]
            np.lib.stride_tricks.as_strided(expected, target.tile.shape, strides)[...] = added
            np.testing.assert_array_equal(sums, expected)
            np.testing.assert_array_equal(output, target.block)
    expect(output, target, requantization(acc))


@settings(max_examples=120)
@given(depthwise_calls, margins, margins, st.integers(0, 255), forms, seeds)
def test_depthwise(
    harness: Harness,
    call: tuple[str, Geometry],
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    pad_value: int,
    form: str,
    seed: int,
) -> None:
    kernel, geometry = call
    rng = np.random.default_rng(seed)
    source = embed(random_input(rng, geometry), before)
    target = empty_output(geometry, behind)
    weights = random_weights(rng, (geometry.channels_out, *geometry.filter))
    acc = depthwise_conv2d(source.tile, weights, geometry, pad_value)
    requantization = requantization_of(rng, acc, form)
    output = harness.kernel(
        kernel_of(f"match_pulp_{kernel}", requantization),
        fields_of(geometry, source, target, requantization, pad_value),
        input=source.block,
        weights=weights.view(np.uint8),
        parameters=requantization.packed(),
        output=target.block,
        scratch=SCRATCHES[kernel](geometry, CORES),
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
    )
    expect(output, target, requantization(acc))


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


@EXAMPLES
@given(pointwise, margins, margins, margins, clips, st.booleans(), shared_parts, seeds)
def test_add(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    beside: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    clip: tuple[int, int],
    narrow: bool,
    shared: str,
    seed: int,
) -> None:
    add_on(harness, geometry, (before, beside, behind), clip, narrow, seed, shared=shared)


def operand_shapes(shape: tuple[int, int, int], shared: str) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Of two inputs, of which one has one pixel or channel for all, both or none."""
    pixel, channel = (1, 1, shape[2]), (*shape[:2], 1)
    return {"": (shape, shape), "pixel": (shape, pixel), "channel": (shape, channel), "outer": (pixel, channel)}[shared]


def laid_out(
    rng: np.random.Generator, geometry: Geometry, shared: str, gaps: Sequence[tuple[int, int, int, int]]
) -> tuple[Geometry, View, View, View]:
    """The geometry of an operator of two inputs, both inputs with random bytes, and room for the output."""
    shapes = operand_shapes((*geometry.output, geometry.channels_out), shared)
    first, second = (
        embed(rng.integers(0, 256, own, np.uint8), margin) for own, margin in zip(shapes, gaps, strict=False)
    )
    geometry = replace(geometry, channels_in=second.tile.shape[2])
    return geometry, first, second, empty_output(geometry, gaps[2])


def met_strides(first: View, second: View) -> dict[str, int]:
    """Strides of two inputs, 0 for one of a single pixel."""
    strides: dict[str, int] = {}
    for name, view in (("input", first), ("addend", second)):
        one_pixel = view.tile.shape[:2] == (1, 1)
        strides[f"{name}_row_stride"] = 0 if one_pixel else view.row_stride
        strides[f"{name}_pixel_stride"] = 0 if one_pixel else view.pixel_stride
    return strides


def add_on(
    harness: Harness,
    geometry: Geometry,
    margin: tuple[tuple[int, int, int, int], ...],
    clip: tuple[int, int],
    narrow: bool,
    seed: int,
    *,
    shared: str = "",
) -> None:
    """An addition with sums of 32 bits or more, compared; margins of input, addend and output.

    The addend has the same shape, or one pixel or channel for all.
    """
    rng = np.random.default_rng(seed)
    geometry, first, second, target = laid_out(rng, geometry, shared, margin)
    shift = int(rng.integers(0, 20 if narrow else 31))
    multipliers = rng.integers(-(2**31), 2**31, 2) >> (30 - shift)
    bias = int(rng.integers(-(2**10), 2**10)) << shift
    total = first.tile * multipliers[0] + second.tile * multipliers[1] + bias
    parameters = struct.pack("<4i" if narrow else "<q3i4x", bias, *multipliers.tolist(), shift)
    output = harness.kernel(
        "match_pulp_add_int32" if narrow else "match_pulp_add",
        geometry.fields(
            **met_strides(first, second),
            **output_strides_of(target),
            clip_low=clip[0],
            clip_high=clip[1],
        ),
        input=first.block,
        addend=second.block,
        parameters=np.frombuffer(parameters, np.uint8),
        output=target.block,
    )
    expect(output, target, np.clip(total >> shift, *clip).astype(np.uint8))


@EXAMPLES
@given(geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), channelwise=True), margins, margins, seeds)
def test_lookup(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    seed: int,
) -> None:
    """Also without gaps between pixels, on one side or both."""
    rng = np.random.default_rng(seed)
    source = embed(rng.integers(0, 256, (*geometry.output, geometry.channels_out), np.uint8), before)
    target = empty_output(geometry, behind)
    table = rng.integers(0, 256, 256, np.uint8)
    output = lookup_on(harness, geometry, source, target, table)
    expect(output, target, table[source.tile])


@EXAMPLES
@given(pointwise, margins, margins, seeds)
def test_channel_lookup(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    seed: int,
) -> None:
    """Each channel through a table of its own."""
    rng = np.random.default_rng(seed)
    source = embed(rng.integers(0, 256, (*geometry.output, geometry.channels_out), np.uint8), before)
    target = empty_output(geometry, behind)
    tables = rng.integers(0, 256, (geometry.channels_out, 256), np.uint8)
    output = harness.kernel(
        "match_pulp_channel_lookup",
        geometry.fields(**strides_of(source), **output_strides_of(target), clip_low=5, clip_high=7),
        input=source.block,
        parameters=tables.reshape(-1),
        output=target.block,
    )
    expect(output, target, tables[np.arange(geometry.channels_out), source.tile])


def lookup_on(harness: Harness, geometry: Geometry, source: View, target: View, table: Bytes) -> Bytes:
    """A tile through a table; the clip of other operators means nothing to it."""
    return harness.kernel(
        "match_pulp_lookup",
        geometry.fields(**strides_of(source), **output_strides_of(target), clip_low=5, clip_high=7),
        input=source.block,
        parameters=table,
        output=target.block,
    )


@EXAMPLES
@given(
    geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), channelwise=True),
    margins,
    margins,
    st.sampled_from((0, -128)),
    st.just((1 << 30, 0)) | st.tuples(st.integers(1 << 29, 1 << 30), st.integers(-2, 8)),
    seeds,
)
def test_softmax(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    lowest: int,
    steps: tuple[int, int],
    seed: int,
) -> None:
    """Of each pixel's channels, to numbers with and without a sign in steps of 1/256 and others."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 256, (*geometry.output, geometry.channels_out), np.uint8)
    source = embed(values, before)
    target = empty_output(geometry, behind)
    falling = np.exp(-rng.uniform(0.001, 1) * np.arange(256)) * 2**31
    exponentials = np.minimum(falling, 2**31 - 1).astype(np.int64)
    zero = lowest + int(rng.integers(0, 3))
    parameters = np.concatenate([[steps[0], 22 - steps[1], zero], exponentials])
    output = harness.kernel(
        "match_pulp_softmax",
        geometry.fields(**strides_of(source), **output_strides_of(target), clip_low=lowest, clip_high=lowest + 255),
        input=source.block,
        parameters=parameters.astype("<i4").view(np.uint8),
        output=target.block,
    )
    rows = [softmax_of(row, exponentials, zero, *steps) for row in values.reshape(-1, geometry.channels_out)]
    expected = np.minimum(np.array(rows), lowest + 255)
    expect(output, target, expected.reshape(values.shape).astype(np.uint8))


@EXAMPLES
@given(
    pointwise,
    st.integers(1, 70) | st.just(2048),
    st.none() | st.sampled_from(((1, 1), (1, 2), (3, 1))),
    st.none() | st.integers(0, 255),
    margins,
    margins,
    clips,
    wide_forms,
    seeds,
)
def test_normalize(
    harness: Harness,
    geometry: Geometry,
    channels: int,
    few: tuple[int, int] | None,
    centre: int | None,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    clip: tuple[int, int],
    form: str,
    seed: int,
) -> None:
    """Of each pixel's channels, which differ much, little or not at all; the accumulators are what they ought to be.

    Of few pixels cores share out the channels.
    """
    rng = np.random.default_rng(seed)
    output = few or geometry.output if channels < 2048 else (1, 1)  # more would not fit the harness
    geometry = replace(geometry, channels_in=channels, channels_out=channels, output=output)
    shape = (*geometry.output, channels)
    wide = rng.integers(0, 256, (*geometry.output, 1))
    values = rng.integers(0, wide + 1, shape).astype(np.uint8)
    source = embed(values, before)
    target = empty_output(geometry, behind)
    largest = 64 if form == "int32" else 8192  # whose products fit
    gains = rng.integers(-largest, largest + 1, channels)
    spread = int(rng.integers(1, 2 ** int(rng.integers(1, 44))))
    acc = np.array([normalized(row, spread, gains, centre) for row in values.reshape(-1, channels).astype(np.int64)])
    rows = values.reshape(-1, channels).astype(np.float64)
    real = rows - (rows.mean(axis=1, keepdims=True) if centre is None else centre)
    real /= np.sqrt(np.square(real).mean(axis=1, keepdims=True) + spread / 256 / channels**2)
    assert np.all(np.abs(acc - real * gains * 4096) <= np.abs(gains) * (1 + np.abs(real) * 4096 / 2**19))
    requantization = requantization_of(rng, acc, form, clip)
    constants = np.array([spread], "<i8"), np.array([-1 if centre is None else centre], "<i4"), gains.astype("<i2")
    output = harness.kernel(
        kernel_of("match_pulp_normalize", requantization),
        fields_of(geometry, source, target, requantization),
        input=source.block,
        weights=np.concatenate([one.view(np.uint8) for one in constants]),
        parameters=requantization.packed(),
        output=target.block,
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
    )
    expect(output, target, requantization(acc).reshape(shape))


@EXAMPLES
@given(
    st.sampled_from([("lstm", Lstm), ("gru", Gru), ("gru_reset_first", GruResetFirst)]),
    st.tuples(st.integers(1, 7), st.integers(1, 3), st.integers(1, 21), st.integers(1, 21)),
    margins,
    margins,
    st.sampled_from([(0, 255), (3, 200)]),
    seeds,
)
def test_recurrent(
    harness: Harness,
    cell: tuple[str, type[Lstm | Gru]],
    sizes: tuple[int, int, int, int],
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    clip: tuple[int, int],
    seed: int,
) -> None:
    """Of steps, sequences, features and units."""
    steps, sequences, features, units = sizes
    rng = np.random.default_rng(seed)
    geometry = Geometry(features, units, (steps, sequences), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    source, target = embed(random_input(rng, geometry), before), empty_output(geometry, behind)
    name, kind = cell
    layer = kind.random(rng, features, units)
    weights, parameters = layer.packed()
    output = harness.kernel(
        f"match_pulp_{name}",
        geometry.fields(**strides_of(source), **output_strides_of(target), clip_low=clip[0], clip_high=clip[1]),
        input=source.block,
        weights=weights,
        parameters=parameters,
        output=target.block,
        scratch=align4((5 if name == "gru_reset_first" else 2) * sequences * units),
    )
    expect(output, target, layer(source.tile.astype(np.int64), clip).astype(np.uint8))


@EXAMPLES
@given(geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), channelwise=True), margins, margins, seeds)
def test_resize(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    seed: int,
) -> None:
    """From maps of another size, larger or smaller; halves go away from any number, which others are near to."""
    rng = np.random.default_rng(seed)
    size = [int(extent) for extent in rng.integers(1, 9, 2)]
    zero = int(rng.integers(0, 256))
    near = zero + rng.integers(-2, 3, (*size, geometry.channels_out))
    far = rng.integers(0, 256, near.shape)
    source = embed(np.where(rng.random(near.shape) < 0.7, near.clip(0, 255), far).astype(np.uint8), before)
    target = empty_output(geometry, behind)
    rows, columns = (random_positions(rng, *extents) for extents in zip(size, geometry.output, strict=True))
    output = harness.kernel(
        "match_pulp_resize",
        geometry.fields(**strides_of(source), **output_strides_of(target), pad_value=zero),
        input=source.block,
        parameters=packed_positions(rows),
        weights=packed_positions(columns),
        output=target.block,
    )
    expect(output, target, resized(source.tile, rows, columns, zero))


@EXAMPLES
@given(geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), channelwise=True), margins, margins, seeds)
def test_gather(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    seed: int,
) -> None:
    """Columns in any order, in pieces that follow one another, and padding, of more or fewer columns."""
    rng = np.random.default_rng(seed)
    rows, columns = geometry.output
    size, zero = int(rng.integers(1, 9)), int(rng.integers(0, 256))
    values = rng.integers(0, 256, (rows, size, geometry.channels_out), np.uint8)
    source, target = embed(values, before), empty_output(geometry, behind)
    chosen = random_columns(rng, size, columns)
    output = harness.kernel(
        "match_pulp_gather",
        geometry.fields(**strides_of(source), **output_strides_of(target), pad_value=zero),
        input=source.block,
        parameters=chosen.view(np.uint8),
        output=target.block,
    )
    expect(output, target, np.where(chosen[:, None] < 0, np.uint8(zero), values[:, chosen]))


@EXAMPLES
@given(pointwise, st.tuples(margins, margins, margins), shared_parts, clips, forms, seeds)
def test_multiply(
    harness: Harness,
    geometry: Geometry,
    gaps: Gaps,
    shared: str,
    clip: tuple[int, int],
    form: str,
    seed: int,
) -> None:
    """Of inputs of one shape, or of a single pixel or channel."""
    zero_points = np.random.default_rng(seed).integers(0, 256, 2)
    levels = np.arange(256) - zero_points[:, None]
    weights = zero_points.astype("<i4").view(np.uint8)
    combine_on(harness, "multiply", geometry, gaps, shared, (levels, weights, np.multiply), clip, form, seed)


def test_every_kernel_is_in_the_harness() -> None:
    """What match_pulp.h declares can be called, so that a test here can compare it with NumPy."""
    kernels = (PROJECT / "kernels" / "pulp" / "match_pulp.h").read_text()
    declared = set(re.findall(r"^void (match_pulp_\w+)\(const match_tile_t", kernels, re.MULTILINE))
    listed = set(re.findall(r'{"(match_pulp_\w+)",', (PROJECT / "tests" / "kernels" / "harness.c").read_text()))
    assert declared == listed, "list it in tests/kernels/harness.c, and write a test beside this one"


@EXAMPLES
@given(pointwise, st.tuples(margins, margins, margins), shared_parts, clips, wide_forms, seeds)
def test_squared_difference(
    harness: Harness,
    geometry: Geometry,
    gaps: Gaps,
    shared: str,
    clip: tuple[int, int],
    form: str,
    seed: int,
) -> None:
    """The same, each input through a table."""
    steps = np.random.default_rng(seed).integers(-(2**14), 2**14, (2, 256))
    weights = steps.astype("<i2").view(np.uint8).reshape(-1)
    squares = (steps, weights, lambda a, b: (a - b) ** 2)
    combine_on(harness, "squared_difference", geometry, gaps, shared, squares, clip, form, seed)


@EXAMPLES
@given(pointwise, st.tuples(margins, margins, margins), shared_parts, clips, seeds)
def test_lookup_sum(
    harness: Harness, geometry: Geometry, gaps: Gaps, shared: str, clip: tuple[int, int], seed: int
) -> None:
    """Each input through a table of 32 bits, whose sums are rounded down and clipped."""
    sum_on(harness, "lookup_sum", geometry, gaps, shared, lambda sums: sums, clip, seed)


@EXAMPLES
@given(pointwise, st.tuples(margins, margins, margins), shared_parts, clips, seeds)
def test_absolute_difference(
    harness: Harness, geometry: Geometry, gaps: Gaps, shared: str, clip: tuple[int, int], seed: int
) -> None:
    """The same sums without their signs, from the lowest output on."""
    sum_on(harness, "absolute_difference", geometry, gaps, shared, lambda sums: clip[0] + np.abs(sums), clip, seed)


def sum_on(
    harness: Harness,
    kernel: str,
    geometry: Geometry,
    gaps: Gaps,
    shared: str,
    outputs: Callable[[Ints], Ints],
    clip: tuple[int, int],
    seed: int,
) -> None:
    """A kernel on two inputs and a table of each, compared; `outputs` are those of sums, before they are clipped."""
    rng = np.random.default_rng(seed)
    geometry, first, second, target = laid_out(rng, geometry, shared, gaps)
    bits = int(rng.integers(20, 30))
    tables = rng.integers(-(1 << bits), 1 << bits, (2, 256))
    output = harness.kernel(
        f"match_pulp_{kernel}",
        replace(
            geometry.fields(**strides_of(first), **output_strides_of(target), clip_low=clip[0], clip_high=clip[1]),
            **met_strides(first, second),
        ),
        input=first.block,
        addend=second.block,
        parameters=tables.astype("<i4").view(np.uint8).reshape(-1),
        output=target.block,
    )
    sums = tables[0][first.tile] + tables[1][second.tile]
    expect(output, target, np.clip(outputs(sums >> 20), *clip).astype(np.uint8))


def combine_on(
    harness: Harness,
    kernel: str,
    geometry: Geometry,
    gaps: Gaps,
    shared: str,
    combination: tuple[Ints, Bytes, Callable[[Ints, Ints], Ints]],
    clip: tuple[int, int],
    form: str,
    seed: int,
) -> None:
    """Two inputs combined, element by element, and compared.

    `combination` is the number that each byte of either input stands for, shape (2, 256), the kernel's weights, and
    what is made of two numbers: the accumulator, which one channel's parameters requantize.
    """
    rng = np.random.default_rng(seed)
    geometry, first, second, target = laid_out(rng, geometry, shared, gaps)
    numbers, weights, combined = combination
    acc = combined(numbers[0][first.tile], numbers[1][second.tile]).astype(np.int64)
    requantization = requantization_of(rng, acc.reshape(-1, 1), form, clip)
    output = harness.kernel(
        kernel_of(f"match_pulp_{kernel}", requantization),
        replace(fields_of(geometry, first, target, requantization), **met_strides(first, second)),
        input=first.block,
        addend=second.block,
        weights=weights,
        parameters=requantization.packed(),
        output=target.block,
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
    )
    expect(output, target, requantization(acc.reshape(-1, 1)).reshape(acc.shape))


@EXAMPLES
@given(pointwise, margins, margins, margins, seeds)
def test_concatenate(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    beside: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    seed: int,
) -> None:
    """Each input through its own table."""
    rng = np.random.default_rng(seed)
    second_channels = geometry.channels_out
    geometry = replace(geometry, channels_out=geometry.channels_in + second_channels)
    first = embed(rng.integers(0, 256, (*geometry.output, geometry.channels_in), np.uint8), before)
    second = embed(rng.integers(0, 256, (*geometry.output, second_channels), np.uint8), beside)
    target = empty_output(geometry, behind)
    tables = rng.integers(0, 256, (2, 256), np.uint8)
    output = harness.kernel(
        "match_pulp_concatenate",
        replace(
            geometry.fields(**strides_of(first), **output_strides_of(target)),
            addend_row_stride=second.row_stride,
            addend_pixel_stride=second.pixel_stride,
        ),
        input=first.block,
        addend=second.block,
        parameters=tables.reshape(-1),
        output=target.block,
    )
    expect(output, target, np.concatenate([tables[0][first.tile], tables[1][second.tile]], axis=2))


def transpose_on(
    harness: Harness,
    geometry: Geometry,
    margins: tuple[tuple[int, int, int, int], tuple[int, int, int, int]],
    unit: int,
    rng: np.random.Generator,
) -> None:
    """With margins around the input and the output."""
    rows, columns = geometry.output
    before, behind = margins
    gaps = (*before[:2], before[2] * unit, before[3] * unit)
    source = embed(rng.integers(0, 256, (rows, geometry.channels_out, columns * unit), np.uint8), gaps)
    target = empty_output(
        replace(geometry, channels_out=geometry.channels_out * unit), (*behind[:2], 0, behind[3] * unit)
    )
    output = harness.kernel(
        "match_pulp_transpose",
        replace(
            geometry.fields(
                output_row_stride=target.row_stride // unit,
                output_pixel_stride=target.pixel_stride // unit,
                input_row_stride=source.row_stride // unit,
                input_pixel_stride=1,
            ),
            channels_in=unit,
        ),
        input=source.block,
        output=target.block,
        input_channel_stride=source.pixel_stride // unit,
    )
    elements = source.tile.reshape(rows, geometry.channels_out, columns, unit)
    expect(output, target, elements.transpose(0, 2, 1, 3).reshape(rows, columns, -1))


@EXAMPLES
@given(pointwise, margins, margins, st.one_of(st.just(1), st.integers(2, 21)), seeds)
def test_transpose(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    unit: int,
    seed: int,
) -> None:
    """From (rows, channels, columns), with gaps, to (rows, columns, channels), of elements of some bytes."""
    transpose_on(harness, geometry, (before, behind), unit, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("channels", "size"), [(1, (1, 1)), (3, (1, 50)), (3, (5, 9)), (23, (1, 7)), (100, (2, 2)), (9, (3, 37))]
)
def test_transpositions_on_any_number_of_cores(
    harness_for: Callable[[int], Harness], channels: int, size: tuple[int, int]
) -> None:
    """Cores share out fours of pixels of a row, or of channels."""
    geometry = Geometry(1, channels, size, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    for cores in (1, 2, 4, 8):
        for margin in ((0, 0, 0, 0), (1, 2, 0, 3)):
            transpose_on(harness_for(cores), geometry, (margin, margin), 1, np.random.default_rng(5))


@pytest.mark.parametrize("gaps", [(0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 2)])
def test_elements_are_shared_out(harness_for: Callable[[int], Harness], gaps: tuple[int, int, int, int]) -> None:
    """Fewer pixels than cores, and numbers that no number of cores divides."""
    rng = np.random.default_rng(9)
    table = rng.integers(0, 256, 256, np.uint8)
    for height, width, channels in ((1, 1, 1), (1, 1, 21), (3, 1, 5), (5, 7, 3)):
        geometry = Geometry(channels, channels, (height, width), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
        source, target = embed(random_input(rng, geometry), gaps), empty_output(geometry, gaps)
        for cores in (1, 2, 4, 8):
            output = lookup_on(harness_for(cores), geometry, source, target, table)
            expect(output, target, table[source.tile])
            add_on(harness_for(cores), geometry, (gaps, (0, 0, 0, 0), gaps), (0, 255), True, 3)


@pytest.mark.parametrize("other", [None, 0, 127, 128, 255])
def test_table_that_turns_signs(harness: Harness, other: int | None) -> None:
    """Enough elements for each core that the table is compared; and tables that differ from it in one byte."""
    rng = np.random.default_rng(4)
    geometry = Geometry(9, 9, (16, 17), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    table = np.arange(256, dtype=np.uint8) ^ np.uint8(0x80)
    if other is not None:
        table[other] ^= 1
    for gaps in ((0, 0, 0, 0), (0, 0, 0, 2)):
        source, target = embed(random_input(rng, geometry), gaps), empty_output(geometry, gaps)
        expect(lookup_on(harness, geometry, source, target, table), target, table[source.tile])


def test_table_of_255_bytes_is_too_short(harness: Harness) -> None:
    geometry = Geometry(3, 3, (2, 2), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    source = embed(np.full((2, 2, 3), 255, np.uint8), (0, 0, 0, 0))
    target = empty_output(geometry, (0, 0, 0, 0))
    lookup_on(harness, geometry, source, target, np.arange(256, dtype=np.uint8))
    with pytest.raises(HarnessError, match="AddressSanitizer: use-after-poison"):
        lookup_on(harness, geometry, source, target, np.arange(255, dtype=np.uint8))


def embed_words(words: np.ndarray[tuple[int, ...], np.dtype[np.float32]], margins: tuple[int, int, int, int]) -> View:
    """An HWC array of float32 in a block with `margins`; strides of the view count bytes."""
    left, right, front, back = margins
    height, width, channels = words.shape
    return embed(words.view(np.uint8).reshape(height, width, 4 * channels), (left, right, 4 * front, 4 * back))


def in_words(strides: dict[str, int]) -> dict[str, int]:
    """As a tile has those of elements of four bytes."""
    return {name: stride // 4 for name, stride in strides.items()}


def numbers_near(rng: np.random.Generator, shape: tuple[int, ...], scale: np.float32) -> Reals:
    """Where outputs change, a few last bits to either side; everywhere else; and what is far out."""
    with np.errstate(over="ignore"):
        steps = ((rng.integers(-300, 301, shape) + 0.5) * np.float64(scale)).astype(np.float32)
        between = (rng.uniform(-300, 300, shape) * np.float64(scale)).astype(np.float32)
    near = (steps.view(np.int32) + rng.integers(-3, 4, shape).astype(np.int32)).view(np.float32)
    bits = rng.integers(0, 2**32, shape, np.uint64).astype(np.uint32).view(np.float32)
    special = rng.choice(np.array([0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 3.4e38, -3.4e38], np.float32), shape)
    chosen = np.choose(rng.integers(0, 4, shape), [near, between, np.where(np.isnan(bits), 0, bits), special])
    return chosen.astype(np.float32)


def quantize_on(
    harness: Harness, x: Reals, margins: tuple[tuple[int, int, int, int], ...], function: FloatQuantization
) -> None:
    """A tile of numbers as 8 bits, against float32 arithmetic as the references have it."""
    source, (height, width, channels) = embed_words(x, margins[0]), x.shape
    geometry = Geometry(channels, channels, (height, width), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    target = empty_output(geometry, margins[1])
    output = harness.kernel(
        "match_pulp_quantize",
        geometry.fields(**in_words(strides_of(source)), **output_strides_of(target)),
        input=source.block,
        parameters=np.frombuffer(quantization(function), np.uint8),
        output=target.block,
    )
    with np.errstate(over="ignore"):
        quotient = (x / function.scale).astype(np.float32).astype(np.float64)
    rounded = np.rint(quotient) if function.half_to_even else np.trunc(quotient + np.copysign(0.5, quotient))
    low, high = (0, 255) if function.dtype == "uint8" else (-128, 127)
    expect(output, target, np.clip(rounded + function.zero_point, low, high).astype(np.int64).astype(np.uint8))


@EXAMPLES
@given(
    geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), channelwise=True),
    margins,
    margins,
    st.one_of(st.floats(1e-4, 10.0), st.floats(2.0**-99, 2.0**99), st.integers(-99, 98).map(lambda power: 2.0**power)),
    st.integers(0, 255),
    st.booleans(),
    st.booleans(),
    seeds,
)
def test_quantize(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    scale: float,
    zero: int,
    signed: bool,
    half_to_even: bool,
    seed: int,
) -> None:
    """Every number at or next to a step, any scale, both ways to round."""
    dtype, zero_point = ("int8", zero - 128) if signed else ("uint8", zero)
    function = FloatQuantization(np.float32(scale), zero_point, dtype, half_to_even)
    shape = (*geometry.output, geometry.channels_out)
    numbers = numbers_near(np.random.default_rng(seed), shape, function.scale)
    quantize_on(harness, numbers, (before, behind), function)


@EXAMPLES
@given(geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), channelwise=True), margins, margins, seeds)
def test_dequantize(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    dequantize_on(harness, random_input(rng, replace(geometry, filter=(1, 1))), (before, behind), rng)


def dequantize_on(
    harness: Harness, x: Bytes, margins: tuple[tuple[int, int, int, int], ...], rng: np.random.Generator
) -> None:
    """A tile through a table of float32."""
    source, (height, width, channels) = embed(x, margins[0]), x.shape
    geometry = Geometry(channels, channels, (height, width), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    target = embed_words(np.zeros(x.shape, np.float32), margins[1])
    table = rng.normal(size=256).astype(np.float32)
    output = harness.kernel(
        "match_pulp_dequantize",
        geometry.fields(**strides_of(source), **in_words(output_strides_of(target))),
        input=source.block,
        parameters=table.view(np.uint8),
        output=target.block,
    )
    expect(output, target, table[x].view(np.uint8).reshape(target.tile.shape))


@pytest.mark.parametrize("gaps", [(0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 2)])
def test_numbers_on_any_number_of_cores(harness_for: Callable[[int], Harness], gaps: tuple[int, int, int, int]) -> None:
    rng = np.random.default_rng(8)
    function = FloatQuantization(np.float32(0.0371), -3, "int8", half_to_even=True)
    for shape in ((1, 1, 1), (1, 1, 21), (3, 1, 5), (5, 7, 3)):
        numbers = numbers_near(rng, shape, function.scale)
        for cores in (1, 2, 4, 8):
            quantize_on(harness_for(cores), numbers, (gaps, gaps), function)
            dequantize_on(harness_for(cores), rng.integers(0, 256, shape, np.uint8), (gaps, gaps), rng)


def convolve_on(harness: Harness, geometry: Geometry, kernel: str, scratch: int, form: str) -> Bytes:
    """One tile of a convolution, the same for any number of cores."""
    rng = np.random.default_rng(7)
    channelwise = kernel.startswith("match_pulp_depthwise")
    source = embed(random_input(rng, geometry), (0, 0, 0, 0))
    target = empty_output(geometry, (1, 0, 0, 2))
    shape = (geometry.channels_out, *geometry.filter) + (() if channelwise else (geometry.channels_in,))
    weights = random_weights(rng, shape)
    acc = (depthwise_conv2d if channelwise else conv2d)(source.tile, weights, geometry, 9)
    requantization = requantization_of(rng, acc, form)
    output = harness.kernel(
        kernel_of(kernel, requantization),
        fields_of(geometry, source, target, requantization, 9),
        input=source.block,
        weights=by_columns(weights) if kernel == "match_pulp_conv2d" else weights.view(np.uint8),
        parameters=requantization.packed(),
        output=target.block,
        scratch=scratch,
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
    )
    expect(output, target, requantization(acc))
    return output


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


def pool_on(harness: Harness, geometry: Geometry, form: str) -> Bytes:
    """One tile of average pooling."""
    rng = np.random.default_rng(8)
    source = embed(random_input(rng, geometry), (0, 0, 0, 0))
    target = empty_output(geometry, (0, 0, 0, 0))
    acc: Ints = windows(source.tile, geometry, 3).sum(axis=(2, 3))
    requantization = requantization_of(rng, acc, form)
    output = harness.kernel(
        kernel_of("match_pulp_avg_pool2d", requantization),
        fields_of(geometry, source, target, requantization, 3),
        input=source.block,
        parameters=requantization.packed(),
        output=target.block,
        negative_step=requantization.negative_step,
        lists=requantization.lists(),
    )
    expect(output, target, requantization(acc))
    return output


@pytest.mark.parametrize("short", ["input", "weights", "parameters", "output", "scratch"])
def test_a_byte_too_few_is_caught(harness: Harness, short: str) -> None:
    """The tests above see every access outside a block: each block one byte shorter stops the kernel."""
    geometry = Geometry(3, 5, (8, 64), (3, 3), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    rng = np.random.default_rng(1)
    x = random_input(rng, geometry)
    weights = random_weights(rng, (5, 3, 3, 3))
    requantization = random_requantization(rng, conv2d(x, weights, geometry, 0), step=False)
    arrays = {
        "input": x.reshape(-1),
        "weights": by_columns(weights).reshape(-1),
        "parameters": requantization.packed(),
        "output": np.zeros(8 * 64 * 5, np.uint8),
    }
    scratch = conv2d_scratch(geometry, CORES)
    fields = geometry.fields(input_row_stride=198, input_pixel_stride=3, output_row_stride=320, output_pixel_stride=5)
    harness.kernel("match_pulp_conv2d", fields, **arrays, scratch=scratch)
    if short == "scratch":
        scratch -= 8  # the last of 54 windows ends at byte 504 of 512, and a byte behind it is read
    else:
        arrays[short] = arrays[short][:-1]
    with pytest.raises(HarnessError, match="AddressSanitizer: use-after-poison"):
        harness.kernel("match_pulp_conv2d", fields, **arrays, scratch=scratch)
