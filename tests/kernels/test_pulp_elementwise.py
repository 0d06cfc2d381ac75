"""Operators of two inputs on the cluster, element by element, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.harness import Bytes, Harness
from tests.kernels.pulp_tiles import (
    EXAMPLES,
    Gaps,
    add_on,
    clips,
    expect,
    extremum_on,
    fields_of,
    forms,
    kernel_of,
    laid_out,
    met_strides,
    pointwise,
    seeds,
    shared_parts,
    wide_forms,
)
from tests.kernels.reference import Geometry, Ints, margins, output_strides_of, requantization_of, strides_of

pytestmark = pytest.mark.cc


@pytest.mark.parametrize("form", ["int64", "int32", "split"])
@pytest.mark.parametrize("shared", ["", "pixel", "channel", "outer"])
@settings(max_examples=20)
@given(pointwise, margins, margins, margins, clips, seeds)
def test_add(
    harness: Harness,
    form: str,
    shared: str,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    beside: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    clip: tuple[int, int],
    seed: int,
) -> None:
    add_on(harness, geometry, (before, beside, behind), clip, form, seed, shared=shared)


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
    """Inputs have one shape, or one of them a single pixel or channel."""
    zero_points = np.random.default_rng(seed).integers(0, 256, 2)
    levels = np.arange(256) - zero_points[:, None]
    weights = zero_points.astype("<i4").view(np.uint8)
    combine_on(harness, "multiply", geometry, gaps, shared, (levels, weights, np.multiply), clip, form, seed)


@EXAMPLES
@given(pointwise, st.tuples(margins, margins, margins), st.sampled_from(["pixel", "channel", "outer"]), clips, seeds)
def test_multiply_by_rows(
    harness: Harness, geometry: Geometry, gaps: Gaps, shared: str, clip: tuple[int, int], seed: int
) -> None:
    """By a line for each byte of the second input, whose slope is rounded, as steep as 32 bits hold, and flat ones."""
    rng = np.random.default_rng(seed)
    geometry, first, second, target = laid_out(rng, geometry, shared, gaps)
    zero_points = rng.integers(0, 256, 2)
    shift, highest = int(rng.integers(8, 24)), clip[1] - clip[0]
    multiplier, bias = int(rng.integers(1, 1 << int(rng.integers(2, 31)))), int(rng.integers(0, 256)) << shift
    output = harness.kernel(
        "match_pulp_multiply_rows",
        replace(
            geometry.fields(**strides_of(first), **output_strides_of(target), clip_low=0, clip_high=highest),
            **met_strides(first, second),
        ),
        input=first.block,
        addend=second.block,
        weights=zero_points.astype("<i4").view(np.uint8),
        parameters=np.array([bias, multiplier, shift], "<i4").view(np.uint8),
        output=target.block,
    )
    x, b = (one.tile.astype(np.int64) - zero for one, zero in zip((first, second), zero_points, strict=True))
    sums = x * np.floor(b * multiplier / 2**16 + 0.5).astype(np.int64) + bias
    words = (sums + 2**31) % 2**32 - 2**31
    expect(output, target, np.clip(words >> shift, 0, highest).astype(np.uint8))


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
    """Inputs have one shape, or one of them a single pixel or channel; each passes a table."""
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
    """The sums of `test_lookup_sum` without their signs, from the lowest output on."""
    sum_on(harness, "absolute_difference", geometry, gaps, shared, lambda sums: clip[0] + np.abs(sums), clip, seed)


@pytest.mark.parametrize("kernel", ["maximum", "minimum"])
@EXAMPLES
@given(pointwise, st.tuples(margins, margins, margins), shared_parts, seeds)
def test_extremum(harness: Harness, kernel: str, geometry: Geometry, gaps: Gaps, shared: str, seed: int) -> None:
    """Inputs have one shape, or one of them a single pixel or channel."""
    extremum_on(harness, kernel, geometry, gaps, shared, seed)


@EXAMPLES
@given(pointwise, st.tuples(margins, margins, margins), shared_parts, clips, seeds)
def test_lookup_line(
    harness: Harness, geometry: Geometry, gaps: Gaps, shared: str, clip: tuple[int, int], seed: int
) -> None:
    """Lines of the first input that the second one chooses, as steep as 32 bits hold, and flat ones."""
    rng = np.random.default_rng(seed)
    geometry, first, second, target = laid_out(rng, geometry, shared, gaps)
    steepest = 1 << int(rng.integers(10, 23))
    slopes = rng.integers(-steepest, steepest, 256)
    biases = (int(rng.integers(256)) << 15) - slopes * rng.integers(0, 256, 256)
    output = harness.kernel(
        "match_pulp_lookup_line",
        replace(
            geometry.fields(**strides_of(first), **output_strides_of(target), clip_low=clip[0], clip_high=clip[1]),
            **met_strides(first, second),
        ),
        input=first.block,
        addend=second.block,
        parameters=np.concatenate([slopes, biases]).astype("<i4").view(np.uint8),
        output=target.block,
    )
    lines = first.tile * slopes[second.tile] + biases[second.tile]
    expect(output, target, np.clip(lines >> 15, *clip).astype(np.uint8))


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
