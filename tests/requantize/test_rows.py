"""Products by a line for each byte of the second input, against the layer for all pairs of bytes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from match.compilation.options import Numerics
from match.ir.constants import LayerConstants, ZeroPoints
from match.ir.layer import Dim
from match.ir.requantization import Requantization
from match.requantize.form import Form, choose_among
from match.requantize.rows import rows
from match.target.tile_constants import requantization
from match.targets.pulp.kernels import INT32, ROWS, SPLIT

pytestmark = pytest.mark.unit


def layer(factor: float, zero_point: int, clip: tuple[int, int] = (0, 255)) -> Requantization:
    """Products times a factor, rounded to the nearest, as TFLite has them but for negative halves."""
    mantissa, exponent = np.frexp(factor)
    shift = 31 - int(exponent)
    bias = (np.int64(zero_point) << shift) + (np.int64(1) << shift - 1)
    multiplier, bias, shift = (np.array([int(value)], np.int64) for value in (mantissa * 2**31, bias, shift))
    return Requantization(multiplier, bias, shift, clip)


def by_words(packed: bytes, zero_points: ZeroPoints, highest: int) -> np.ndarray:
    """What match_pulp_multiply_rows does with these parameters, for all bytes (second, first)."""
    bias, multiplier, shift = np.frombuffer(packed, "<i4").astype(np.int64)
    x, b = (np.arange(256) - zero for zero in zero_points)
    sums = np.multiply.outer((b * multiplier + 2**15) >> 16, x) + bias
    assert np.all(np.abs(sums) < 2**31), "a sum does not fit a word"
    return np.clip(sums >> shift, 0, highest)


def products(zero_points: ZeroPoints) -> np.ndarray:
    """The accumulators of all bytes (second, first)."""
    return np.multiply.outer(np.arange(256) - zero_points.addend, np.arange(256) - zero_points.input)


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_the_layer(seed: int) -> None:
    """Where there are such lines; of gates, whose zero point is 0, there are."""
    rng = np.random.default_rng(seed)
    gate = seed % 2 == 0
    zero_points = ZeroPoints(int(rng.integers(0, 40 if gate else 256)), 0 if gate else int(rng.integers(0, 256)))
    clip = (0, 255 if seed % 3 else int(rng.integers(2, 255)))
    own = layer(float(rng.uniform(0.3, 1.1)) / 256, zero_points.input if gate else int(rng.integers(0, 256)), clip)
    acc = products(zero_points)
    ends = acc.min().reshape(1), acc.max().reshape(1)
    found = rows(own, zero_points, *ends, ROWS)
    if found is None:
        assert not gate
        return
    assert found[1].exact
    packed = requantization(LayerConstants(zero_points, found[0]), ROWS, {Dim.K: (0, 1)})
    assert np.array_equal(by_words(packed, zero_points, clip[1]), own(acc[..., None])[..., 0])


@pytest.mark.parametrize("halvings", [7, 8, 9, 10, 16])
@pytest.mark.parametrize("off", [0.0, -1e-6, 1e-6, -3e-6])
def test_factors_about_powers_of_two(halvings: int, off: float) -> None:
    """Lines, which the powers themselves have: multipliers fit words with a sign, nearly the largest."""
    own, zero_points = layer((1 + off) / 2**halvings, 3), ZeroPoints(3, 100)
    acc = products(zero_points)
    found = rows(own, zero_points, acc.min().reshape(1), acc.max().reshape(1), ROWS)
    if found is None:
        assert off
        return
    packed = requantization(LayerConstants(zero_points, found[0]), ROWS, {Dim.K: (0, 1)})
    assert np.array_equal(by_words(packed, zero_points, 255), own(acc[..., None])[..., 0])


def test_a_layer_that_is_no_such_line_has_none() -> None:
    """A correction of negative products, a lowest output above 0, a sum that fits no word, and factors below 0."""
    own, zero_points, ends = layer(1 / 300, 20), ZeroPoints(100, 7), (np.array([-30_000]), np.array([40_000]))
    assert rows(own, zero_points, *ends, ROWS) is not None
    step = replace(own, negative_below=np.array([0]), negative_step=own.bias // 40)
    steep = replace(own, shift=own.shift - 30, bias=own.bias >> 30)
    for other in (step, replace(own, clip=(3, 255)), steep, replace(own, multiplier=-own.multiplier)):
        assert rows(other, zero_points, *ends, ROWS) is None


@pytest.mark.parametrize("excepted", [False, True])
@pytest.mark.parametrize("numerics", Numerics)
def test_they_are_chosen_before_halves_of_multipliers(numerics: Numerics, excepted: bool) -> None:
    """Exceptions are left out with numerics of hardware, and nothing but these is off."""
    own, zero_points = layer(1.234 / 300, 15), ZeroPoints(15, 0)
    acc = products(zero_points)
    ends = acc.min().reshape(1), acc.max().reshape(1)
    begin = own(acc[..., None])[..., 0] != own(acc[..., None] - 1)[..., 0]
    exception = int(acc[begin & (acc > 0)].min())
    if excepted:
        own = replace(own, exceptions=np.array([[exception]]))
    found = choose_among((INT32, ROWS, SPLIT), "cluster", LayerConstants(zero_points, own), ends, numerics)
    if excepted and numerics is Numerics.EXACT:
        assert isinstance(found, str)
        return
    assert isinstance(found, Form)
    assert found.requantizer is ROWS
    outputs = by_words(requantization(found.constants, ROWS, {Dim.K: (0, 1)}), zero_points, 255)
    off = outputs != own(acc[..., None])[..., 0]
    assert np.array_equal(off, (acc == exception) if excepted else np.zeros_like(off))
    assert found.fit is not None
    assert found.fit.exact is not excepted
