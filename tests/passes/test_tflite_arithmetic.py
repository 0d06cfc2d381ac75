"""TFLite's integers against gemmlowp's definition, written with Python's integers and C's truncating division."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match.arithmetic.interface import Accumulator, QuantizedType
from match.arithmetic.tflite import TfliteArithmetic, division, quantize_multiplier, reduced_multiplier, scaling
from match.ir.requantization import UNREACHED, Requantization
from match.ir.step_function import step_function

pytestmark = pytest.mark.unit


def truncating_division(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def rounding_doubling_high_multiply(a: int, b: int) -> int:
    product = a * b
    nudge = (1 << 30) if product >= 0 else 1 - (1 << 30)
    return truncating_division(product + nudge, 1 << 31)


def rounding_divide_by_power_of_two(x: int, exponent: int) -> int:
    remainder = x & ((1 << exponent) - 1)
    threshold = (((1 << exponent) - 1) >> 1) + (1 if x < 0 else 0)
    return (x >> exponent) + (1 if remainder > threshold else 0)


def multiplier_of(factor: float) -> tuple[int, int]:
    if factor == 0:
        return 0, 0
    fraction, exponent = math.frexp(factor)
    mantissa = math.floor(fraction * 2**31 + 0.5)
    if mantissa == 2**31:
        mantissa, exponent = mantissa // 2, exponent + 1
    return (0, 0) if exponent < -31 else (mantissa, exponent)


def multiply_by_definition(x: int, factor: float) -> int:
    mantissa, exponent = multiplier_of(factor)
    high = rounding_doubling_high_multiply(x << max(exponent, 0), mantissa)
    return rounding_divide_by_power_of_two(high, max(-exponent, 0))


@given(st.floats(1e-14, 100.0))
def test_multiplier(factor):
    mantissa, exponent = quantize_multiplier(factor)
    assert (int(mantissa), int(exponent)) == multiplier_of(factor)


@given(st.floats(1e-8, 100.0) | st.floats(0.9999, 1.0))
def test_multiplier_of_15_bits(factor):
    """Mantissas that would round up to 2**15 stay below it."""
    mantissa, exponent = multiplier_of(factor)
    expected = (mantissa + (1 << 15)) // (1 << 16) if mantissa < 0x7FFF0000 else 0x7FFF
    multiplier, shift = reduced_multiplier(factor)
    assert (int(multiplier), int(shift)) == (expected, 15 - exponent)


@settings(max_examples=120)
@given(
    st.floats(-38.0, 2.5),
    st.integers(-(2**24), 2**24),
    st.integers(-128, 127),
    st.sampled_from([(-128, 127), (0, 127), (-5, 90)]),
    st.lists(st.integers(-(2**16), 2**16), min_size=30, max_size=30),
    st.booleans(),
)
def test_linear(log_factor, offset, zero_point, clip, accumulators, around_the_steps):
    """Random accumulators, and those around the steps, where a wrong rounding shows."""
    factor = 2.0**log_factor
    scale = np.float32(1.0)
    weight_scale = np.array([factor], np.float32)
    exact = float(np.float64(weight_scale[0]))
    low, high = np.array([-(2**20)]), np.array([2**20])
    accumulator = Accumulator(np.array([offset]), low, high, scale, weight_scale)
    output = QuantizedType(np.float32(1.0), zero_point, "int8")
    requantization = TfliteArithmetic().linear(accumulator, output, clip)
    if around_the_steps:
        thresholds = step_function(requantization, low, high).thresholds[0]
        accumulators = [int(t) + d for t in thresholds[:: max(1, len(thresholds) // 20)] for d in (-1, 0)]
    accumulators = [acc for acc in accumulators if low[0] <= acc <= high[0]]
    expected = [
        min(max(multiply_by_definition(acc + offset, exact) + zero_point, clip[0]), clip[1]) for acc in accumulators
    ]
    assert requantization(np.array(accumulators)[:, None])[:, 0].tolist() == expected


def test_no_sign_correction_where_negative_values_are_clamped():
    low, high = np.full(2, -5000), np.full(2, 5000)
    accumulator = Accumulator(np.zeros(2, np.int64), low, high, np.float32(0.1), np.array([0.01, 0.02], np.float32))
    relu = TfliteArithmetic().linear(accumulator, QuantizedType(np.float32(0.05), -100, "int8"), (-100, 127))
    assert relu.negative_below is None
    plain = TfliteArithmetic().linear(accumulator, QuantizedType(np.float32(0.05), -100, "int8"), (-128, 127))
    assert plain.negative_below is not None
    assert plain.negative_step is not None
    assert plain.negative_step.tolist() == [1 << 31] * 2


def test_channels_that_cannot_move_get_multiplier_0():
    low, high = np.array([-5000, -5000, 3]), np.array([5000, 5000, 3])
    scales = np.array([1e-9, 1e-2, 1e-2], np.float32)
    accumulator = Accumulator(np.array([7, 0, 0]), low, high, np.float32(1), scales)
    result = TfliteArithmetic().linear(accumulator, QuantizedType(np.float32(1), 5, "int8"), (-128, 127))
    assert result.multiplier[[0, 2]].tolist() == [0, 0]
    assert result.bias[[0, 2]].tolist() == [5, 5]
    assert result.negative_below is not None
    assert result.negative_below[[0, 2]].tolist() == [UNREACHED, UNREACHED]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 9, 49, 64, 100, 255])
def test_average(count):
    """Every sum, half away from zero as C divides it."""
    requantization = TfliteArithmetic().average("int8", count, (-128, 120))
    sums = list(range(-128 * count, 127 * count + 1))
    half = count // 2
    expected = [min(truncating_division(s + half if s > 0 else s - half, count), 120) for s in sums]
    assert requantization(np.array(sums)[:, None])[:, 0].tolist() == expected


def outputs(line: Requantization, accumulators: list[int]) -> list[int]:
    """The outputs of a line of one channel, by the definition."""
    below, step = 0, 0
    if line.negative_below is not None and line.negative_step is not None:
        below, step = line.negative_below[0], line.negative_step[0]
    values = ((x * int(line.multiplier[0]) + int(line.bias[0]) - (x < below) * int(step)) for x in accumulators)
    return [min(max(value >> int(line.shift[0]), line.clip[0]), line.clip[1]) for value in values]


@settings(max_examples=200)
@given(st.integers(1, 65535), st.lists(st.floats(-1, 1), min_size=1, max_size=50), st.booleans())
def test_division(count, shares, clipped):
    """Sums of so many numbers of 16 bits, also halfway between two means, and next to that."""
    clip = (0, 32767) if clipped else (-32768, 32767)
    means = [round(32767 * share) for share in shares]
    sums = [
        mean * count + near for mean in means for near in (0, count // 2, (count + 1) // 2, -(count // 2), 1 - count)
    ]
    sums = [min(max(total, -32768 * count), 32767 * count) for total in sums]
    expected = [int(math.copysign((2 * abs(total) + count) // (2 * count), total)) for total in sums]
    line = division(count, clip)
    assert outputs(line, sums) == [min(max(mean, clip[0]), clip[1]) for mean in expected]
    assert count > 20000 or int(line.multiplier[0]) < 1 << 31


@settings(max_examples=200)
@given(
    st.floats(-9, 4),
    st.lists(st.integers(-32768, 32767), min_size=1, max_size=50),
    st.integers(-999, 999),
    st.booleans(),
)
def test_scaling(log_factor, numbers, offset, clipped):
    clip, factor = (0, 32767) if clipped else (-32768, 32767), 10.0**log_factor
    line = scaling(*quantize_multiplier(np.array([factor])), np.array([offset]), clip)
    expected = [multiply_by_definition(number + offset, factor) for number in numbers]
    assert outputs(line, numbers) == [min(max(value, clip[0]), clip[1]) for value in expected]


@pytest.mark.parametrize("sign", [1, -1])
def test_addition(sign):
    a, b = QuantizedType(np.float32(0.0513), 3, "int8"), QuantizedType(np.float32(0.0217), -128, "int8")
    output = QuantizedType(np.float32(0.0623), 4, "int8")
    outputs = TfliteArithmetic().add(a, b, output, (-128, 127), sign)
    twice = 2 * float(max(a.scale, b.scale))
    rng = np.random.default_rng(0)
    for i, j in rng.integers(0, 256, (300, 2)):
        first = multiply_by_definition((int(i) - 128 - 3) << 20, float(a.scale) / twice)
        second = multiply_by_definition((int(j) - 128 + 128) << 20, float(b.scale) / twice)
        total = multiply_by_definition(first + sign * second, twice / (2**20 * float(output.scale)))
        assert outputs[i, j] == min(max(total + 4, -128), 127)
