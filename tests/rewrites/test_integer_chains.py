"""Chains of integer operators as one operator: what becomes of them, and that it computes the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from match.graph.elements import OfElements
from match.graph.evaluate import evaluate
from match.graph.integers import Clip, Saturate
from match.graph.make import arithmetic, cast, constant
from match.graph.pairs import Addition, Multiplication
from match.graph.sums import Accumulation, Average, Convolution, Dense, unchanged
from match.graph.text import parse, text
from match.graph.value import Graph, Value, computed
from match.ir.graph import Tensor
from match.ir.layer import Padding
from match.rewrites.integer_chains import with_integer_chains

pytestmark = pytest.mark.unit

RNG = np.random.default_rng(4)


def given(shape: tuple[int, ...], dtype: str = "int8", name: str = "x") -> Value:
    return Value(Tensor(shape, dtype), source=name)


def numbers(values: Any, dtype: str = "int32") -> Value:
    return constant(np.asarray(values), dtype)


def weights(*shape: int) -> Any:
    return RNG.integers(-128, 128, shape).astype(np.int8)


def convolved(x: Value, channels: int = 6) -> Value:
    filters = weights(3, 3, x.shape[3], channels)
    padding, ones = Padding(1, 1, 1, 1), (1, 1)
    own = {"strides": ones, "padding": padding, "dilation": ones, "groups": 1, "pad_value": 0, "kernel_layout": "HWIO"}
    return computed(Convolution(weights=filters, requantization=unchanged(channels), dtype="int32", **own), x)


def depthwise(x: Value) -> Value:
    own = {"strides": (2, 1), "padding": Padding(), "dilation": (1, 1), "pad_value": 0, "kernel_layout": "HWOI"}
    filters, channels = weights(3, 3, x.shape[3], 1), x.shape[3]
    layer = Convolution(weights=filters, requantization=unchanged(channels), dtype="int32", groups=channels, **own)
    return computed(layer, x)


def averaged(x: Value, size: int) -> Value:
    own = {"window": (size, size), "strides": (1, 1), "whole_map": x.shape[1] == size}
    return computed(Average(requantization=unchanged(x.shape[3]), dtype="int32", **own), x)


def dense(x: Value, filters: Any) -> Value:
    return computed(Dense(weights=filters, requantization=unchanged(len(filters)), dtype="int32"), x)


def saturated(x: Value, low: int = -128, high: int = 127, more: int = 0) -> Value:
    return computed(Saturate(more=more, clip=(low, high), dtype="int8"), x)


def clipped(x: Value, low: int, high: int) -> Value:
    return computed(Clip(limits=(low, high), dtype=x.dtype), x)


def shifted(x: Value, shift: Any) -> Value:
    return arithmetic("right_shift", x, numbers(shift, x.dtype))


def times(x: Value, factor: Any) -> Value:
    return arithmetic("multiply", x, numbers(factor, x.dtype))


def plus(x: Value, more: Any) -> Value:
    return arithmetic("add", x, numbers(more, x.dtype))


MAP = (1, 4, 4, 5)

LAYERS = {
    "by channel": lambda x: saturated(
        shifted(plus(times(convolved(x), RNG.integers(1, 50, (1, 1, 1, 6))), RNG.integers(-90000, 90000, 6)), 14)
    ),
    "in 64 bits": lambda x: cast(clipped(shifted(times(cast(convolved(x), "int64"), 123456789), 39), -100, 90), "int8"),
    "taken from a number": lambda x: saturated(shifted(arithmetic("subtract", numbers(77), convolved(x)), 9)),
    "depthwise, more before the clip": lambda x: saturated(shifted(depthwise(x), 8), 0, 100, more=-9),
    "limits between two shifts": lambda x: saturated(
        shifted(plus(arithmetic("maximum", shifted(convolved(x), [2, 3, 4, 4, 5, 3]), numbers(0)), 64), 7), 4
    ),
    "a mean": lambda x: saturated(arithmetic("floor_divide", plus(averaged(x, 3), 4), numbers(9))),
    "a mean that nothing clips": lambda x: cast(shifted(averaged(x, 4), 4), "int8"),
    "a mean that is scaled": lambda x: cast(
        clipped(
            shifted(plus(times(cast(arithmetic("floor_divide", averaged(x, 3), numbers(9)), "int64"), 16), 7), 5), 0, 99
        ),
        "uint8",
    ),
}


def assert_same(before: Graph, after: Graph, samples: int = 8) -> None:
    for sample in range(samples):
        arrays: list[Any] = []
        for x in before.inputs:
            limits = np.iinfo(x.dtype)
            drawn = RNG.integers(limits.min, limits.max + 1, x.shape)
            arrays.append(np.full(x.shape, (limits.min, limits.max)[sample] if sample < 2 else drawn, x.dtype))
        for one, other in zip(evaluate(before, arrays), evaluate(after, arrays), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", LAYERS)
def test_sums_with_a_chain_are_one_layer(name: str) -> None:
    x = given(MAP)
    before = Graph((x,), (LAYERS[name](x),))
    after = with_integer_chains(before)
    assert isinstance(after.outputs[0].operator, Accumulation)
    assert after.outputs[0].inputs == (x,)
    assert_same(before, after)


@pytest.mark.parametrize("factor", [3000, 40000])
def test_what_may_wrap_around_stays(factor: int) -> None:
    """Sums are up to 40 * 100 * 128, below 2**19: the first factor takes them to 31 bits, the second one beyond."""
    x = given((1, 40))
    before = Graph((x,), (saturated(shifted(times(dense(x, np.full((9, 40), 100, np.int8)), factor), 24)),))
    after = with_integer_chains(before)
    assert isinstance(after.outputs[0].operator, Dense) == (factor == 3000)
    assert_same(before, after)


def test_what_is_known_of_the_input_may_keep_it_from_wrapping_around() -> None:
    x = given((1, 40))
    few = computed(Clip(limits=(0, 12), dtype="int8"), x)
    before = Graph((x,), (saturated(shifted(times(dense(few, np.full((9, 40), 100, np.int8)), 40000), 24)),))
    after = with_integer_chains(before)
    assert isinstance(after.outputs[0].operator, Dense)
    assert_same(before, after)


@pytest.mark.parametrize(
    "chain",
    [
        lambda sums: cast(clipped(shifted(sums, 8), -300, 300), "int8"),
        lambda sums: saturated(shifted(sums, 33)),
        lambda sums: saturated(arithmetic("multiply", shifted(sums, 4), shifted(sums, 5))),
        lambda sums: saturated(arithmetic("floor_divide", sums, numbers(-7))),
        lambda sums: saturated(arithmetic("right_shift", sums, sums)),
        lambda sums: saturated(shifted(times(arithmetic("maximum", sums, numbers(0)), -3), 8)),
        lambda sums: saturated(shifted(arithmetic("add", arithmetic("maximum", sums, numbers(0)), sums), 8)),
    ],
)
def test_other_chains_stay(chain: Any) -> None:
    x = given((1, 40))
    before = Graph((x,), (chain(dense(x, weights(9, 40))),))
    assert text(with_integer_chains(before)) == text(before)


PAIRS = {
    "a sum": (lambda a, b: shifted(arithmetic("add", a, b), 1), Addition),
    "a weighted sum": (lambda a, b: shifted(plus(arithmetic("add", times(a, 37), times(b, -101)), 500), 7), Addition),
    "a difference": (lambda a, b: shifted(arithmetic("subtract", a, b), 1), Addition),
    "a product": (lambda a, b: shifted(plus(arithmetic("multiply", a, b), 64), 7), Multiplication),
}


@pytest.mark.parametrize("dtypes", [("int8", "int8"), ("uint8", "int8")])
@pytest.mark.parametrize("name", PAIRS)
def test_two_tensors(name: str, dtypes: tuple[str, str]) -> None:
    build, kind = PAIRS[name]
    shape = (1, 64, 64, 16)
    a, b = (given(shape, dtype, name) for dtype, name in zip(dtypes, "ab", strict=True))
    before = Graph((a, b), (saturated(build(cast(a, "int32"), cast(b, "int32"))),))
    after = with_integer_chains(before)
    assert isinstance(after.outputs[0].operator, kind)
    assert_same(before, after, samples=4)


BEFORE = """\
v0: int8[1, 2] = input('x')
v1: int32[1, 2] = dense(v0, weights=int8([[3, 4], [-5, 6]]), requantization=Requantization(multiplier=int64(1, (2,)), \
bias=int64(0, (2,)), shift=int64(0, (2,)), clip=(-2147483648, 2147483647)), dtype='int32').of('fc')
v2: int32[2] = constant(array=int32([100, -30]))
v3: int32[1, 2] = elementwise(v1, v2, function='add', dtype='int32').of('bias')
v4: int32[()] = constant(array=int32(5))
v5: int32[1, 2] = elementwise(v3, v4, function='right_shift', dtype='int32')
v6: uint8[1, 2] = saturate(v5, more=0, clip=(0, 255), dtype='uint8').of('relu')
return v6
"""

AFTER = """\
v0: int8[1, 2] = input('x')
v1: uint8[1, 2] = dense(v0, requantization=Requantization(multiplier=int64(1, (2,)), bias=int64([100, -30]), \
shift=int64(5, (2,)), clip=(0, 255)), dtype='uint8', weights=int8([[3, 4], [-5, 6]])).of('fc')
return v1
"""


def test_a_layer_as_text() -> None:
    """It has the name of its sums."""
    assert text(with_integer_chains(parse(BEFORE))) == AFTER


def test_what_the_reference_does_not_compute_just_so_is_not_called_exact() -> None:
    graph = parse(BEFORE.replace(".of('fc')", ".of('fc', exact=False)"))
    assert not with_integer_chains(graph).outputs[0].exact


def test_a_function_of_one_tensor_is_left_to_tables() -> None:
    x = given(MAP)
    before = Graph((x,), (saturated(times(cast(x, "int32"), 3)),))
    after = with_integer_chains(before)
    assert not isinstance(after.outputs[0].operator, Accumulation)
    assert isinstance(after.outputs[0].operator, OfElements)
