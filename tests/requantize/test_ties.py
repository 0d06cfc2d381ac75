"""Halves that go to even outputs, against NumPy's own rounding, for every accumulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match.compilation.options import Numerics
from match.ir.constants import LayerConstants
from match.ir.layer import Dim, Layer, Op
from match.ir.requantization import Requantization
from match.ir.step_function import step_function
from match.requantize import executes, fit
from match.requantize.form import Form, choose_among
from match.requantize.kept import Forms
from match.target import tile_constants
from match.targets.gap9.target import Gap9
from match.targets.pulp.kernels import INT32, INT64, INT64_SIGNED, SPLIT, SPLIT_EXCEPT, SPLIT_SIGNED

pytestmark = pytest.mark.unit

CHANNELS = 5


@st.composite
def rounded(draw: st.DrawFn) -> tuple[Requantization, np.ndarray, np.ndarray, np.ndarray]:
    """A line, its ranges of accumulators, and what is added to these before they are divided by a power of two.

    Channel 3 is constant, and the last one has a line without a mark.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shift = rng.integers(1, 12, CHANNELS)
    offset = rng.integers(-(40 << shift), 300 << shift)
    zero_point, (low_end, high_end) = 2 * int(rng.integers(0, 128)), draw(st.sampled_from([(0, 255), (0, 96)]))
    whole = offset + (zero_point << shift)
    bias = whole + (np.int64(1) << shift - 1)
    low = -(np.int64(1) << shift) * rng.integers(0, 400, CHANNELS) - whole
    high = low + rng.integers(1, 300 << shift)
    marked = np.array([True, True, True, False, False])
    multiplier = np.ones(CHANNELS, np.int64)
    multiplier[3], bias[3], shift[3] = 0, 77, 0
    line = Requantization(multiplier, bias, shift, (low_end, high_end), ties_to_even=marked)
    return line, low, high, offset + (zero_point << shift)


def by_numpy(line: Requantization, added: np.ndarray, accumulators: np.ndarray, channel: int) -> np.ndarray:
    """The outputs of one channel for accumulators (n,)."""
    if channel == 3:
        return np.clip(np.full(len(accumulators), 77), *line.clip)
    real = (accumulators + added[channel]) / 2.0 ** line.shift[channel]
    rounded = np.rint(real) if line.ties_to_even is not None and line.ties_to_even[channel] else np.floor(real + 0.5)
    return np.clip(rounded.astype(np.int64), *line.clip)


@settings(max_examples=40)
@given(rounded())
def test_the_line_and_its_steps(
    given_line: tuple[Requantization, np.ndarray, np.ndarray, np.ndarray],
) -> None:
    line, low, high, added = given_line
    steps = step_function(line, low, high)
    for channel in range(CHANNELS):
        accumulators = np.arange(low[channel], high[channel] + 1)
        expected = by_numpy(line, added, accumulators, channel)
        all_channels = np.repeat(accumulators[:, None], CHANNELS, axis=1)
        np.testing.assert_array_equal(line(all_channels)[:, channel], expected)
        np.testing.assert_array_equal(line.take(np.array([channel]))(accumulators[:, None])[:, 0], expected)
        one = steps.take(np.array([channel]))
        np.testing.assert_array_equal(one(accumulators[:, None])[:, 0], expected)
        moved = line.moved(np.full(CHANNELS, 9))
        np.testing.assert_array_equal(moved(all_channels + 9)[:, channel], expected)


def test_steps_of_a_falling_line() -> None:
    line = Requantization(np.array([-3]), np.array([500]), np.array([2]), (0, 255), ties_to_even=np.array([True]))
    accumulators = np.arange(-300, 300)[:, None]
    np.testing.assert_array_equal(step_function(line, [-300], [300])(accumulators), line(accumulators))
    assert np.any(line(accumulators) != replace(line, ties_to_even=None)(accumulators))


