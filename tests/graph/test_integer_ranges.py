"""The ranges that operators on integers say of their results, beside all numbers of the ranges of their inputs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from match.graph.integers import Clip, Difference, Elementwise, Saturate
from match.graph.opaque import Constant
from match.graph.operator import Known, Operator, Range
from match.ir.graph import Tensor
from tests.seeds import seeded

pytestmark = pytest.mark.unit

FUNCTIONS = ("add", "subtract", "multiply", "maximum", "minimum", "negative", "cast", "right_shift", "floor_divide")


def drawn(rng: np.random.Generator, channels: int, low: int, high: int) -> Range:
    ends = np.sort(rng.integers(low, high + 1, (2, channels)), axis=0)
    return Range(ends[0], ends[1])


def all_results(operator: Operator, ranges: list[Range], channel: int) -> Any:
    """What it computes of all numbers of a channel, of integers of any size."""
    values = [np.arange(own.low[channel % len(own.low)], own.high[channel % len(own.high)] + 1) for own in ranges]
    pairs = np.array(list(itertools.product(*values)), object).T
    return operator.of_integers(*pairs)  # type: ignore[attr-defined]


@seeded(4)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["int8", "int32"])
def test_ranges_are_those_of_all_numbers(function: str, dtype: str, seed: int) -> None:
    rng, channels = np.random.default_rng(seed), 3
    ranges = [drawn(rng, channels, -30, 30)]
    if function not in ("negative", "cast"):
        beside = {"right_shift": (0, 7), "floor_divide": (1, 9)}.get(function, (-30, 30))
        ranges.append(drawn(rng, int(rng.choice([1, channels])), *beside))
    operator = Elementwise(function=function, dtype=dtype)
    inputs = [Known(Tensor((1, len(own.low)), "int32"), own) for own in ranges]
    found = operator.values(Tensor((1, channels), dtype), inputs)
    results = [all_results(operator, ranges, channel) for channel in range(channels)]
    limits = np.iinfo(dtype)
    if min(map(min, results)) < limits.min or max(map(max, results)) > limits.max:
        assert found is None
    else:
        assert found is not None
        assert [*found.low] == [min(own) for own in results]
        assert [*found.high] == [max(own) for own in results]


@pytest.mark.parametrize(
    ("operator", "dtypes", "ranges", "expected"),
    [
        (Clip(limits=(-3, 9), dtype="int32"), ["int32"], [(-40, 5)], (-3, 5)),
        (Saturate(more=-4, clip=(0, 99), dtype="uint8"), ["int32"], [(-40, 50)], (0, 46)),
        (Saturate(more=4, clip=(0, 99), dtype="uint8"), ["int32"], [(0, (1 << 31) - 4)], None),
        (Difference(dtype="int32"), ["uint8", "uint8"], [(3, 7), (100, 255)], (-252, -93)),
        (Elementwise(function="right_shift", dtype="int32"), ["int32", "int32"], [(0, 9), (-1, 3)], None),
        (Elementwise(function="right_shift", dtype="int32"), ["int32", "int32"], [(0, 9), (0, 32)], None),
        (Elementwise(function="floor_divide", dtype="int32"), ["int32", "int32"], [(0, 9), (0, 3)], None),
        (Elementwise(function="multiply", dtype="int64"), ["int64", "int64"], [(0, 1 << 40), (0, 1 << 40)], None),
        (Elementwise(function="equal", dtype="bool"), ["int32", "int32"], [(0, 9), (0, 3)], None),
        (Constant(array=np.array([[3, -2], [7, -9]])), [], [], (-9, 7)),
    ],
)
def test_ends(operator: Operator, dtypes: list[str], ranges: Any, expected: tuple[int, int] | None) -> None:
    inputs = [
        Known(Tensor((2, 2), dtype), Range(np.full(2, low), np.full(2, high)))
        for dtype, (low, high) in zip(dtypes, ranges, strict=True)
    ]
    found = operator.values(operator.result(*(x.tensor for x in inputs)), inputs)
    assert (None if found is None else tuple(found.ends)) == expected
