"""The builders compute what their definitions say, and the readers read what the builders built."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from match.graph import sums
from match.graph.pairs import Addition
from match.graph.sums import Accumulation
from match.ir.graph import Tensor
from match.ir.layer import Padding
from match.ir.requantization import UNREACHED, Requantization
from match.relay import integer_form, readers, relay, tvm
from match.relay.lowering import lowered
from tests import layers_in_relay
from tests.passes.networks import requantization, weights
from tests.passes.running import Compiled, random_values

pytestmark = pytest.mark.tvm


def run(x: relay.Var, expr: relay.Expr, value: np.ndarray) -> tuple[np.ndarray, relay.Expr]:
    """The value of `expr`, and `expr` with its types."""
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], expr)))
    return Compiled(module)({"x": value})[0], module["main"].body


def layer_of(typed: relay.Expr) -> Accumulation:
    read = readers.read_layer(typed)
    assert read is not None
    return read.operator


def plain(parameters: Requantization) -> Requantization:
    """Without corrections, exceptions and halves to even, which readers do not know."""
    return replace(parameters, negative_below=None, negative_step=None, exceptions=None, ties_to_even=None)


def same(first: Requantization, second: Requantization) -> bool:
    pairs = [(getattr(first, name), getattr(second, name)) for name in ("multiplier", "bias", "shift")]
    pairs += [(first.negative_below, second.negative_below), (first.exceptions, second.exceptions)]
    pairs += [(first.ties_to_even, second.ties_to_even)]
    return first.clip == second.clip and all(
        (a is None and b is None) or np.array_equal(np.asarray(a), np.asarray(b)) for a, b in pairs
    )


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize("pad_value", [0, 5])
def test_conv2d(dtype, pad_value):
    rng = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 7, 6, 4), dtype=dtype)
    parameters = requantization(rng, 24, 5, (-100, 100), correction=True)
    kernel = weights(rng, 3, 2, 4, 5)
    corrected, uncorrected = (
        layers_in_relay.conv2d(
            x, kernel, line, "int8", x_dtype=dtype, strides=(2, 1), padding=Padding(1, 0, 2, 1), pad_value=pad_value
        )
        for line in (parameters, plain(parameters))
    )
    value = random_values(rng, (1, 7, 6, 4), dtype)
    found, _ = run(x, corrected, value)
    other, typed = run(x, uncorrected, value)
    padded = np.pad(value.astype(np.int64), ((0, 0), (1, 2), (0, 1), (0, 0)), constant_values=pad_value)
    total = np.zeros(found.shape, np.int64)
    for row in range(found.shape[1]):
        for column in range(found.shape[2]):
            window = padded[0, row * 2 : row * 2 + 3, column : column + 2]
            total[0, row, column] = np.tensordot(window, kernel.astype(np.int64), 3)
    np.testing.assert_array_equal(found, parameters(total))
    np.testing.assert_array_equal(other, plain(parameters)(total))
    assert np.any(found != other)
    layer = layer_of(typed)
    assert isinstance(layer, sums.Convolution)
    assert (layer.padding, layer.pad_value, layer.strides) == (Padding(1, 0, 2, 1), pad_value, (2, 1))
    assert (layer.weights == kernel).all()
    assert same(layer.requantization, plain(parameters))
    for line, expected in ((plain(parameters), other), (parameters, found)):
        expr = lowered(replace(layer, requantization=line), [x], [Tensor(value.shape, str(value.dtype))])
        again, _ = run(x, expr, value)
        np.testing.assert_array_equal(again, expected)


def test_depthwise_conv2d():
    rng = np.random.default_rng(1)
    x = relay.var("x", shape=(1, 6, 6, 4), dtype="uint8")
    kernel, parameters = weights(rng, 3, 3, 4, 1), requantization(rng, 9, 4, (0, 255))
    found, typed = run(
        x,
        layers_in_relay.conv2d(x, kernel, parameters, "uint8", groups=4, kernel_layout="HWOI"),
        value := random_values(rng, (1, 6, 6, 4), "uint8"),
    )
    total = np.zeros(found.shape, np.int64)
    for row in range(4):
        for column in range(4):
            window = value[0, row : row + 3, column : column + 3].astype(np.int64)
            total[0, row, column] = (window * kernel[..., 0]).sum(axis=(0, 1))
    np.testing.assert_array_equal(found, parameters(total))
    layer = layer_of(typed)
    assert isinstance(layer, sums.Convolution)
    assert layer.depthwise
    assert (layer.weights_by_output == kernel[..., 0].transpose(2, 0, 1).reshape(4, 9)).all()


def test_dense_with_exceptions():
    rng = np.random.default_rng(2)
    x = relay.var("x", shape=(3, 8), dtype="int8")
    kernel = weights(rng, 4, 8)
    value = random_values(rng, (3, 8), "int8")
    total = value.astype(np.int64) @ kernel.T.astype(np.int64)
    exceptions = np.full((4, 2), UNREACHED, np.int64)
    exceptions[0, 0], exceptions[2] = total[1, 0], (total[0, 2], total[2, 2])
    shift = np.array([8, 9, 10, 11])
    parameters = Requantization(np.ones(4, np.int64), np.zeros(4, np.int64), shift, (-128, 127), exceptions=exceptions)
    found, _ = run(x, layers_in_relay.dense(x, kernel, parameters, "int8"), value)
    expected = np.clip(total >> shift, -128, 127)
    expected[[1, 0, 2], [0, 2, 2]] -= 1
    np.testing.assert_array_equal(found, np.clip(expected, -128, 127))
    _, typed = run(x, layers_in_relay.dense(x, kernel, plain(parameters), "int8"), value)
    layer = layer_of(typed)
    assert isinstance(layer, sums.Dense)
    assert same(layer.requantization, plain(parameters))
    again, _ = run(x, lowered(replace(layer, requantization=parameters), [x], [Tensor(value.shape, "int8")]), value)
    np.testing.assert_array_equal(again, found)


@pytest.mark.parametrize("whole_map", [True, False])
def test_avg_pool2d(whole_map):
    rng = np.random.default_rng(3)
    x = relay.var("x", shape=(1, 5, 4, 3), dtype="uint8")
    window = (5, 4) if whole_map else (2, 3)
    parameters = requantization(rng, 1, 3, (0, 255))
    expr = layers_in_relay.avg_pool2d(x, parameters, "uint8", window=window, strides=(1, 1), whole_map=whole_map)
    value = random_values(rng, (1, 5, 4, 3), "uint8")
    found, typed = run(x, expr, value)
    windows = np.lib.stride_tricks.sliding_window_view(value.astype(np.int64), window, axis=(1, 2))
    np.testing.assert_array_equal(found, parameters(windows.sum(axis=(-2, -1))))
    layer = layer_of(typed)
    assert isinstance(layer, sums.Average)
    assert (layer.window, layer.whole_map) == (window, whole_map)


def test_add_and_tables():
    rng = np.random.default_rng(4)
    x = relay.var("x", shape=(1, 4, 4, 3), dtype="int8")
    table = rng.integers(-128, 128, 256)
    pairs = rng.integers(0, 256, (256, 256))
    other = integer_form.lookup(x, table, "int8", "int8")
    total = integer_form.add(x, other, (700, -300), -12345, 9, (-90, 80), "int8")
    both = integer_form.lookup_pair(x, other, pairs, ("int8", "int8"), "uint8")
    value = random_values(rng, (1, 4, 4, 3), "int8")
    outputs, typed = [], []
    for expr in (other, total, both):
        found, body = run(x, expr, value)
        outputs.append(found)
        typed.append(body)
    wide = value.astype(np.int64)
    np.testing.assert_array_equal(outputs[0], table[wide + 128])
    second = table[wide + 128]
    np.testing.assert_array_equal(outputs[1], np.clip((700 * wide - 300 * second - 12345) >> 9, -90, 80))
    np.testing.assert_array_equal(outputs[2], pairs[wide + 128, second + 128])
    lookup, addition = readers.read_lookup(typed[0]), readers.read_addition(typed[1])
    assert lookup is not None
    assert (lookup.operator.outputs == table).all()
    assert addition is not None
    assert (addition.operator.multipliers, addition.operator.bias, addition.operator.shift) == ((700, -300), -12345, 9)


@pytest.mark.parametrize("marked", [[True] * 5, [True, False, True, False, False]])
def test_halves_to_even(marked):
    """All channels or some are rounded so, beside what NumPy rounds."""
    rng = np.random.default_rng(3)
    x = relay.var("x", shape=(400, 4), dtype="uint8")
    kernel = rng.integers(-3, 4, (5, 4)).astype(np.int8)
    shift, ties = np.array([1, 3, 4, 2, 5]), np.array(marked)
    parameters = Requantization(np.ones(5, np.int64), 1 << shift - 1, shift, (-90, 80), ties_to_even=ties)
    value = random_values(rng, (400, 4), "uint8")
    found, _ = run(x, layers_in_relay.dense(x, kernel, parameters, "int8"), value)
    real = value.astype(np.int64) @ kernel.T.astype(np.int64) / 2.0**shift
    expected = np.where(ties, np.rint(real), np.floor(real + 0.5))
    assert np.any(np.rint(real) != np.floor(real + 0.5))
    np.testing.assert_array_equal(found, np.clip(expected, -90, 80))
    layer = sums.Dense(weights=kernel, requantization=parameters, dtype="int8")
    np.testing.assert_array_equal(layer.compute(value), found)
    again, _ = run(x, lowered(layer, [x], [Tensor(value.shape, str(value.dtype))]), value)
    np.testing.assert_array_equal(again, found)


def test_sums_of_two_with_halves_to_even():
    rng = np.random.default_rng(4)
    x = relay.var("x", shape=(1, 4, 4, 3), dtype="int8")
    other = relay.const(rng.integers(-128, 128, (1, 4, 4, 3)).astype(np.int8))
    expr = integer_form.add(x, other, (1, -2), 2, 2, (-90, 80), "int8", ties_to_even=True)
    value = random_values(rng, (1, 4, 4, 3), "int8")
    found, _ = run(x, expr, value)
    real = (value.astype(np.int64) - 2 * other.data.numpy().astype(np.int64)) / 4
    assert np.any(np.rint(real) != np.floor(real + 0.5))
    np.testing.assert_array_equal(found, np.clip(np.rint(real), -90, 80))
    addition = Addition(multipliers=(1, -2), bias=2, shift=2, clip=(-90, 80), dtype="int8", ties_to_even=True)
    wide = value.astype(np.int64) - 2 * other.data.numpy().astype(np.int64)
    np.testing.assert_array_equal(addition.requantization(wide[..., None])[..., 0], found)
    again, _ = run(x, lowered(addition, [x, other], [Tensor(value.shape, "int8")] * 2), value)
    np.testing.assert_array_equal(again, found)


@pytest.mark.parametrize(("mask", "value"), [(7, 2), (3, 4), (15, 4), (7, -1), (0, -1)])
def test_what_looks_like_halves_is_not_read_as_them(mask, value):
    """The sum is shifted by 2: halves are those with 4 in their lowest three bits."""
    x = relay.var("x", shape=(1, 4, 4, 3), dtype="int8")
    wide = relay.cast(x, "int64")
    products = [relay.multiply(wide, integer_form.int64(factor)) for factor in (3, 5)]
    total = relay.add(relay.add(*products), integer_form.int64(9))
    found = relay.equal(relay.bitwise_and(total, integer_form.int64(mask)), integer_form.int64(value))
    less = relay.subtract(total, relay.cast(found, "int64"))
    expr = integer_form.saturate(relay.right_shift(less, integer_form.int64(2)), (-90, 80), "int8")
    typed = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], expr)))["main"].body
    assert readers.read_addition(typed) is None


def test_other_expressions_are_not_read():
    x = relay.var("x", shape=(1, 4, 4, 3), dtype="int8")
    wide = relay.cast(x, "int32")
    for expr in (relay.cast(relay.clip(wide, 0, 5), "int8"), relay.nn.max_pool2d(x, layout="NHWC"), wide):
        typed = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], expr)))["main"].body
        assert readers.read_layer(typed) is None
        assert readers.read_addition(typed) is None
        assert readers.read_lookup(typed) is None


@pytest.mark.parametrize("real", [False, True])
def test_sum_of_lookups(real):
    """Sums beyond the clip, of a map and of one pixel for all, of which the map is signed."""
    rng = np.random.default_rng(5)
    x = relay.var("x", shape=(1, 4, 4, 3), dtype="int8")
    pixel = relay.const(rng.integers(0, 256, (1, 1, 1, 3)).astype(np.uint8))
    tables = rng.integers(-(2**28), 2**28, (2, 256))
    expr = integer_form.lookup_sum(x, pixel, ("int8", "uint8"), tables, (-90, 80), "int8", real=real)
    value = random_values(rng, (1, 4, 4, 3), "int8")
    found, _ = run(x, expr, value)
    sums = tables[0][value.astype(np.int64) + 128] + tables[1][pixel.data.numpy().astype(np.int64)]
    np.testing.assert_array_equal(found, np.clip(np.floor_divide(sums, 2**20), -90, 80))


@pytest.mark.parametrize("real", [False, True])
def test_looked_up_line(real):
    """Lines beyond the clip, of a signed map and of one channel of it, and of one pixel."""
    rng = np.random.default_rng(7)
    x = relay.var("x", shape=(1, 4, 4, 3), dtype="int8")
    lines = np.stack([rng.integers(-(2**18), 2**18, 256), rng.integers(-(2**23), 2**23, 256)])
    value = random_values(rng, (1, 4, 4, 3), "int8")
    wide = value.astype(np.int64)
    pixel = rng.integers(0, 256, (1, 1, 1, 3)).astype(np.uint8)
    channel = relay.strided_slice(x, [1], [2], axes=[3])
    for other, chosen, dtype in ((relay.const(pixel), pixel, "uint8"), (channel, wide[..., 1:2] + 128, "int8")):
        expr = integer_form.lookup_line(x, other, ("int8", dtype), lines, (-90, 80), "int8", real=real)
        found, _ = run(x, expr, value)
        sums = wide * lines[0][chosen] + lines[1][chosen]
        np.testing.assert_array_equal(found, np.clip(np.floor_divide(sums, 2**15), -90, 80))


def test_absolute_difference():
    """Differences beyond the clip, of a map and of one pixel for all, of which the map is signed."""
    rng = np.random.default_rng(6)
    x = relay.var("x", shape=(1, 4, 4, 3), dtype="int8")
    pixel = relay.const(rng.integers(0, 256, (1, 1, 1, 3)).astype(np.uint8))
    tables = rng.integers(-(2**27), 2**27, (2, 256))
    expr = integer_form.absolute_difference(x, pixel, ("int8", "uint8"), tables, (-90, 80), "int8")
    value = random_values(rng, (1, 4, 4, 3), "int8")
    found, _ = run(x, expr, value)
    sums = tables[0][value.astype(np.int64) + 128] + tables[1][pixel.data.numpy().astype(np.int64)]
    np.testing.assert_array_equal(found, np.clip(np.abs(np.floor_divide(sums, 2**20)) - 90, -90, 80))
