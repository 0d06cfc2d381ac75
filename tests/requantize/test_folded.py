"""Factors folded into weights, beside the real numbers that they stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match.ir.requantization import Requantizer
from match.requantize.folded import fold, line

pytestmark = pytest.mark.unit

SHIFT = Requantizer("shift", 0, False, 32, 32, (0, 31), False, False, 4, approximates=True)
CLIP = (-128, 127)


@given(st.integers(0, 999), st.integers(0, 9))
def test_powers_of_two_stay(seed: int, shift: int) -> None:
    rng = np.random.default_rng(seed)
    weights = rng.integers(-127, 128, (3, 4, 2))
    weights[0, 0, 0] = 127
    real, bias = weights / 2.0**shift, rng.integers(-500, 500, 3) / 2.0**shift
    folded = fold(real, bias, CLIP, CLIP, SHIFT)
    x = rng.integers(-128, 128, (50, 8))
    wanted = np.clip(np.floor(x @ real.reshape(3, -1).T + bias + 0.5), *CLIP)
    found = folded.requantization(x @ folded.weights.reshape(3, -1).T.astype(np.int64))
    assert np.array_equal(folded.weights, weights)
    assert np.array_equal(found, wanted)


@given(st.integers(0, 999), st.floats(1e-6, 0.9), st.booleans())
def test_weights_are_near_and_sums_nearer(seed: int, scale: float, unsigned: bool) -> None:
    """No weight is a step off, unless it is clipped; what all inputs have in common moves a sum by half a step."""
    rng = np.random.default_rng(seed)
    real, bias = rng.normal(0, scale, (5, 6, 9)), rng.normal(0, 20, 5)
    inputs = (0, 127) if unsigned else CLIP
    folded = fold(real, bias, inputs, CLIP, SHIFT)
    requantization = folded.requantization
    assert np.all(requantization.multiplier == 1)
    assert len(set(requantization.shift)) == 1
    steps = 2.0 ** int(requantization.shift[0])
    off = folded.weights - np.clip(real * steps, -127, 127)
    assert np.all(np.abs(off) < 1)
    if np.abs(real * steps).max() <= 127:
        assert np.all(np.abs(off.sum(axis=(1, 2))) <= 0.5 + 1e-6)
    # The bias takes the mean of the error away: inputs in the middle come out right to the rounding.
    middle = np.full(54, sum(inputs) / 2) @ np.stack(
        [folded.weights.reshape(5, -1), real.reshape(5, -1) * steps]
    ).transpose(0, 2, 1)
    found, wanted = middle[0] + requantization.bias, middle[1] + (bias + 0.5) * steps
    assert np.all(np.abs(found - wanted) <= 1 + 1e-6 * np.abs(wanted))


def test_no_weights_and_biases_without_end() -> None:
    folded = fold(np.zeros((2, 1, 1)), np.array([3.0, 1e30]), CLIP, CLIP, SHIFT)
    assert not folded.weights.any()
    assert folded.requantization(np.zeros((1, 2), np.int64)).tolist() == [[3, 127]]


@given(st.integers(0, 999))
def test_lines_are_real_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slope, bias = rng.uniform(1e-3, 1, 4), rng.uniform(-50, 50, 4)
    sums = rng.integers(-5000, 5000, (200, 4))
    wanted = sums * slope + bias
    found = line(slope, bias, CLIP)(sums)
    assert np.all(np.abs(found - np.clip(wanted, *CLIP)) <= 0.5 + 1e-3)
