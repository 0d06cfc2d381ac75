"""Lines and planes: what is found gives the outputs it was asked for, all of them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match.arithmetic.line_fit import NoLineError, fit_line
from match.arithmetic.plane_fit import fit_plane
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
