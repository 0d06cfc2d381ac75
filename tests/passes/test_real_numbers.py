"""Layers that a reference computes in floating point, beside their definition in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match.arithmetic.interface import Accumulator, QuantizedType
from match.arithmetic.real_numbers import linear

pytestmark = pytest.mark.tvm

CLIP = -128, 127


@given(
    st.floats(1e-8, 2.0),
    st.sampled_from([-1, 0, 1]),
    st.integers(-(2**29), 2**29),
    st.integers(0, 8),
    st.integers(-128, 127),
    st.lists(st.integers(-(2**27), 2**27), min_size=20, max_size=20),
)
def test_sums_are_rounded_to_the_nearest(
    scale: float, sign: int, offset: int, bits: int, zero_point: int, sums: list[int]
) -> None:
    """Near a half they may be rounded either way: the slope has 30 bits."""
    scales = np.array([sign * scale], np.float32)
    output = QuantizedType(np.float32(0.5), zero_point, "int8")
    ends = np.array([-(2**27)]), np.array([2**27])
    found = linear(Accumulator(np.array([offset]), *ends, np.float32(0.25), scales, bits), output, CLIP)
    factor = Fraction(0.25) * Fraction(float(scales[0])) / Fraction(0.5)
    about = -offset // 2**bits  # sums whose outputs are not all clipped
    for acc in [*sums, *(about + near for near in range(-30, 30) if abs(about + near) <= 2**27)]:
        exact = (acc + Fraction(offset, 2**bits)) * factor + zero_point
        near = max(Fraction(1, 10**6), abs(acc * factor) / 2**29)
        outputs = {min(max(floor(exact + Fraction(1, 2) + side), CLIP[0]), CLIP[1]) for side in (-near, near)}
        assert int(found(np.array([acc]))[0]) in range(min(outputs), max(outputs) + 1)
