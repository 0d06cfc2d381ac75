"""Which float32 means of windows follow from the sums of their integers: beside windows that are added up."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match.arithmetic.interface import QuantizedType
from match.arithmetic.window_means import is_mean_of_sum
from tests.sampled import in_turn

pytestmark = pytest.mark.unit

Float32Array = npt.NDArray[np.float32]

scales = st.floats(0.004, 0.2).map(np.float32)
types = st.sampled_from(["uint8", "int8"])


def of_type(dtype: str, scale: np.float32, above: int) -> QuantizedType:
    return QuantizedType(scale, int(np.iinfo(dtype).min) + above, dtype)


def outputs(sums: Float32Array, count: int, own: QuantizedType) -> list[npt.NDArray[np.int64]]:
    """The means of float32 sums as a runtime may compute and quantize them."""
    limits, zero = np.iinfo(own.dtype), np.float32(own.zero_point)
    means = sums / np.float32(count), sums * (np.float32(1) / np.float32(count))
    steps = [mean / own.scale for mean in means]
    rounded = [level for step in steps for level in (np.rint(step + zero), np.rint(step) + zero)]
    return [np.clip(level, limits.min, limits.max).astype(np.int64) for level in rounded]


def follows(x: QuantizedType, windows: npt.NDArray[np.int64], output: QuantizedType) -> bool:
    """Whether windows (windows, count) with the same sum have the same mean, in all orders and for all runtimes."""
    count = windows.shape[1]
    numbers = windows.astype(np.float32) * x.scale
    found: list[npt.NDArray[np.int64]] = []
    for order in itertools.permutations(range(count)):
        sums = numbers[:, order[0]]
        for place in order[1:]:
            sums = sums + numbers[:, place]
        found += outputs(sums, count, output)
    same = np.stack(found)
    if np.any(same != same[0]):
        return False
    total = windows.sum(axis=1)
    place = np.argsort(total, kind="stable")
    total, means = total[place], same[0][place]
    return not np.any((np.diff(total) == 0) & (np.diff(means) != 0))


@settings(max_examples=40, deadline=None)
@given(scales, st.one_of(st.none(), scales), types, st.integers(0, 255), st.integers(0, 255))
def test_two_numbers(scale: np.float32, other: np.float32 | None, dtype: str, zero: int, out_zero: int) -> None:
    """All pairs: what is proven is so, and what is not proven has sums whose mean could be either of two."""
    x = of_type(dtype, scale, zero)
    output = x if other is None else of_type(dtype, other, out_zero)
    levels = x.levels - x.zero_point
    windows = np.stack(np.meshgrid(levels, levels), axis=-1).reshape(-1, 2)
    proven = is_mean_of_sum(x, 2, output)
    assert not proven or follows(x, windows, output)
    if other is None and zero in (0, 255):  # halves, of which nothing absorbs the last bits
        assert proven == follows(x, windows, output)


@settings(max_examples=40, deadline=None)
@given(
    data=st.data(), count=st.integers(3, 5), scale=scales, ratio=st.floats(0.4, 1.5), dtype=types, same=st.booleans()
)
def test_random_windows(
    data: st.DataObject, count: int, scale: np.float32, ratio: float, dtype: str, *, same: bool
) -> None:
    x = of_type(dtype, scale, data.draw(st.integers(0, 255)))
    output = x if same else of_type(dtype, np.float32(scale * ratio), data.draw(st.integers(0, 255)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    low, high = (int(end) - x.zero_point for end in (x.levels[0], x.levels[-1]))
    windows = rng.integers(low, high + 1, (3000, count))
    windows[::3] = np.clip(windows[::3] // 16, low, high)
    assert not is_mean_of_sum(x, count, output) or follows(x, windows, output)


@pytest.mark.parametrize(
    ("count", "zero"), in_turn([(count,) for count in (2, 3, 4, 6, 9, 15, 16, 25, 49, 64)], [(0,), (10,), (128,)])
)
def test_windows_within_one_quantization(count: int, zero: int) -> None:
    """An odd number of elements has no halves; an even one has, but float32 may add them without rounding."""
    x = of_type("uint8", np.float32(0.03137), zero)
    assert is_mean_of_sum(x, count, x) == bool(count % 2)
    without_rounding = of_type("uint8", np.float32(0.125), zero)
    assert is_mean_of_sum(without_rounding, count, without_rounding)


def test_large_windows_that_are_added_without_rounding() -> None:
    """Halves are the same in all orders, and go to even outputs, as long as float32 holds the sums and the shares."""
    x, output = of_type("int8", np.float32(0.125), 128), of_type("int8", np.float32(0.0625), 128)
    rng = np.random.default_rng(2)
    for count in (64, 256, 1024):
        windows = rng.integers(-128, 128, (3000, count))
        totals = windows.sum(axis=1)
        assert np.any(2 * totals % count == count // 2)
        assert is_mean_of_sum(x, count, output)
        expected = np.clip(np.rint(2 * totals / count), -128, 127).astype(np.int64)
        for found in outputs((windows.astype(np.float32) * x.scale).sum(axis=1, dtype=np.float32), count, output):
            np.testing.assert_array_equal(found, expected)


def test_a_sum_that_is_near_a_half_for_some_orders_alone() -> None:
    """1/3 and others added up to a half in one order, to a little less in another one."""
    x = of_type("uint8", np.float32(1 / 3), 0)
    output = of_type("uint8", np.float32(2 / 3), 0)
    assert not is_mean_of_sum(x, 3, output)


def test_a_large_window_whose_sum_is_near_a_half() -> None:
    """Outputs in steps that make a half of one sum, or put it a few last bits beside a half."""
    x = of_type("uint8", np.float32(0.0371), 0)
    rng = np.random.default_rng(4)
    windows = rng.integers(60, 180, (20000, 25))
    windows[:, -1] += 3000 - windows.sum(axis=1)
    windows = windows[(windows[:, -1] >= 0) & (windows[:, -1] < 256)]
    scale, differing = np.float32(3000 * float(x.scale) / 25 / 100.5), 0
    for bits in range(-8, 9):
        output = of_type("uint8", np.float32(scale + bits * np.spacing(scale)), 0)
        numbers = windows.astype(np.float32) * x.scale
        sums = np.cumsum(numbers, axis=1, dtype=np.float32)[:, -1]
        if len(np.unique(outputs(sums, 25, output)[0])) > 1:
            differing += 1
            assert not is_mean_of_sum(x, 25, output)
    assert differing > 3