def in_the_kernel(packed: bytes, accumulators: np.ndarray, channel: int) -> np.ndarray:
    """What match_requant_split_t says in match_tile.h: words wrap, the shift is the lowest five bits of the bias."""
    addend, largest, low, bias, high = (
        int(value) for value in np.frombuffer(packed, tile_constants.REQUANT_SPLIT)[channel]
    )
    a = np.clip(accumulators + addend, 0, largest)
    word = ((a * low + bias) % 2**32 >> (bias & 31)) + a * high
    return word % 2**32 >> 24


@pytest.mark.parametrize("form", [SPLIT, SPLIT_SIGNED, SPLIT_EXCEPT])
@settings(max_examples=40)
@given(rounded())
def test_split_multipliers(form, given_line: tuple[Requantization, np.ndarray, np.ndarray, np.ndarray]) -> None:
    """A lower half that wraps rounds as NumPy does, and channels beside it have theirs."""
    line, low, high, added = given_line
    fitted = fit(line, low, high, form)
    assert fitted is not None
    assert fitted[1].exact
    assert executes(fitted[0], low, high, form)
    layer = Layer("dense", Op.DENSE, CHANNELS, 4, 1, 1, 1, 1)
    constants = LayerConstants(None, fitted[0])
    packed = tile_constants.requantization(constants, SPLIT, {**layer.spans, Dim.K: (0, CHANNELS)})
    for channel in range(CHANNELS):
        accumulators = np.arange(low[channel], high[channel] + 1)
        np.testing.assert_array_equal(
            in_the_kernel(packed, accumulators, channel), by_numpy(line, added, accumulators, channel)
        )


@pytest.mark.parametrize("form", [INT32, INT64, INT64_SIGNED])
@settings(max_examples=20)
@given(rounded())
def test_forms_with_whole_products_are_one_step_off(
    form, given_line: tuple[Requantization, np.ndarray, np.ndarray, np.ndarray]
) -> None:
    line, low, high, _ = given_line
    assert not executes(line, low, high, form)
    fitted = fit(line, low, high, form)
    assert fitted is not None
    differ = sum(
        np.count_nonzero(line(every)[:, k] != fitted[0](every)[:, k])
        for k in range(CHANNELS)
        for every in [np.repeat(np.arange(low[k], high[k] + 1)[:, None], CHANNELS, axis=1)]
    )
    assert fitted[1].exact == (differ == 0)
    assert fitted[1].max_step <= 1


def line_of_zeros() -> tuple[Requantization, np.ndarray, np.ndarray]:
    """The ranges are wide enough for all outputs."""
    ones = np.ones(3, np.int64)
    line = Requantization(ones, ones * (16 + (128 << 5)), 5 * ones, (0, 255), ties_to_even=ones > 0)
    return line, -5000 * ones, 5000 * ones


@pytest.mark.parametrize("numerics", Numerics)
def test_the_form_with_split_multipliers_is_chosen(numerics: Numerics, tmp_path: Path) -> None:
    """Also where it was kept, and read again."""
    line, low, high = line_of_zeros()
    found = choose_among((INT32, SPLIT, INT64), "cluster", LayerConstants(None, line), (low, high), numerics)
    assert isinstance(found, Form)
    assert found.requantizer == SPLIT
    cluster = next(unit for unit in Gap9().modules if unit.name == "cluster")
    layer = Layer("dense", Op.DENSE, 3, 4, 1, 1, 1, 1)
    accumulators = np.arange(-5000, 5001)[:, None].repeat(3, axis=1)
    for _ in range(2):
        forms = Forms(tmp_path)
        kept = forms.choose(cluster, layer, LayerConstants(None, line), (low, high), numerics)
        forms.keep()
        assert isinstance(kept, Form)
        assert kept.requantizer == SPLIT
        assert kept.constants.requantization is not None
        np.testing.assert_array_equal(kept.constants.requantization(accumulators), line(accumulators))


def test_split_multipliers_clip_from_0() -> None:
    line, low, high = line_of_zeros()
    assert fit(replace(line, clip=(128, 255)), low, high, SPLIT) is None
    wide = replace(line, shift=25 * np.ones(3, np.int64), bias=np.full(3, (1 << 24) + (128 << 25)))
    fitted = fit(wide, low << 15, high << 15, SPLIT)
    assert fitted is None or not fitted[1].exact
