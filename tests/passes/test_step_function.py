"""Steps against the definition: every reachable accumulator tried."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from match.ir.requantization import UNREACHED, Requantization
from match.ir.step_function import reachable_sums, step_function

pytestmark = pytest.mark.unit


def outputs_by_definition(parameters, accumulator):
    """clip((acc * M + B - (acc < Z) * step) >> S) in Python's integers."""
    multiplier, bias, shift, clip, below, step = parameters
    total = accumulator * multiplier + bias - (step if below is not None and accumulator < below else 0)
    return min(max(total >> shift, clip[0]), clip[1])


@st.composite
def channel(draw):
    shift = draw(st.integers(0, 56))
    scale = draw(st.floats(1e-4, 4.0))
    sign = draw(st.sampled_from([1, 1, 1, 0, -1]))
    multiplier = sign * min(int(scale * 2**shift), 2**31 - 1)
    bias = draw(st.integers(-(2 ** min(shift + 8, 61)), 2 ** min(shift + 8, 61)))
    clip = draw(st.sampled_from([(0, 255), (-128, 127), (3, 77)]))
    below = draw(st.none() | st.integers(-300, 300)) if multiplier >= 0 else None
    step = draw(st.integers(0, 2**shift)) if below is not None else 0
    return multiplier, bias, shift, clip, below, step


def make(parameters):
    multiplier, bias, shift, clip, below, step = parameters
    return Requantization(
        np.array([multiplier]),
        np.array([bias]),
        np.array([shift]),
        clip,
        None if below is None else np.array([below]),
        step,
    )


@settings(max_examples=150)
@given(channel(), st.integers(-400, 400), st.integers(0, 500))
def test_steps_are_where_the_definition_steps(parameters, low, extent):
    accumulators = np.arange(low, low + extent + 1)
    expected = [outputs_by_definition(parameters, int(acc)) for acc in accumulators]
    steps = step_function(make(parameters), low, low + extent)
    assert steps(accumulators[:, None])[:, 0].tolist() == expected
    assert steps.minimum[0] == min(expected)
    assert steps.maximum[0] == max(expected)
    assert bool(steps.constant[0]) == (len(set(expected)) == 1)
    signed = -accumulators[::-1] if steps.decreasing[0] else accumulators
    ordered = expected[::-1] if steps.decreasing[0] else expected
    for level, threshold in enumerate(steps.thresholds[0], start=parameters[3][0] + 1):
        reached = [int(acc) for acc, value in zip(signed, ordered, strict=True) if value >= level]
        assert threshold == (reached[0] if reached else signed[-1] + 1)


@settings(max_examples=150)
@given(channel(), channel(), st.integers(-100, 100), st.integers(0, 60), st.booleans())
def test_equality_is_equality_of_outputs(one, other, low, extent, related):
    if related:
        other = (one[0], one[1] + 1, one[2], one[3], one[4], one[5])
    accumulators = range(low, low + extent + 1)
    expected = all(outputs_by_definition(one, acc) == outputs_by_definition(other, acc) for acc in accumulators)
    first, second = (step_function(make(parameters), low, low + extent) for parameters in (one, other))
    assert bool(first.equal(second)[0]) == expected


def test_channels_are_independent():
    requantization = Requantization(
        np.array([3, 0, 5]),
        np.array([1, 700, -9]),
        np.array([2, 3, 4]),
        (-8, 100),
        np.array([0, 4, -5]),
        np.array([2, 2, 3]),
    )
    low, high = np.array([-20, -30, 7]), np.array([90, 30, 70])
    steps = step_function(requantization, low, high)
    for accumulator in range(-30, 91):
        reachable = (accumulator >= low) & (accumulator <= high)
        wide = np.full(3, accumulator)
        assert (steps(wide)[reachable] == requantization(wide)[reachable]).all()


def test_different_accumulators_are_not_comparable():
    requantization = Requantization(np.array([3]), np.array([1]), np.array([2]), (0, 255))
    with pytest.raises(ValueError, match="different accumulators"):
        step_function(requantization, 0, 10).equal(step_function(requantization, 0, 11))


@pytest.mark.parametrize(("multiplier", "step"), [(-3, 1), (3, -1)])
def test_a_correction_that_is_not_monotone_is_refused(multiplier, step):
    requantization = Requantization(np.array([multiplier]), np.array([1]), np.array([2]), (0, 255), np.array([5]), step)
    with pytest.raises(ValueError, match="not monotone"):
        step_function(requantization, 0, 10)


def test_reachable_sums_are_reached():
    rng = np.random.default_rng(0)
    weights = rng.integers(-128, 128, (5, 2, 2), dtype=np.int8)
    low, high = reachable_sums(weights, (-3, 9))
    corners = np.stack(np.meshgrid(*[[-3, 9]] * 4, indexing="ij"), axis=-1).reshape(-1, 4)
    sums = corners @ weights.reshape(5, 4).T.astype(np.int64)
    assert (sums.min(axis=0) == low).all()
    assert (sums.max(axis=0) == high).all()


@given(channel(), st.integers(-200, 200), st.integers(1, 300), st.sets(st.integers(0, 300), max_size=6))
def test_exceptions_delay_steps(parameters, low, extent, picks):
    """Exceptions at steps, some of them out of reach or beyond the clip, against the definition."""
    multiplier, bias, shift, clip, _, _ = parameters
    if multiplier <= 0:
        multiplier = 1 << shift
    assume((abs(low) + extent) * multiplier + abs(bias) < 1 << 63)  # as a Requantization promises
    unclipped = [(acc * multiplier + bias) >> shift for acc in range(low - 10, low + extent + 11)]
    steps = [low - 10 + n for n in range(1, len(unclipped)) if unclipped[n] > unclipped[n - 1]]
    exceptions = sorted({steps[pick % len(steps)] for pick in picks}) if steps else []
    table = np.array([[*exceptions, *[UNREACHED] * (7 - len(exceptions))]])
    requantization = Requantization(np.array([multiplier]), np.array([bias]), np.array([shift]), clip, exceptions=table)
    accumulators = range(low, low + extent + 1)
    expected = []
    for acc in accumulators:
        value = ((acc * multiplier + bias) >> shift) - (acc in exceptions)
        expected.append(min(max(value, clip[0]), clip[1]))
    column = np.array(accumulators)[:, None]
    assert requantization(column)[:, 0].tolist() == expected
    assert step_function(requantization, low, low + extent)(column)[:, 0].tolist() == expected


def test_an_exception_away_from_the_steps_is_refused():
    requantization = Requantization(
        np.array([1]), np.array([0]), np.array([3]), (0, 255), exceptions=np.array([[8, 13, UNREACHED]])
    )
    with pytest.raises(ValueError, match="13 of channel 0"):
        step_function(requantization, 0, 100)
    assert step_function(requantization, 0, 12).thresholds[0, 0] == 9
