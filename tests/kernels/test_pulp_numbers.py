"""Quantize and dequantize on the cluster, against float32 arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match.ir.float_border import FloatQuantization
from match.target.tile_constants import quantization
from tests.kernels.harness import Bytes, Harness, embed
from tests.kernels.pulp_tiles import EXAMPLES, embed_words, empty_output, expect, in_words, random_input, seeds
from tests.kernels.reference import Geometry, geometries, margins, output_strides_of, strides_of

pytestmark = pytest.mark.cc

Reals = np.ndarray[tuple[int, ...], np.dtype[np.float32]]


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


@EXAMPLES
@given(geometries(filters=st.just((1, 1)), strides=st.just((1, 1)), channelwise=True), margins, margins, seeds)
def test_dequantize_sums(
    harness: Harness,
    geometry: Geometry,
    before: tuple[int, int, int, int],
    behind: tuple[int, int, int, int],
    seed: int,
) -> None:
    sums_on(harness, (*geometry.output, geometry.channels_out), (before, behind), np.random.default_rng(seed))


def sums_on(
    harness: Harness,
    shape: tuple[int, int, int],
    margins: tuple[tuple[int, int, int, int], ...],
    rng: np.random.Generator,
) -> None:
    """Sums with up to 31 bits, of which float32 has 24, on the line of their channel: each operation rounds."""
    sums = rng.integers(-(2**30), 2**30, shape).astype(np.int32) >> rng.integers(0, 31, shape).astype(np.int32)
    height, width, channels = shape
    offset = rng.integers(-5000, 5000, channels)
    scale, bias = rng.uniform(1e-6, 1e-2, channels).astype(np.float32), rng.normal(size=channels).astype(np.float32)
    bias[rng.random(channels) < 0.2] = -0.0
    lines = np.stack([offset.astype("<i4"), scale.view("<i4"), bias.view("<i4")], axis=1)
    geometry = Geometry(channels, channels, (height, width), (1, 1), (1, 1), (1, 1), (0, 0, 0, 0), (0, 0))
    source, target = (
        embed_words(sums.view(np.float32), margins[0]),
        embed_words(np.zeros(shape, np.float32), margins[1]),
    )
    output = harness.kernel(
        "match_pulp_dequantize_sums",
        geometry.fields(**in_words(strides_of(source)), **in_words(output_strides_of(target))),
        input=source.block,
        parameters=lines.view(np.uint8),
        output=target.block,
    )
    expected = (sums + offset.astype(np.int32)).astype(np.float32) * scale + bias
    expect(output, target, expected.view(np.uint8).reshape(target.tile.shape))


@pytest.mark.parametrize("gaps", [(0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 2)])
def test_numbers_on_any_number_of_cores(harness_for: Callable[[int], Harness], gaps: tuple[int, int, int, int]) -> None:
    rng = np.random.default_rng(8)
    function = FloatQuantization(np.float32(0.0371), -3, "int8", half_to_even=True)
    for shape in ((1, 1, 1), (1, 1, 21), (3, 1, 5), (5, 7, 3)):
        numbers = numbers_near(rng, shape, function.scale)
        for cores in (1, 2, 4, 8):
            quantize_on(harness_for(cores), numbers, (gaps, gaps), function)
            dequantize_on(harness_for(cores), rng.integers(0, 256, shape, np.uint8), (gaps, gaps), rng)
            sums_on(harness_for(cores), shape, (gaps, gaps), rng)
