"""The fitted requantization against brute force over every reachable accumulator."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match.compilation.options import Numerics
from match.ir.constants import LayerConstants
from match.ir.requantization import UNREACHED, Products, Requantization, Requantizer
from match.ir.step_function import step_function
from match.requantize import compare, executes, fit
from match.requantize.form import choose_among
from match.requantize.steps import Steps

pytestmark = pytest.mark.unit

WIDE = Requantizer("wide", 32, True, 64, 64, (0, 63), True, False, 16)
WIDE_SIGNED = Requantizer("wide_signed", 32, True, 64, 64, (0, 63), True, True, 24)
HIGH = Requantizer("high", 32, False, 64, 64, (32, 63), True, False, 12, products=Products.UPPER, lowest=0)
SPLIT = Requantizer("split", 32, False, 64, 64, (24, 55), True, False, 20, products=Products.SPLIT, lowest=0)
SPLIT_SIGNED = replace(SPLIT, name="split_signed", negative_step=True, parameter_bytes=28)
NARROW = Requantizer("narrow", 16, False, 32, 32, (0, 31), True, False, 8, approximates=True)
UINT8_ONLY = Requantizer("uint8", 32, False, 32, 32, (0, 31), True, False, 9, approximates=True, clips=((0, 255),))
ONE_SHIFT = Requantizer("one_shift", 16, False, 32, 32, (0, 31), False, False, 8, approximates=True)
SHIFT = Requantizer("shift", 0, False, 32, 32, (0, 31), False, False, 4, approximates=True)
SHIFTS = Requantizer("shifts", 0, False, 32, 32, (0, 31), True, False, 5, approximates=True)
LONG_SUM = Requantizer("long_sum", 16, False, 48, 48, (0, 47), True, False, 8)
SHORT_BIAS = Requantizer("short_bias", 16, True, 64, 32, (0, 63), True, False, 6)
LONG_ONE_SHIFT = Requantizer("long_one_shift", 24, False, 62, 62, (0, 61), False, False, 8)
SHIFT_SUM = Requantizer("shift_sum", 0, False, 32, 0, (0, 31), False, False, 0, approximates=True)


def gemmlowp(scales: list[float], zero_point: int, clip: tuple[int, int], rng: np.random.Generator) -> Requantization:
    """What TFLite's scales become: 31-bit multipliers, double rounding where the clamp leaves negatives in."""
    mantissa, exponent = np.frexp(scales)
    shift = (31 - exponent).astype(np.int64)
    multiplier = np.rint(mantissa * 2.0**31).astype(np.int64)
    offset = rng.integers(-3000, 3000, len(scales))
    signed = clip[0] < zero_point
    bias = offset * multiplier + (np.int64(zero_point) << shift) + (np.int64(1) << (shift - 1)) + (np.int64(1) << 30)
    below = -(1 << 30) // multiplier - offset if signed else None
    step = np.full(len(scales), 1 << 31) if signed else None
    return Requantization(multiplier, bias, shift, clip, below, step)


def brute_force(layer: Requantization, other: Requantization, low: np.ndarray, high: np.ndarray) -> tuple[float, int]:
    """Share of accumulators between the clamps that differ, counted once per step, and the largest difference."""
    differing = between = largest = 0
    for k in range(layer.channels):
        acc = np.arange(low[k], high[k] + 1)[:, None].repeat(layer.channels, 1)
        expected, got = layer(acc)[:, k], other(acc)[:, k]
        differing += int(np.abs(expected - got).sum())
        between += int(((expected > layer.clip[0]) & (expected < layer.clip[1])).sum())
        largest = max(largest, int(np.abs(expected - got).max()))
    return min(1.0, differing / max(1, between)), largest


