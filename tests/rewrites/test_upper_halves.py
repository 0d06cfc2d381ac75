"""Tensors whose values lie in the upper half of their type are stored 128 lower; whatever reads them is as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from match.graph.resize import Between, Resize
from match.ir.layer import Padding
from match.ir.requantization import Requantization
from match.relay import integer_form, relay
from match.relay.objects import expressions, main_function
from match.relay.readers import read_addition
from match.relay.resize import resized as written
from match.relay.rewrite import constant, is_call
from tests import layers_in_relay
from tests.rewrites.test_unsigned import EVERY_VALUE, stored_unsigned, typed, unsigned, var

pytestmark = pytest.mark.tvm

RNG = np.random.default_rng(3)
WEIGHTS = RNG.integers(-128, 128, (3, 3, 4, 5)).astype(np.int8)
TABLES = RNG.integers(-(2**26), 2**26, (2, 256))
CLIPS = {"int8": (-100, 110), "uint8": (20, 250)}


def rectified(x: Any, dtype: str, step: int = 1) -> Any:
    """An 8-bit sum whose values are in the upper half of the type, all of which are met."""
    middle = 0 if dtype == "int8" else 128
    return integer_form.add(x, x, (step, step), middle + 1, 0, (middle, middle + 127), dtype)


def requantization(channels: int, dtype: str, ties: bool = False) -> Requantization:
    ones = np.ones(channels, np.int64)
    marked = ones > 0 if ties else None
    return Requantization(ones, ones * (1 << 8), ones * 9, CLIPS[dtype], ties_to_even=marked)


def conv(x: Any, dtype: str, pad_value: int, ties: bool = False) -> Any:
    return layers_in_relay.conv2d(
        x,
        WEIGHTS,
        requantization(5, dtype, ties),
        dtype,
        x_dtype=dtype,
        padding=Padding(1, 0, 0, 2),
        pad_value=pad_value,
    )


def middle(dtype: str) -> int:
    return 0 if dtype == "int8" else 128


def with_tables(x: Any, y: Any, dtype: str) -> list[Any]:
    types = dtype, dtype
    one = replace_clip(requantization(1, dtype), dtype)
    return [
        integer_form.lookup_sum(x, y, types, TABLES, CLIPS[dtype], dtype),
        integer_form.lookup_line(x, y, types, TABLES >> 4, CLIPS[dtype], dtype),
        integer_form.absolute_difference(x, y, types, TABLES, CLIPS[dtype], dtype),
        integer_form.squared_difference(x, y, types, np.abs(TABLES) >> 20, one, dtype),
        integer_form.multiply(x, y, (middle(dtype), 3), one, dtype),
        integer_form.add(x, y, (3, -2), 9, 2, CLIPS[dtype], dtype, ties_to_even=True),
    ]


def replace_clip(line: Requantization, dtype: str) -> Requantization:
    return Requantization(line.multiplier, line.bias, line.shift, CLIPS[dtype])


def resized(x: Any, dtype: str) -> Any:
    between = Between(*np.stack([np.arange(7), np.arange(1, 8), np.full(7, 512)]).astype(np.int64))
    return written(Resize(rows=between, columns=between, zero=middle(dtype) + 40, dtype=dtype), x)


def pad(x: Any, value: int, dtype: str) -> Any:
    return relay.nn.pad(x, ((0, 0), (1, 2), (0, 0), (0, 0)), relay.const(value, dtype))


Reader = Callable[[Any, Any, str], Any]
"""What reads a tensor in the upper half, with the input as it is and the type."""

READERS: dict[str, Reader] = {
    "convolution": lambda y, x, dtype: conv(y, dtype, middle(dtype)),
    "convolution, halves to even": lambda y, x, dtype: conv(y, dtype, middle(dtype), ties=True),
    "convolution, other padding": lambda y, x, dtype: conv(y, dtype, middle(dtype) - 7),
    "sums": lambda y, x, dtype: integer_form.convolution(y, WEIGHTS, x_dtype=dtype, padding=Padding(1, 1, 1, 1)),
    "sums of a product": lambda y, x, dtype: integer_form.product(relay.reshape(y, (64, 4)), WEIGHTS[0, 0].T.copy()),
    "average": lambda y, x, dtype: layers_in_relay.avg_pool2d(y, requantization(4, dtype), dtype, window=(2, 2)),
    "largest": lambda y, x, dtype: integer_form.max_pool2d(y, window=(2, 2)),
    "table": lambda y, x, dtype: integer_form.lookup(
        y, RNG.permutation(np.arange(256)) - middle("int8"), dtype, "uint8"
    ),
    "tables of channels": lambda y, x, dtype: integer_form.channel_lookup(
        y, RNG.integers(0, 256, (4, 256)), dtype, "uint8"
    ),
    "concatenation": lambda y, x, dtype: relay.concatenate([y, relay.reverse(y, 1), y], 3),
    "concatenation with others": lambda y, x, dtype: relay.concatenate([y, x, y], 3),
    "stack": lambda y, x, dtype: relay.stack([x, y], 1),
    "padding": lambda y, x, dtype: pad(y, middle(dtype), dtype),
    "padding from below": lambda y, x, dtype: pad(y, middle(dtype) - 100, dtype),
    "clip": lambda y, x, dtype: relay.clip(y, middle(dtype) + 3, middle(dtype) + 90),
    "clip from below": lambda y, x, dtype: relay.clip(y, middle(dtype) - 3, middle(dtype) + 90),
    "turned": lambda y, x, dtype: relay.transpose(relay.strided_slice(y, [1], [3], axes=[3]), (0, 2, 1, 3)),
    "resize": lambda y, x, dtype: resized(y, dtype),
    "place": lambda y, x, dtype: relay.argmax(relay.cast(y, "int32"), axis=3),
    "differences": lambda y, x, dtype: relay.subtract(relay.cast(y, "int16"), relay.cast(x, "int16")),
    "real": lambda y, x, dtype: relay.qnn.dequantize(y, relay.const(0.5), relay.const(middle(dtype), "int32")),
    "unknown": lambda y, x, dtype: relay.maximum(y, relay.const(middle(dtype) + 5, dtype)),
    "an output": lambda y, x, dtype: relay.Tuple([y, relay.reverse(y, 1)]),
    "two": lambda y, x, dtype: relay.Tuple(with_tables(y, relay.reverse(y, 1), dtype)),
    "two, the first": lambda y, x, dtype: relay.Tuple(with_tables(y, x, dtype)),
    "two, the second": lambda y, x, dtype: relay.Tuple(with_tables(x, y, dtype)),
}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("reader", READERS)
def test_readers_compute_what_they_did(reader: str, dtype: str) -> None:
    x = var(kind=dtype)
    values = np.random.default_rng(0).permutation(EVERY_VALUE.reshape(-1)).reshape(EVERY_VALUE.shape).view(dtype)
    body = READERS[reader](rectified(x, dtype), x, dtype)
    unsigned(x, body, values)
    module = stored_unsigned(typed(x, body))
    additions = [read.operator for expr in expressions(main_function(module)) if (read := read_addition(expr))]
    assert (additions[0].clip, additions[0].dtype) == ((0, 127), "uint8")


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_tables_in_the_upper_half(dtype: str) -> None:
    """A table with such entries is written for what is stored, but not an output of the network."""
    x = var(kind=dtype)
    values = EVERY_VALUE if dtype == "int8" else EVERY_VALUE.view(np.uint8)
    table = integer_form.lookup(x, middle(dtype) + RNG.integers(0, 128, 256), dtype, dtype)
    pooled = relay.Tuple([conv(table, dtype, middle(dtype)), table])
    unsigned(x, pooled, values)
    joined = relay.concatenate([table, x], 3)
    assert [name for name, _ in unsigned(x, joined, values)].count("take") == 1
    read = [name for name, _ in unsigned(x, integer_form.max_pool2d(joined, window=(2, 2)), values)]
    assert read.count("take") == (3 if dtype == "int8" else 1)
    module = stored_unsigned(typed(x, pooled))
    tables = [constant(expr.args[0]) for expr in expressions(main_function(module)) if is_call(expr, "take")]
    assert any(entries is not None and entries.dtype == np.uint8 and entries.max() < 128 for entries in tables)


def test_a_sum_in_the_upper_half_of_a_type_is_met() -> None:
    """The tests above read values from 0 to 127."""
    x = var()
    doubled = np.clip(2 * EVERY_VALUE.astype(np.int64) + 1, 0, 127)
    assert doubled.min() == 0
    assert doubled.max() == 127
    assert len(np.unique(doubled)) > 60
    assert unsigned(x, rectified(x, "int8")) != []
