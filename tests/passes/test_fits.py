"""Lines and planes: what is found gives the outputs it was asked for, all of them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match.arithmetic.line_fit import NoLineError, fit_line
from match.arithmetic.plane_fit import fit_lines, fit_plane, fit_tables
from match.ir.step_function import StepFunction

pytestmark = pytest.mark.unit


def steps_of(thresholds, low, high, clip) -> StepFunction:
    one = np.array([thresholds])
    return StepFunction(np.array([low]), np.array([high]), clip, np.clip(one, low, high + 1), np.array([False]))


@settings(max_examples=80)
@given(st.floats(0.001, 3.0), st.floats(-50, 300), st.integers(0, 2**32 - 1), st.integers(0, 255))
def test_line_with_late_steps(slope, offset, seed, late):
    """Steps of a real line, some of them one accumulator late: what rounding in floating point does."""
    rng = np.random.default_rng(seed)
    levels = np.arange(-10, 270)
    exact = [math.ceil((level - Fraction(offset)) / Fraction(slope)) for level in levels.tolist()]
    thresholds = np.array(exact)  # in floating point, steps where a level is met exactly would be early or late
    gaps = np.diff(thresholds, append=thresholds[-1])
    thresholds = thresholds + ((rng.integers(0, 256, len(levels)) < late) & (gaps > 1))
    low, high = int(thresholds[0]), int(thresholds[-1]) - 1
    line = fit_line(steps_of(thresholds[11:-14], low, high, (0, 255)), np.array([slope]))
    accumulators = np.arange(low, high + 1)
    expected = np.clip(np.searchsorted(thresholds, accumulators, side="right") - 11, 0, 255)
    np.testing.assert_array_equal(line(accumulators[:, None])[:, 0], expected)
    assert 0 <= line.multiplier[0] < 2**31
    if late == 0:
        assert line.exceptions is None


def test_constant_channels():
    steps = steps_of([-(10**6)] * 9 + [10**6] * 246, -100, 100, (0, 255))
    line = fit_line(steps, np.array([0.5]))
    assert (line.multiplier[0], line.bias[0], line.shift[0]) == (0, 9, 0)


def test_an_output_of_one_value():
    """An activation that leaves nothing but the zero point: no level to step to."""
    line = fit_line(
        StepFunction(np.array([-9]), np.array([9]), (127, 127), np.zeros((1, 0), np.int64), np.array([False])),
        np.array([0.5]),
    )
    assert (line.multiplier[0], line.bias[0], line.shift[0]) == (0, 127, 0)


def test_steps_that_no_line_is_near():
    thresholds = np.arange(255) ** 2
    with pytest.raises(NoLineError):
        fit_line(steps_of(thresholds, 0, 255**2 + 10, (0, 255)), np.array([1 / 255]))


@settings(max_examples=25)
@given(st.integers(2**19, 2**23), st.integers(-(2**23), 2**23), st.integers(-100 * 2**22, 300 * 2**22))
def test_plane(first, second, bias):
    a, b = np.arange(256), np.arange(-128, 128)
    outputs = np.clip((a[:, None] * first + b[None, :] * second + bias) >> 22, 0, 255)
    plane = fit_plane(outputs, a, b, (first / 2**22, second / 2**22), (0, 255))
    assert plane is not None
    total = a[:, None] * plane.multipliers[0] + b[None, :] * plane.multipliers[1] + plane.bias
    np.testing.assert_array_equal(np.clip(total >> plane.shift, 0, 255), outputs)


def test_no_plane():
    outputs = np.random.default_rng(0).integers(0, 256, (256, 256))
    assert fit_plane(outputs, np.arange(256), np.arange(256), (0.5, 0.5), (0, 255)) is None


def rounded_sums(scales, zero_points, clip=(0, 255)):
    """A quantized addition in float32, for all pairs of uint8 values, and what a step of each is worth."""
    (sa, sb, so), (za, zb, zo), levels = scales, zero_points, np.arange(256, dtype=np.float32)
    first = (levels - np.float32(za)) * np.float32(sa)
    second = (levels - np.float32(zb)) * np.float32(sb)
    total = np.add.outer(first, second) / np.float32(so)
    return np.clip(np.rint(total).astype(np.int64) + zo, *clip), (sa / so, sb / so)


FLAWED = [((0.076312, 0.19213, 0.20383), (76, 241, 154)), ((0.042271, 0.089527, 0.074374), (214, 47, 22))]
"""Scales and zero points of additions that float32 rounds so that no plane has their outputs."""


@pytest.mark.parametrize(("scales", "zero_points"), FLAWED)
@pytest.mark.parametrize("clip", [(0, 255), (13, 200)])
def test_tables_where_there_is_no_plane(scales, zero_points, clip):
    outputs, slopes = rounded_sums(scales, zero_points, clip)
    levels = np.arange(256)
    assert fit_plane(outputs, levels, levels, slopes, clip) is None
    tables = fit_tables(outputs, levels, levels, slopes, clip)
    assert tables is not None
    np.testing.assert_array_equal(np.clip(np.add.outer(*tables) >> 20, *clip), outputs)
    assert np.abs(np.add.outer(*tables)).max() < 2**31


@settings(max_examples=40)
@given(st.floats(0.003, 0.3), st.floats(0.25, 4), st.floats(0.7, 1.5), st.integers(0, 2**32 - 1))
def test_tables_of_any_addition(scale, other, spread, seed):
    """Tables are those of the outputs where there are some; an addition with rounding of its own nearly always has."""
    zero_points = np.random.default_rng(seed).integers(0, 256, 3).tolist()
    scales = scale, scale * other, math.hypot(scale, scale * other) * spread
    outputs, slopes = rounded_sums(scales, zero_points)
    tables = fit_tables(outputs, np.arange(256), np.arange(256), slopes, (0, 255))
    if tables is not None:
        np.testing.assert_array_equal(np.clip(np.add.outer(*tables) >> 20, 0, 255), outputs)


def test_no_tables():
    """Outputs that are no sum have none, nor has one whose sums 32 bits do not hold."""
    levels = np.arange(256)
    outputs = np.random.default_rng(0).integers(0, 256, (256, 256))
    assert fit_tables(outputs, levels, levels, (0.5, 0.5), (0, 255)) is None
    steep = np.clip(np.add.outer(levels, levels) * 10, 0, 255)
    assert fit_tables(steep, levels, levels, (10, 10), (0, 255)) is None


@pytest.mark.parametrize(("slope", "offset"), [(9, -1100), (7.625, 20)])
def test_tables_fit_32_bits(slope, offset):
    """Not where a table alone is wider than its sums, nor where sums are too wide once outputs are 128 more."""
    levels = np.arange(256)
    outputs = np.clip(np.floor(np.add.outer(slope * levels, levels / 8) + offset), 0, 255).astype(np.int64)
    assert fit_tables(outputs, levels, levels, (slope, 1 / 8), (0, 255)) is None


@pytest.mark.parametrize("first", [0, -128])
def test_lines_are_found_again(first: int) -> None:
    """Lines of any signs, as steep as a step from the lowest output to the highest, are rounded down and clipped."""
    rng = np.random.default_rng(4)
    levels, clip = np.arange(first, first + 256), (first + 3, first + 250)
    slopes = rng.choice([-1, 1], 256) * np.rint(np.exp(rng.uniform(0, np.log(255 << 15), 256))).astype(np.int64)
    biases = (rng.integers(first, first + 256, 256) << 15) - slopes * rng.integers(first, first + 256, 256)
    outputs = ((levels[:, None] * slopes + biases) >> 15).clip(*clip)
    lines = fit_lines(outputs, levels, clip)
    assert lines is not None
    sums = levels[:, None] * lines[0] + lines[1]
    np.testing.assert_array_equal((sums >> 15).clip(*clip), outputs)
    for numbers in (lines[1], levels[:, None] * lines[0], sums, sums + ((128 << 15) - 1)):
        assert np.abs(numbers).max() < 1 << 31


def test_one_output_that_is_not_on_its_line_is_noticed() -> None:
    levels = np.arange(256)
    outputs = np.clip(np.rint(levels[:, None] / (1.1 + levels)), 0, 255).astype(np.int64)
    assert fit_lines(outputs, levels, (0, 255)) is not None
    outputs[100, 3] += 1
    assert fit_lines(outputs, levels, (0, 255)) is None


@pytest.mark.parametrize("clip", [(0, 255), (100, 255)])
@pytest.mark.parametrize(
    ("first", "second", "zero_point"), [(0.5, 0.5, 0), (0.25, 1.0, 128), (0.125, -0.25, 96), (1.5, 0.75, 10)]
)
def test_halves_of_sums_go_to_even_outputs(first, second, zero_point, clip):
    a, b = np.arange(256), np.arange(-128, 128)
    total = np.add.outer(first * (a - 128), second * b)
    outputs = np.clip(np.rint(total).astype(np.int64) + zero_point, *clip)
    plane = fit_plane(outputs, a, b, (first, second), clip)
    assert plane is not None
    assert plane.ties_to_even
    sums = a[:, None] * plane.multipliers[0] + b[None, :] * plane.multipliers[1] + plane.bias
    real = (sums - (1 << plane.shift - 1)) / (1 << plane.shift)
    np.testing.assert_array_equal(np.clip(np.rint(real), *clip), outputs)


def test_an_odd_zero_point_turns_the_halves():
    """Halves go to odd outputs then, which no mark says."""
    a, b = np.arange(256), np.arange(-128, 128)
    outputs = np.clip(np.rint(np.add.outer(a / 2, b / 2)).astype(np.int64) + 3, 0, 255)
    assert fit_plane(outputs, a, b, (0.5, 0.5), (0, 255)) is None


@pytest.mark.parametrize("zero_point", [0, 128, 77])
@pytest.mark.parametrize("shift", [1, 4, 11])
def test_halves_of_powers_of_two_need_no_exceptions(shift, zero_point):
    """Nor does a channel beside them with another slope; an odd zero point has exceptions."""
    low, high = -(150 << shift), 150 << shift
    accumulators = np.arange(low, high + 1)
    outputs = np.clip(np.rint(accumulators / 2.0**shift).astype(np.int64) + zero_point, 0, 255)
    other = np.clip(np.floor(accumulators / (3.1 * 2.0**shift) + 100.4).astype(np.int64), 0, 255)
    thresholds = [low + np.searchsorted(values, np.arange(1, 256)) for values in (outputs, other)]
    ends = np.array([low, low]), np.array([high, high])
    steps = StepFunction(*ends, (0, 255), np.array(thresholds), np.zeros(2, np.bool_))
    line = fit_line(steps, np.array([2.0**-shift, 1 / 3.1 / 2.0**shift]))
    np.testing.assert_array_equal(line(accumulators[:, None].repeat(2, axis=1)).T, [outputs, other])
    if zero_point % 2:
        assert line.exceptions is not None
    else:
        assert line.exceptions is None
        assert line.ties_to_even is not None
        assert line.ties_to_even.tolist() == [True, False]
