"""Where integers tell the outputs of average pooling in float32, they are those of any order of additions."""

from __future__ import annotations

import numpy as np
import pytest

from match.arithmetic.interface import QuantizedType
from match.arithmetic.window_means import float_sums
from match.ir.float_average import FloatAverage
from match.ir.float_border import FloatQuantization

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("seed", range(20))
def test_far_from_borders_the_line_is_the_function(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, scale = int(rng.choice([1, 2, 4, 6, 9])), np.float32(np.exp(rng.uniform(-9, 3)))
    zero, other = (int(each) for each in rng.integers(0, 256, 2))
    shown = scale if seed % 2 else np.float32(scale * np.exp(rng.uniform(-3, 3)))
    function = FloatQuantization(shown, other, "uint8", half_to_even=True, zero_first=True)
    average = FloatAverage(scale, zero, function, count)
    numbers = np.arange(count * 255 + 1) - count * zero
    line = numbers * (average.multiplier // count) + average.bias
    assert np.abs(line).max() < 2**31
    one = 1 << average.shift
    far = (line % one >= average.near) & (line % one < one - average.near)
    levels = np.clip(line >> average.shift, 0, 255)
    for sums in float_sums(QuantizedType(scale, zero, "uint8"), count):
        outputs = function(sums / np.float32(count))
        np.testing.assert_array_equal(outputs[far], levels[far])
        assert np.count_nonzero(far) > (0.4 if count % 2 == 0 else 0.9) * len(far)


def test_a_scale_that_is_far_larger_leaves_all_to_float32() -> None:
    function = FloatQuantization(np.float32(1e-9), 3, "uint8", half_to_even=True, zero_first=True)
    average = FloatAverage(np.float32(1e3), 7, function, 4)
    assert (average.multiplier, average.near) == (0, 1 << (average.shift - 1))