def check_registers(fitted: Requantization, form: Requantizer, low: np.ndarray, high: np.ndarray) -> None:
    if form.multiplier_bits:
        assert np.all((fitted.multiplier >= 0) & (fitted.multiplier < 1 << form.multiplier_bits))
    else:
        assert np.all(fitted.multiplier == 1)
    assert np.all((fitted.shift >= form.shift[0]) & (fitted.shift <= form.shift[1]))
    assert np.all(np.abs(fitted.bias.astype(float)) < 2.0 ** (form.bias_bits - 1))
    assert form.bias_bits or not np.any(fitted.bias)
    for end, k in itertools.product((low, high), range(fitted.channels)):
        total = int(end[k]) * int(fitted.multiplier[k]) + int(fitted.bias[k])
        assert -(1 << (form.sum_bits - 1)) <= total < 1 << (form.sum_bits - 1)
    assert form.per_channel_shift or len(set(fitted.shift.tolist())) == 1
    assert not form.clips or fitted.clip in form.clips


@st.composite
def layers(draw: st.DrawFn) -> tuple[Requantization, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    channels = draw(st.integers(1, 4))
    scales = 10 ** rng.uniform(-4.2, -0.5, channels)
    clip = draw(st.sampled_from([(0, 255), (0, 200), (-128, 127), (3, 255)]))
    zero_point = draw(st.sampled_from([0, clip[0], 7, 128 + clip[0]]))
    layer = gemmlowp(list(scales), max(zero_point, clip[0]), clip, rng)
    low = -rng.integers(0, 60000, channels)
    return layer, low, low + rng.integers(0, 120000, channels)


LONG = LONG_SUM, SHORT_BIAS, LONG_ONE_SHIFT


@given(layers(), st.sampled_from([NARROW, UINT8_ONLY, ONE_SHIFT, SHIFT, SHIFTS, SHIFT_SUM, *LONG]))
def test_fit_equals_brute_force(
    layer_and_range: tuple[Requantization, np.ndarray, np.ndarray], form: Requantizer
) -> None:
    layer, low, high = layer_and_range
    result = fit(layer, low, high, form)
    if result is None:
        assert form is UINT8_ONLY
        assert layer.clip[0] < 0
        return
    fitted, verdict = result
    check_registers(fitted, form, low, high)
    share, largest = brute_force(layer, fitted, low, high)
    assert verdict.exact == (largest == 0)
    assert verdict.share == pytest.approx(share)
    assert verdict.max_step == largest


@given(layers())
@settings(max_examples=40)
def test_wide_form_with_correction_takes_the_layer_unchanged(
    layer_and_range: tuple[Requantization, np.ndarray, np.ndarray],
) -> None:
    layer, low, high = layer_and_range
    result = fit(layer, low, high, WIDE_SIGNED)
    assert result is not None
    assert result[0] is layer
    assert result[1].exact


@given(layers())
@settings(max_examples=40)
def test_wide_form_without_correction_is_exact_only_where_it_is(
    layer_and_range: tuple[Requantization, np.ndarray, np.ndarray],
) -> None:
    layer, low, high = layer_and_range
    result = fit(layer, low, high, WIDE)
    if layer.negative_below is None:
        assert result is not None
        assert result[0] is layer
    elif result is not None:
        assert result[0].negative_below is None
        assert result[1].exact == (brute_force(layer, result[0], low, high)[1] == 0)


def test_exceptions_are_left_out_as_well_as_can_be() -> None:
    """Steps that a line cannot have, each one accumulator late: some a better line catches, the others are counted."""
    rng = np.random.default_rng(3)
    plain = gemmlowp([0.001, 0.02, 0.3], 0, (0, 255), rng)
    low, high = np.full(3, -50_000), np.full(3, 300_000)
    steps = step_function(plain, low, high).thresholds
    layer = replace(plain, exceptions=steps[:, [20, 30, 70]])
    result = fit(layer, low, high, WIDE)
    assert result is not None
    assert result[0].exceptions is None
    share, largest = brute_force(layer, result[0], low, high)
    assert (result[1].exact, result[1].max_step) == (largest == 0, largest)
    assert result[1].share == pytest.approx(share)
    assert 0 < share < 3 * 3 / 300


def test_typical_layer_is_close_in_sixteen_bits() -> None:
    rng = np.random.default_rng(1)
    layer = gemmlowp(list(10 ** rng.uniform(-3.2, -2.2, 64)), 0, (0, 255), rng)
    reach = np.full(64, 150_000)
    result = fit(layer, -reach, reach, NARROW)
    assert result is not None
    assert not result[1].exact
    assert result[1].share < 0.02
    assert result[1].max_step == 1


def test_a_longer_sum_comes_closer() -> None:
    """Long sums of many channels: 32 bits leave few for the multiplier."""
    rng = np.random.default_rng(1)
    layer = gemmlowp(list(10 ** rng.uniform(-3.2, -2.2, 64)), 0, (0, 255), rng)
    reach = np.full(64, 4_000_000)
    shares: list[float] = []
    for form in (NARROW, LONG_SUM):
        result = fit(layer, -reach, reach, form)
        assert result is not None
        check_registers(result[0], form, -reach, reach)
        shares.append(result[1].share)
    assert shares[1] < 0.002 < 10 * shares[1] < shares[0]


@pytest.mark.parametrize("scale", [0.02, 0.004, 0.0007])
def test_no_better_line_in_the_neighbourhood(scale: float) -> None:
    """The chosen line misses at most a twentieth more than the best of an exhaustive search around it."""
    layer = gemmlowp([scale], 0, (0, 255), np.random.default_rng(5))
    low, high = np.array([-30000]), np.array([40000])
    result = fit(layer, low, high, Requantizer("ten", 10, False, 24, 24, (0, 31), True, False, 8))
    assert result is not None
    fitted = result[0]
    acc = np.arange(low[0], high[0] + 1)[:, None]
    expected = layer(acc)

    def misses(multiplier: int, bias: int) -> int:
        line = Requantization(np.array([multiplier]), np.array([bias]), fitted.shift, fitted.clip)
        return int(np.abs(line(acc) - expected).sum())

    best = min(
        misses(int(fitted.multiplier[0]) + dm, int(fitted.bias[0]) + db)
        for dm in range(-2, 3)
        for db in range(-3000, 3001, 60)
    )
    assert misses(int(fitted.multiplier[0]), int(fitted.bias[0])) <= best * 1.05 + 1


def test_constant_channels_are_exact() -> None:
    layer = Requantization(np.array([0, 1 << 30]), np.array([37 << 20, 9 << 40]), np.array([20, 40]), (0, 255))
    low, high = np.array([-500, -4]), np.array([500, 4])
    result = fit(layer, low, high, NARROW)
    assert result is not None
    assert result[1].exact


@pytest.mark.parametrize("form", [NARROW, WIDE, HIGH, SPLIT], ids=lambda form: form.name)
def test_a_clip_to_one_value_is_exact(form: Requantizer) -> None:
    """All channels are constant, though accumulators are not: an activation may clip so where a scale is small."""
    layer = gemmlowp([0.003, 0.02], 0, (0, 0), np.random.default_rng(9))
    reach = np.full(2, 90_000)
    result = fit(layer, -reach, reach, form)
    assert result is not None
    assert (result[0].clip, result[1].exact) == ((0, 0), True)


def exact_shift(scales: list[float], clip: tuple[int, int], form: Requantizer) -> tuple[Requantization, bool]:
    """The shift-only form of TFLite's requantization at zero point 0, and whether it is exact."""
    layer = gemmlowp(scales, 0, clip, np.random.default_rng(8))
    reach = np.full(len(scales), 90_000)
    result = fit(layer, -reach, reach, form)
    assert result is not None
    return result[0], result[1].exact


def test_powers_of_two_are_exact_shifts() -> None:
    """Where an activation clamps the negatives away, whose ties TFLite rounds down and a shift cannot."""
    fitted, exact = exact_shift([2**-9, 2**-9], (0, 127), SHIFT)
    assert (fitted.shift.tolist(), exact) == ([9, 9], True)
    assert exact_shift([2**-9, 2**-11], (0, 127), SHIFTS)[1]
    assert not exact_shift([2**-9, 2**-11], (0, 127), SHIFT)[1]
    assert not exact_shift([2**-9, 2**-9], (-128, 127), SHIFT)[1]


def test_ties_of_negatives_are_one_step_off() -> None:
    layer = gemmlowp([2**-7], 0, (-128, 127), np.random.default_rng(8))
    result = fit(layer, np.array([-9000]), np.array([9000]), SHIFT)
    assert result is not None
    assert (result[1].exact, result[1].max_step) == (False, 1)
    assert 1 / 2**8 <= result[1].share <= 2 / 2**8, "a tie in 2**7 accumulators, half of them negative; rounded twice"


@pytest.mark.parametrize(("factor", "steps"), [(2**0.5, 30), (1.1, 8), (1.004, 1)])
def test_scales_between_powers_of_two_are_steps_off(factor: float, steps: int) -> None:
    """A line that is steeper by a factor leaves the other by its share of the outputs on each side of a middle."""
    layer = gemmlowp([2**-9 * factor], 0, (0, 127), np.random.default_rng(8))
    result = fit(layer, np.array([-90_000]), np.array([90_000]), SHIFT)
    assert result is not None
    assert not result[1].exact
    assert steps / 2 <= result[1].max_step <= 2 * steps


def test_constant_channels_without_a_multiplier() -> None:
    """Clamped channels are exact; one in the middle of the range only where the shift hides its accumulators."""
    multiplier, shift = np.array([1 << 30, 0, 0]), np.array([39, 20, 20])
    layer = Requantization(multiplier, np.array([1 << 38, 0, 127 << 20]), shift, (0, 127))
    reach = np.array([90_000, 5000, 5000])
    result = fit(layer, -reach, reach, SHIFT)
    assert result is not None
    assert result[1].exact
    middle = replace(layer, bias=np.array([1 << 38, 0, 60 << 20]))
    near = fit(middle, np.array([-90_000, -5000, -3]), np.array([90_000, 5000, 3]), SHIFT)
    assert near is not None
    assert near[1].exact
    far = fit(middle, -reach, reach, SHIFT)
    assert far is not None
    assert not far[1].exact


def test_falling_functions_need_a_signed_multiplier() -> None:
    layer = Requantization(np.array([-(1 << 28)]), np.array([1 << 40]), np.array([40]), (0, 255))
    low, high = np.array([-1000]), np.array([1000])
    assert fit(layer, low, high, NARROW) is None
    wide = fit(layer, low, high, WIDE)
    assert wide is not None
    assert wide[1].exact


def test_compare_counts_steps_through_a_wider_clip() -> None:
    one = np.array([1])
    layer = Requantization(one, np.array([0]), np.array([0]), (0, 20))
    wider = Requantization(one, np.array([0]), np.array([0]), (0, 255))
    verdict = compare(Steps.of(layer, np.array([-5]), np.array([24]), wider.clip), layer.clip, wider)
    assert (verdict.exact, verdict.max_step) == (False, 4)
    assert verdict.share == pytest.approx((1 + 2 + 3 + 4) / 19)


def by_words(fitted: Requantization, acc: np.ndarray) -> np.ndarray:
    """What a kernel makes of accumulators (n, channels) with the words of `fitted`, each of which must fit 32 bits."""
    assert fitted.addend is not None
    word, rest = np.divmod(fitted.bias - fitted.addend * fitted.multiplier, 1 << 32)
    shift = word % 32
    assert not rest.any()
    assert np.array_equal(shift, fitted.shift - 32)
    added = acc + fitted.addend
    total = added * fitted.multiplier // 2**32 + word
    for value in (fitted.addend, word, added, total):
        assert np.all((value >= -(2**31)) & (value < 2**31))
    assert np.all((fitted.multiplier >= 0) & (fitted.multiplier < 2**32))
    return np.clip(total // 2**shift, *fitted.clip)


@given(layers())
@settings(max_examples=60)
def test_upper_words_are_exact_for_every_accumulator(
    layer_and_range: tuple[Requantization, np.ndarray, np.ndarray],
) -> None:
    layer, low, high = layer_and_range
    result = fit(layer, low, high, HIGH)
    if layer.clip[0] != 0:
        assert result is None
    elif layer.negative_below is None:
        assert result is not None
        assert result[1].exact
        expect_everywhere(by_words, result[0], layer, low, high)


def expect_everywhere(
    kernel: Callable[[Requantization, np.ndarray], np.ndarray],
    fitted: Requantization,
    layer: Requantization,
    low: np.ndarray,
    high: np.ndarray,
) -> None:
    """What a kernel makes of every accumulator that a channel reaches is what the layer makes of it."""
    for k in range(layer.channels):
        acc = np.arange(low[k], high[k] + 1)[:, None].repeat(layer.channels, 1)
        inside = np.clip(acc, low, high)  # other channels promise nothing beyond their own ranges
        np.testing.assert_array_equal(kernel(fitted, inside)[:, k], layer(inside)[:, k])


def by_halves(fitted: Requantization, acc: np.ndarray) -> np.ndarray:
    """What a kernel makes of accumulators (n, channels) with the words of `fitted`, each of which must fit 32 bits."""
    assert fitted.addend is not None
    assert fitted.largest is not None
    h = fitted.shift - 24
    constant = fitted.multiplier == 0
    low, high = fitted.multiplier % 2**h, np.where(constant, fitted.bias, fitted.multiplier >> h)
    bias = np.where(constant, 0, fitted.bias - fitted.addend * fitted.multiplier)
    assert np.array_equal(bias % 32, h)
    added = acc + fitted.addend
    assert np.all(abs(added) < 2**31)
    clipped = np.clip(added, 0, fitted.largest)
    lower = clipped * low + bias
    word = (lower >> h) + clipped * high
    if fitted.negative_below is not None and fitted.negative_step is not None:
        assert not np.any(fitted.negative_step % 2**h)
        word = word - np.where(clipped < fitted.negative_below + fitted.addend, fitted.negative_step >> h, 0)
    for value in (low, high, bias, lower, word):
        assert np.all((value >= 0) & (value < 2**32))
    return word >> 24


@given(layers())
@settings(max_examples=60)
def test_split_multipliers_are_exact_for_every_accumulator(
    layer_and_range: tuple[Requantization, np.ndarray, np.ndarray],
) -> None:
    """Layers have such multipliers if they have less than 2**18 accumulators between the clips."""
    layer, low, high = layer_and_range
    result = fit(layer, low, high, SPLIT if layer.negative_below is None else SPLIT_SIGNED)
    if layer.clip[0] != 0:
        assert result is None
        return
    slope = layer.multiplier / np.exp2(layer.shift)
    assert result is not None or np.any(255 / slope > 2**18)
    if result is not None:
        assert result[1].exact
        expect_everywhere(by_halves, result[0], layer, low, high)


@given(layers())
@settings(max_examples=40)
def test_split_multipliers_without_a_step_say_how_far_off_they_are(
    layer_and_range: tuple[Requantization, np.ndarray, np.ndarray],
) -> None:
    layer, low, high = layer_and_range
    result = fit(layer, low, high, SPLIT)
    if result is not None:
        share, largest = brute_force(layer, result[0], low, high)
        assert result[1].exact == (largest == 0)
        assert result[1].share == pytest.approx(share)
        assert result[1].max_step == largest


def test_split_multipliers_of_constant_channels() -> None:
    """Whatever the accumulator, which has 30 bits at most."""
    layer = Requantization(np.array([0, 1 << 30]), np.array([37 << 20, 19 << 39]), np.array([20, 40]), (0, 255))
    low, high = np.array([1 - (1 << 30), -4]), np.array([(1 << 30) - 1, 4])
    result = fit(layer, low, high, SPLIT)
    assert result is not None
    assert result[1].exact
    ends = np.stack([low, high, np.zeros(2, np.int64)])
    assert by_halves(result[0], ends).tolist() == layer(ends).tolist() == [[37, 9]] * 3
    assert fit(layer, low - 1, high, SPLIT) is None


@given(layers())
@settings(max_examples=40)
def test_upper_words_without_a_step_say_how_far_off_they_are(
    layer_and_range: tuple[Requantization, np.ndarray, np.ndarray],
) -> None:
    layer, low, high = layer_and_range
    result = fit(layer, low, high, HIGH)
    if result is not None:
        share, largest = brute_force(layer, result[0], low, high)
        assert result[1].exact == (largest == 0)
        assert result[1].share == pytest.approx(share)
        assert result[1].max_step == largest


def test_upper_words_where_nothing_fits() -> None:
    """A factor of 1 has no unsigned multiplier, and accumulators of 31 bits leave no room for the addend."""
    one = np.ones(1, np.int64)
    plain = Requantization(one, one, one * 0, (0, 255))
    assert fit(plain, -300 * one, 300 * one, HIGH) is None
    steep = Requantization(one << 30, one, one * 53, (0, 255))
    assert fit(steep, -(one << 30), one << 30, HIGH) is None


def test_whole_products_have_one_step_for_all_channels() -> None:
    """A channel whose border no accumulator reaches does not matter."""
    layer = gemmlowp([0.01, 0.02], 100, (0, 255), np.random.default_rng(3))
    low, high = np.full(2, -9000), np.full(2, 9000)
    other = replace(layer, negative_step=np.array([1 << 31, 1 << 30]))
    assert layer.negative_below is not None
    unreached = replace(other, negative_below=np.array([layer.negative_below[0], UNREACHED]))
    assert executes(layer, low, high, WIDE_SIGNED)
    assert not executes(other, low, high, WIDE_SIGNED)
    assert executes(unreached, low, high, WIDE_SIGNED)


def test_exceptions_need_a_form_that_has_some() -> None:
    some = np.array([[7, UNREACHED, 9], [UNREACHED, UNREACHED, 3]])
    line = Requantization(np.array([5, 3]), np.array([1, 2]), np.array([2, 3]), (0, 255), exceptions=some)
    low, high = np.array([0, 0]), np.array([100, 100])
    assert executes(line, low, high, replace(WIDE, exceptions=16))
    assert not executes(line, low, high, WIDE)


def test_a_layer_with_more_exceptions_than_a_form_has_words_has_another_form() -> None:
    """Three exceptions of one channel are five words: none, their number, and they."""
    line = Requantization(np.array([1, 1]), np.array([0, 0]), np.array([4, 4]), (0, 255))
    line = replace(line, exceptions=np.array([[16, 32, 48], [UNREACHED] * 3]))
    accumulator = np.array([0, 0]), np.array([1000, 1000])
    for words, own_words in [(4, None), (5, 5), (8, 5)]:
        form = replace(WIDE, exceptions=words)
        chosen = choose_among((form,), "module", LayerConstants(None, line), accumulator, Numerics.EXACT)
        own = None if isinstance(chosen, str) else chosen.requantizer
        assert (own and (own.exceptions, own.listed)) == (own_words and (own_words, 3))


@pytest.mark.parametrize("form", [SPLIT, WIDE], ids=lambda form: form.name)
def test_exceptions_beside_a_line(form: Requantizer) -> None:
    """Exceptions that the clip hides, or that are not reached, are left out: kernels take 1 off what is stored."""
    plain = gemmlowp([0.001, 0.02], 0, (0, 255), np.random.default_rng(5))
    plain = replace(plain, negative_below=None, negative_step=None)
    low, high = np.full(2, -50_000), np.full(2, 300_000)
    steps = step_function(plain, low, high).thresholds
    first, beyond = steps[:, 20], np.full(2, 400_000)
    excepting = replace(form, exceptions=64)
    for others, left in [
        ((steps[:, 70],), 2),
        ((low,), 1),
        ((beyond,), 1),
        ((steps[:, 254],), 2),
        ((first + 1, high), 2),
    ]:
        layer = replace(plain, exceptions=np.stack((first, *others), axis=1))
        result = fit(layer, low, high, excepting)
        assert result is not None
        assert result[1].exact
        assert result[0].exceptions is not None
        assert np.count_nonzero(result[0].exceptions[0] != UNREACHED) == left
        assert brute_force(layer, result[0], low, high)[1] == 0
        without = replace(result[0], exceptions=None)
        assert brute_force(layer, without, low, high)[1] == 1
