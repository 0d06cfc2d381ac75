"""Layers read from hand-built integer Relay: geometry by eye, arithmetic against TVM, near-misses left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from match.graph.elements import Dequantize, DequantizeSums, Quantize
from match.graph.operator import Operator
from match.graph.pairs import AbsoluteDifference, LookupLine, LookupSum, SquaredDifference
from match.graph.sums import Convolution
from match.graph.value import Value, computed
from match.ir.attributes import Broadcast, ChannelGroups, Concatenation, LookupTable
from match.ir.constants import (
    LOOKUP_LINE_FRACTION,
    LOOKUP_SUM_FRACTION,
    ChannelLines,
    Filters,
    Lines,
    Steps,
    Summands,
    Table,
)
from match.ir.float_border import FloatQuantization, order
from match.ir.layer import Layer, Op, Padding
from match.ir.requantization import Requantization
from match.partitioning.pattern import Match, Rejection, find_layers
from match.relay import relay, tvm
from tests.layer_data import data_of
from tests.layers_of import find
from tests.made import given, graph
from tests.passes.running import executable

pytestmark = pytest.mark.tvm

RNG = np.random.default_rng(3)
Array = npt.NDArray[Any]


def var(name: str, *shape: int, dtype: str = "uint8") -> Any:
    return relay.var(name, shape=shape, dtype=dtype)


def c64(value: Any) -> Any:
    return relay.const(np.asarray(value, np.int64), dtype="int64")


def weights(*shape: int) -> Array:
    return RNG.integers(-128, 128, shape).astype(np.int8)


def req(
    acc: Any,
    channels: int,
    *,
    dtype: str = "uint8",
    clip: tuple[int, int] = (0, 255),
) -> Any:
    """REQ of the integer form, spelled out."""
    m, s = RNG.integers(1 << 20, 1 << 21, channels), np.full(channels, 31)
    bias = c64(RNG.integers(0, 1 << 38, channels))
    total = relay.add(relay.multiply(relay.cast(acc, "int64"), c64(m)), bias)
    return relay.cast(relay.clip(relay.right_shift(total, c64(s)), *clip), dtype)


def conv(x: Any, w: Array, **attrs: Any) -> Any:
    defaults = {"kernel_layout": "HWIO", "channels": w.shape[3], "kernel_size": w.shape[:2], "out_dtype": "int32"}
    return relay.nn.conv2d(x, relay.const(w), data_layout="NHWC", **{**defaults, **attrs})


def depthwise(x: Any, w: Array, **attrs: Any) -> Any:
    channels = w.shape[2] * w.shape[3]
    return conv(x, w, kernel_layout="HWOI", groups=w.shape[2], channels=channels, **attrs)


def typed(inputs: list[Any], body: Any) -> Any:
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(inputs, body)))


def only(inputs: list[Any], body: Any) -> Match:
    (found,) = find(typed(inputs, body))
    assert isinstance(found, Match)
    return found


def run(inputs: list[Any], body: Any, *values: Array) -> Array:
    names = [parameter.name_hint for parameter in inputs]
    (output,) = executable(typed(inputs, body))(dict(zip(names, values, strict=True)))
    return output


def requantized(match: Match, acc: Array) -> Array:
    assert match.constants.requantization is not None
    assert match.accumulator is not None
    low, high = match.accumulator
    assert np.all(acc >= low)
    assert np.all(acc <= high)
    return match.constants.requantization(acc)[None].astype(match.layer.output_dtype)


def windows(layer: Layer, x: Array, pad_value: int) -> Array:
    """Input windows, shape (OY, OX, FY, FX, C)."""
    top, left, bottom, right = layer.padding
    padded = np.pad(x[0].astype(np.int64), ((top, bottom), (left, right), (0, 0)), constant_values=pad_value)
    return np.array(
        [
            [
                padded[
                    y * layer.stride[0] : y * layer.stride[0] + layer.window[0] : layer.dilation[0],
                    z * layer.stride[1] : z * layer.stride[1] + layer.window[1] : layer.dilation[1],
                ]
                for z in range(layer.ox)
            ]
            for y in range(layer.oy)
        ]
    )


CONVOLUTIONS = [
    ({"padding": (1, 1, 1, 1)}, (9, 7), Padding(1, 1, 1, 1)),
    ({"padding": (1, 0, 2, 1), "strides": (2, 1)}, (9, 7), Padding(1, 0, 1, 1)),
    ({"padding": (1, 1, 1, 1), "strides": (2, 2)}, (8, 8), Padding(1, 1, 0, 0)),
    ({"dilation": (2, 3)}, (9, 9), Padding()),
]


@pytest.mark.parametrize(("attrs", "size", "padding"), CONVOLUTIONS)
def test_conv2d(attrs: dict[str, Any], size: tuple[int, int], padding: Padding) -> None:
    x = var("x", 1, *size, 5)
    w = weights(3, 3, 5, 6)
    body = req(conv(x, w, **attrs), 6, clip=(3, 200))
    match = only([x], body)
    layer = match.layer
    assert (layer.op, layer.k, layer.c, layer.iy, layer.ix) == (Op.CONV2D, 6, 5, *size)
    assert (layer.fy, layer.fx, layer.clip, layer.output_dtype) == (3, 3, (3, 200), "uint8")
    assert layer.padding == padding
    value = RNG.integers(0, 256, (1, *size, 5)).astype(np.uint8)
    acc = np.einsum("yzijc,kijc->yzk", windows(layer, value, 0), data_of(match.constants, Filters).values)
    assert np.array_equal(requantized(match, acc), run([x], body, value))


def test_layers_know_the_range_of_their_inputs() -> None:
    x = var("x", 1, 6, 6, 4)
    clipped = req(conv(x, weights(1, 1, 4, 6)), 6, clip=(3, 100))
    module = typed([x], req(conv(clipped, weights(1, 1, 6, 2)), 2))
    first, second = (found.layer.input_range for found in find(module) if isinstance(found, Match))
    assert first == (0, 255)
    assert second is not None
    assert 3 <= second[0] <= second[1] <= 100


@pytest.mark.parametrize("attribute_padding", [(0, 0, 0, 0), (1, 1, 1, 1)])
def test_padding_with_a_value(attribute_padding: tuple[int, ...]) -> None:
    """Two paddings of different values cannot be one: the explicit one then stays outside."""
    x = var("x", 1, 6, 6, 4, dtype="int8")
    padded = relay.nn.pad(x, ((0, 0), (1, 0), (2, 1), (0, 0)), relay.const(-7, "int8"))
    body = req(depthwise(padded, weights(3, 3, 4, 1), padding=attribute_padding), 4, dtype="int8", clip=(-128, 127))
    match = only([x], body)
    layer = match.layer
    assert (layer.op, layer.k, layer.c) == (Op.DEPTHWISE_CONV2D, 4, 1)
    if any(attribute_padding):
        assert (layer.padding, layer.pad_value, layer.iy) == (attribute_padding, 0, 7)
        return
    assert (layer.padding, layer.pad_value, layer.iy) == ((1, 2, 0, 1), -7, 6)
    value = RNG.integers(-128, 128, (1, 6, 6, 4)).astype(np.int8)
    acc = np.einsum("yzijk,kij->yzk", windows(layer, value, -7), data_of(match.constants, Filters).values[..., 0])
    assert np.array_equal(requantized(match, acc), run([x], body, value))


def test_dense() -> None:
    x = var("x", 1, 30)
    body = req(relay.nn.dense(x, relay.const(weights(11, 30)), out_dtype="int32"), 11)
    match = only([x], body)
    assert (match.layer.op, match.layer.k, match.layer.c, match.layer.ox) == (Op.DENSE, 11, 30, 1)
    value = RNG.integers(0, 256, (1, 30)).astype(np.uint8)
    acc = value.astype(np.int64) @ data_of(match.constants, Filters).values[:, 0, 0].T.astype(np.int64)
    assert np.array_equal(requantized(match, acc)[0], run([x], body, value))


@pytest.mark.parametrize("whole_map", [False, True])
def test_avg_pool2d(whole_map: bool) -> None:
    x = var("x", 1, 7, 6, 5)
    wide = relay.cast(x, "int32")
    if whole_map:
        acc = relay.sum(wide, axis=(1, 2), keepdims=True)
    else:
        scaled = relay.multiply(wide, relay.const(6, "int32"))
        acc = relay.nn.avg_pool2d(scaled, pool_size=(3, 2), strides=(2, 2), layout="NHWC")
    body = req(acc, 5)
    match = only([x], body)
    window = (7, 6) if whole_map else (3, 2)
    assert (match.layer.op, match.layer.fy, match.layer.fx) == (Op.AVG_POOL2D, *window)
    value = RNG.integers(0, 256, (1, 7, 6, 5)).astype(np.uint8)
    acc = windows(match.layer, value, 0).sum(axis=(2, 3))
    assert np.array_equal(requantized(match, acc), run([x], body, value))


def test_max_pool2d() -> None:
    x = var("x", 1, 7, 7, 5, dtype="int8")
    body = relay.nn.max_pool2d(x, (3, 3), (2, 2), padding=(1, 1, 1, 1), layout="NHWC")
    match = only([x], body)
    layer = match.layer
    assert (layer.op, layer.fy, layer.stride, layer.clip) == (Op.MAX_POOL2D, 3, (2, 2), (-128, 127))
    assert match.constants.requantization is None
    value = RNG.integers(-128, 128, (1, 7, 7, 5)).astype(np.int8)
    assert np.array_equal(windows(layer, value, -128).max(axis=(2, 3))[None], run([x], body, value))


def test_add() -> None:
    a, b = var("a", 1, 3, 4, 5), var("b", 1, 3, 4, 5)
    products = [relay.multiply(relay.cast(x, "int64"), c64(m)) for x, m in ((a, 700000), (b, 900000))]
    total = relay.add(relay.add(*products), c64(-(100 << 20)))
    body = relay.cast(relay.clip(relay.right_shift(total, c64(20)), 4, 255), "uint8")
    match = only([a, b], body)
    assert (match.layer.op, match.layer.k, match.layer.c, match.layer.clip) == (Op.ADD, 5, 1, (4, 255))
    assert match.constants.data == (700000, 900000)
    assert [x.source for x in match.inputs] == ["a", "b"]
    values = RNG.integers(0, 256, (2, 1, 3, 4, 5))
    acc = (values[0] * 700000 + values[1] * 900000)[0]
    assert np.array_equal(requantized(match, acc), run([a, b], body, *values.astype(np.uint8)))


def test_add_of_one_pixel() -> None:
    """The map comes first, whatever the order in the network is; a barrier behind the addition is of it."""
    a, b = var("a", 5), var("b", 1, 3, 4, 5)
    products = [relay.multiply(relay.cast(x, "int64"), c64(m)) for x, m in ((a, 700000), (b, 900000))]
    total = relay.right_shift(relay.add(relay.add(*products), c64(-(100 << 20))), c64(20))
    body = relay.annotation.stop_fusion(relay.cast(relay.clip(total, 4, 255), "uint8"))
    match = only([a, b], body)
    assert (match.layer.op, match.layer.get(Broadcast).kind, match.layer.oy, match.layer.ox) == (Op.ADD, "pixel", 3, 4)
    assert match.constants.data == (900000, 700000)
    assert [x.source for x in match.inputs] == ["b", "a"]
    pixel, values = RNG.integers(0, 256, 5), RNG.integers(0, 256, (1, 3, 4, 5))
    acc = (pixel * 700000 + values * 900000)[0]
    assert np.array_equal(requantized(match, acc), run([a, b], body, pixel.astype(np.uint8), values.astype(np.uint8)))


def test_add_of_one_channel() -> None:
    a, b = var("a", 3, 4, 1), var("b", 1, 3, 4, 5)
    products = [relay.multiply(relay.cast(x, "int64"), c64(m)) for x, m in ((a, 700000), (b, 900000))]
    total = relay.right_shift(relay.add(relay.add(*products), c64(-(100 << 20))), c64(20))
    body = relay.cast(relay.clip(total, 4, 255), "uint8")
    match = only([a, b], body)
    assert (match.layer.op, match.layer.attributes, match.layer.oy) == (Op.ADD, Broadcast("channel"), 3)
    assert match.layer.ox == 4
    assert [x.source for x in match.inputs] == ["b", "a"]
    channel, values = RNG.integers(0, 256, (3, 4, 1)), RNG.integers(0, 256, (1, 3, 4, 5))
    acc = (channel * 700000 + values * 900000)[0]
    given = run([a, b], body, channel.astype(np.uint8), values.astype(np.uint8))
    assert np.array_equal(requantized(match, acc), given)


@pytest.mark.parametrize("turned", [False, True])
def test_an_outer_product(turned: bool) -> None:
    """The one of a single pixel comes first."""
    a, b = var("a", 1, 3, 4, 1), var("b", 5)
    factors = [relay.subtract(relay.cast(x, "int32"), relay.const(zero)) for x, zero in ((a, 7), (b, 9))]
    product = relay.multiply(*factors[::-1]) if turned else relay.multiply(*factors)
    match = only([a, b], req(product, 1))
    assert (match.layer.op, match.layer.get(Broadcast).kind) == (Op.MULTIPLY, "outer")
    assert (match.layer.oy, match.layer.ox, match.layer.iy, match.layer.ix, match.layer.k) == (3, 4, 1, 1, 5)
    assert [x.source for x in match.inputs] == ["b", "a"]
    assert match.constants.data == (9, 7)


def the_layer(operator: Operator, *inputs: Value) -> Match:
    """What modules are asked about an operator."""
    (match,) = find_layers(graph(computed(operator, *inputs)))
    assert isinstance(match, Match)
    return match


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("pixel_first", [False, True])
def test_tables_of_two_operands_lie_by_the_byte_that_stores_a_value(dtype: str, pixel_first: bool) -> None:
    """Row 0 belongs to the layer's first input, the map, whatever the order in the network is."""
    shapes = [(5,), (1, 3, 4, 5)] if pixel_first else [(1, 3, 4, 5), (5,)]
    a, b = (given(name, *shape, dtype=dtype) for name, shape in zip("ab", shapes, strict=True))
    ends = np.iinfo(dtype)
    x, y = (RNG.integers(ends.min, ends.max + 1, shape).astype(dtype) for shape in shapes)
    in_order = [y, x] if pixel_first else [x, y]

    halves = RNG.integers(-60 << LOOKUP_SUM_FRACTION, 60 << LOOKUP_SUM_FRACTION, (2, 256))
    operator: Operator = LookupSum(tables=halves, clip=(-128, 127), dtype="int8")
    match = the_layer(operator, a, b)
    assert (match.layer.op, [operand.source for operand in match.inputs]) == (Op.LOOKUP_SUM, names(pixel_first))
    summands = data_of(match.constants, Summands).entries
    first, second = (table[z.view(np.uint8)] for table, z in zip(summands, in_order, strict=True))
    expected = (first + second) >> LOOKUP_SUM_FRACTION
    assert np.array_equal(expected.clip(-128, 127), operator.compute(x, y))

    operator = AbsoluteDifference(tables=halves, clip=(-90, 120), dtype="int8")
    match = the_layer(operator, a, b)
    assert (match.layer.op, match.layer.clip) == (Op.ABSOLUTE_DIFFERENCE, (-90, 120))
    summands = data_of(match.constants, Summands).entries
    first, second = (table[z.view(np.uint8)] for table, z in zip(summands, in_order, strict=True))
    distance = np.abs((first + second) >> LOOKUP_SUM_FRACTION)
    assert np.array_equal((distance - 90).clip(-90, 120), operator.compute(x, y))

    lines = np.stack([RNG.integers(-(2**16), 2**16, 256), RNG.integers(0, 2**23, 256)])
    operator = LookupLine(lines=lines, clip=(-90, 120), dtype="int8")
    if pixel_first:  # which lines of each element of a map are not
        (found,) = find_layers(graph(computed(operator, a, b)))
        assert isinstance(found, Rejection)
    else:
        match = the_layer(operator, a, b)
        assert (match.layer.op, match.layer.get(Broadcast).kind) == (Op.LOOKUP_LINE, "pixel")
        slopes, biases = (table[y.view(np.uint8)].astype(np.int64) for table in data_of(match.constants, Lines).entries)
        expected = (x.astype(np.int64) * slopes + biases) >> LOOKUP_LINE_FRACTION
        assert np.array_equal(expected.clip(-90, 120), operator.compute(x, y))

    steps = RNG.integers(-300, 301, (2, 256))
    multiplier, bias, shift = (np.array([n], np.int64) for n in (700, 0, 20))
    requantization = Requantization(multiplier, bias, shift, (0, 255))
    operator = SquaredDifference(steps=steps, requantization=requantization, dtype="uint8")
    match = the_layer(operator, a, b)
    assert match.layer.op is Op.SQUARED_DIFFERENCE
    assert [operand.source for operand in match.inputs] == names(pixel_first)
    tables = data_of(match.constants, Steps).entries
    assert tables.dtype == np.int16
    first, second = (table[z.view(np.uint8)] for table, z in zip(tables, in_order, strict=True))
    difference = first.astype(np.int64) - second
    assert np.array_equal((difference**2 * 700 >> 20).clip(0, 255), operator.compute(x, y))


def names(pixel_first: bool) -> list[str]:
    """The operands of a layer that has its map first."""
    return ["b", "a"] if pixel_first else ["a", "b"]


def test_ones_in_front_of_a_shape_do_not_matter() -> None:
    a, b = var("a", 3, 4, 5), var("b", 1, 3, 4, 5)
    products = [relay.multiply(relay.cast(x, "int64"), c64(m)) for x, m in ((a, 7), (b, 9))]
    total = relay.right_shift(relay.add(relay.add(*products), c64(0)), c64(4))
    match = only([a, b], relay.cast(relay.clip(total, 0, 255), "uint8"))
    assert (match.layer.op, match.layer.get(Broadcast).kind) == (Op.ADD, "")


@pytest.mark.parametrize(("shape", "extents"), [((1, 3, 1, 1), (3, 20)), ((3, 4, 1), (12, 5)), ((1, 1), (1, 60))])
@pytest.mark.parametrize("ones", [0, 1])
def test_a_number_for_each_place_of_first_axes_is_a_channel(
    shape: tuple[int, ...], extents: tuple[int, int], ones: int
) -> None:
    """A single number is one channel of a single pixel; ones in front of the result's shape do not matter."""
    a, b = var("a", 3, 4, 5), var("b", *(1,) * ones, *shape)
    products = [relay.multiply(relay.cast(x, "int64"), c64(m)) for x, m in ((a, 7), (b, 9))]
    total = relay.right_shift(relay.add(relay.add(*products), c64(0)), c64(4))
    layer = only([a, b], relay.cast(relay.clip(total, 0, 255), "uint8")).layer
    assert layer.get(Broadcast).kind == "channel"
    assert (layer.oy * layer.ox, layer.k) == extents


@pytest.mark.parametrize("shape", [(3, 1, 5), (4, 1), (1, 1, 4, 1)])
def test_an_addition_that_repeats_part_of_a_map_is_rejected(shape: tuple[int, ...]) -> None:
    a, b = var("a", 1, 3, 4, 5), var("b", *shape)
    products = [relay.multiply(relay.cast(x, "int64"), c64(m)) for x, m in ((a, 7), (b, 9))]
    total = relay.right_shift(relay.add(relay.add(*products), c64(0)), c64(4))
    (found,) = find(typed([a, b], relay.cast(relay.clip(total, 0, 255), "uint8")))
    assert isinstance(found, Rejection)
    assert "single pixel" in found.reason


def test_an_addition_of_one_row_to_all() -> None:
    """The axes that both tensors have are one axis of the layer."""
    a, b = var("a", 2, 3, 4, 5), var("b", 1, 4, 5)
    products = [relay.multiply(relay.cast(x, "int64"), c64(m)) for x, m in ((a, 7), (b, 9))]
    total = relay.right_shift(relay.add(relay.add(*products), c64(0)), c64(4))
    body = relay.cast(relay.clip(total, 0, 255), "uint8")
    match = only([a, b], body)
    assert (match.layer.op, match.layer.get(Broadcast).kind) == (Op.ADD, "pixel")
    assert (match.layer.oy * match.layer.ox, match.layer.k) == (6, 20)
    values, row = RNG.integers(0, 256, (2, 3, 4, 5)), RNG.integers(0, 256, (1, 4, 5))
    acc = (values * 7 + row * 9).reshape(6, 20)
    given = run([a, b], body, values.astype(np.uint8), row.astype(np.uint8))
    assert np.array_equal(requantized(match, acc).reshape(given.shape), given)


def looked_up(x: Any, table: Array, *, index: str = "int32", offset: int | None = None) -> Any:
    """The integer form's lookup, spelled out."""
    position = relay.cast(x, index)
    if offset is not None:
        position = relay.add(position, relay.const(offset, index))
    return relay.take(relay.const(table), position)


@pytest.mark.parametrize("dtypes", [(x, y) for x in ("int8", "uint8") for y in ("int8", "uint8")], ids="-".join)
@pytest.mark.parametrize(
    ("shape", "extents"),
    [
        ((1, 8, 9, 16), (8, 9, 16)),
        ((3, 4, 5, 16), (12, 5, 16)),
        ((7, 40), (1, 7, 40)),
        ((300,), (1, 1, 300)),
        ((2, 3, 50), (2, 3, 50)),
    ],
    ids=str,
)
def test_lookup(dtypes: tuple[str, str], shape: tuple[int, ...], extents: tuple[int, int, int]) -> None:
    x = var("x", *shape, dtype=dtypes[0])
    entries = RNG.permutation(256).astype(np.uint8).view(dtypes[1])
    body = looked_up(x, entries, offset=128 if dtypes[0] == "int8" else None)
    match = only([x], body)
    layer = match.layer
    assert (layer.op, layer.oy, layer.ox, layer.k) == (Op.LOOKUP, *extents)
    assert (layer.iy, layer.ix, layer.c, layer.macs) == (*extents[:2], 1, 0)
    assert (layer.input_dtype, layer.output_dtype, layer.weight_dtype) == (*dtypes, "")
    assert match.constants.requantization is None
    value = RNG.integers(0, 256, shape).astype(np.uint8)
    expected = run([x], body, value.view(dtypes[0]))
    assert np.array_equal(data_of(match.constants, Table).entries[value], expected.view(np.uint8))


@pytest.mark.parametrize(("turned", "expected"), [(range(256), True), (range(255), False)])
def test_a_table_that_turns_signs(turned: range, expected: bool) -> None:
    """The table turns the signs of all bytes but the last, or of all."""
    entries = np.arange(256, dtype=np.uint8)
    entries[turned] ^= 128
    layer = only([x := var("x", 2, 3)], looked_up(x, entries)).layer
    assert layer.op is Op.LOOKUP
    assert layer.get(LookupTable).turns_signs == expected


def test_inputs_of_a_concatenation_that_tables_do_not_change() -> None:
    x, y = var("x", 2, 3), var("y", 2, 5)
    turned = looked_up(x, np.arange(256, dtype=np.uint8) ^ 1)
    kept = looked_up(y, np.arange(256, dtype=np.uint8))
    assert only([x, y], relay.concatenate([turned, kept], axis=1)).layer.get(Concatenation).unchanged == (False, True)
    other = looked_up(y, np.arange(256, dtype=np.uint8) ^ 2)
    assert only([x, y], relay.concatenate([turned, other], axis=1)).layer.get(Concatenation).unchanged == ()


@pytest.mark.parametrize("half_to_even", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_quantize(half_to_even: bool, dtype: str) -> None:
    """By its steps the layer is the function, at numbers halfway between outputs among others."""
    own = FloatQuantization(np.float32(0.25), 7 if dtype == "int8" else 130, dtype, half_to_even)
    quantize = Quantize(function=own)
    match = the_layer(quantize, given("x", 2, 3, 50, dtype="float32"))
    layer, function = match.layer, data_of(match.constants, FloatQuantization)
    assert (layer.op, layer.oy, layer.ox, layer.k, layer.c) == (Op.QUANTIZE, 2, 3, 50, 1)
    assert (layer.input_dtype, layer.output_dtype, layer.weight_dtype) == ("float32", dtype, "")
    numbers = (np.arange(-150, 150) * 0.125 * 2).reshape(2, 3, 50).astype(np.float32)
    expected = quantize.compute(numbers)
    assert len(np.unique(expected)) > 70
    places = order(numbers)
    assert np.array_equal(function.lowest + (places[..., None] > function.steps).sum(axis=-1), expected)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_dequantize(dtype: str) -> None:
    dequantize = Dequantize(scale=np.float32(0.017), zero_point=-3)
    match = the_layer(dequantize, given("x", 1, 8, 9, 16, dtype=dtype))
    layer = match.layer
    assert (layer.op, layer.oy, layer.ox, layer.k) == (Op.DEQUANTIZE, 8, 9, 16)
    assert (layer.input_dtype, layer.output_dtype) == (dtype, "float32")
    value = RNG.integers(0, 256, (1, 8, 9, 16)).astype(np.uint8)
    assert np.array_equal(data_of(match.constants, Table).entries[value], dequantize.compute(value.view(dtype)))


def test_dequantize_sums() -> None:
    """Sums and what is added to them, times a scale for each channel, with a bias."""
    offset = RNG.integers(-9999, 9999, 6).astype(np.int32)
    scale, bias = RNG.uniform(0.001, 0.01, 6).astype(np.float32), RNG.normal(size=6).astype(np.float32)
    line = DequantizeSums(offset=offset, scale=scale, bias=bias)
    match = the_layer(line, given("x", 1, 3, 4, 6, dtype="int32"))
    layer = match.layer
    assert (layer.op, layer.oy, layer.ox, layer.k) == (Op.DEQUANTIZE_SUMS, 3, 4, 6)
    assert (layer.input_dtype, layer.output_dtype) == ("int32", "float32")
    added, *reals = data_of(match.constants, ChannelLines).entries.T
    sums = RNG.integers(-(10**6), 10**6, (1, 3, 4, 6)).astype(np.int32)
    factor, addend = (part.copy().view(np.float32) for part in reals)
    assert np.array_equal((sums + added).astype(np.float32) * factor + addend, line.compute(sums))


def test_layers_of_a_network_come_in_order_and_leave_the_rest() -> None:
    x = var("x", 1, 8, 8, 4)
    first = req(conv(x, weights(1, 1, 4, 4)), 4)
    second = req(depthwise(first, weights(3, 3, 4, 1)), 4)
    flat = relay.reshape(second, (1, -1))
    last = req(relay.nn.dense(flat, relay.const(weights(3, 144)), out_dtype="int32"), 3)
    body = relay.nn.softmax(relay.cast(last, "float32"))
    found = find(typed([x], body))
    assert [m.layer.op for m in found if isinstance(m, Match)] == [Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.DENSE]


def test_shared_padding_is_part_of_both_layers() -> None:
    x = var("x", 1, 6, 6, 4)
    padded = relay.nn.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), relay.const(9, "uint8"))
    body = relay.Tuple([req(conv(padded, weights(3, 3, 4, n)), n) for n in (2, 3)])
    found = find(typed([x], body))
    assert [m.layer.pad_value for m in found if isinstance(m, Match)] == [9, 9]


def test_sums_that_are_needed_elsewhere_are_computed_for_each() -> None:
    x = var("x", 1, 6, 6, 4)
    acc = conv(x, weights(3, 3, 4, 2))
    for other in (acc, req(acc, 2, clip=(0, 100))):
        found = find(typed([x], relay.Tuple([req(acc, 2), other])))
        assert [m.layer.op for m in found if isinstance(m, Match)] == [Op.CONV2D, Op.CONV2D]


@pytest.mark.parametrize(("channels", "groups", "outputs"), [(8, 2, 6), (4, 4, 8), (6, 3, 3), (5, 5, 10)])
def test_grouped_convolution_is_a_layer_of_groups(channels: int, groups: int, outputs: int) -> None:
    """Filters are zero where an output does not see a channel of the groups that were joined with its own."""
    x, each = var("x", 1, 6, 6, channels), channels // groups
    hwio = weights(3, 3, each, outputs)
    multiplied = hwio.reshape(3, 3, groups, -1)
    sums = depthwise(x, multiplied) if each == 1 else conv(x, hwio, groups=groups)
    (found,) = find(typed([x], req(sums, outputs)))
    assert isinstance(found, Match)
    layer, packed = found.layer, data_of(found.constants, Filters).values
    assert packed is not None
    assert (layer.op, layer.input_channels, layer.output_channels) == (Op.GROUPED_CONV2D, channels, outputs)
    assert layer.macs == layer.oy * layer.ox * 9 * each * outputs
    dense = np.zeros((outputs, 3, 3, channels), np.int8)
    joined = np.zeros_like(dense)
    for k in range(outputs):
        first = k // (outputs // groups) * each
        dense[k, :, :, first : first + each] = hwio[:, :, :, k]
        first = k // layer.get(ChannelGroups).outputs * layer.c
        joined[k, :, :, first : first + layer.c] = packed[k]
    np.testing.assert_array_equal(joined, dense)


@pytest.mark.parametrize(
    ("build", "batch", "dtype", "reason"),
    [
        (lambda x: req(conv(x, weights(1, 1, 4, 3)), 3), 2, "uint8", "shape (2, 6, 6, 4)"),
        (lambda x: relay.nn.max_pool2d(x, (2, 2), layout="NHWC"), 3, "int8", "shape (3, 6, 6, 4)"),
    ],
)
def test_what_no_layer_can_express_is_rejected_with_the_reason(
    build: Callable[[Any], Any], batch: int, dtype: str, reason: str
) -> None:
    x = var("x", batch, 6, 6, 4, dtype=dtype)
    (found,) = find(typed([x], build(x)))
    assert isinstance(found, Rejection)
    assert reason in found.reason


def sixteen_bit_input(x: Any) -> Any:
    return req(conv(relay.cast(x, "int16"), weights(3, 3, 4, 2)), 2)


def float_pool(x: Any) -> Any:
    return relay.nn.max_pool2d(relay.cast(x, "float32"), (2, 2), layout="NHWC")


def without_cast(x: Any) -> Any:
    return req(conv(x, weights(3, 3, 4, 2)), 2).args[0]


def wide_output(x: Any) -> Any:
    return req(conv(x, weights(3, 3, 4, 2)), 2, dtype="int32")


def wrong_window(x: Any) -> Any:
    scaled = relay.multiply(relay.cast(x, "int32"), relay.const(5, "int32"))
    return req(relay.nn.avg_pool2d(scaled, (2, 2), (2, 2), layout="NHWC"), 4)


def padded_average(x: Any) -> Any:
    scaled = relay.multiply(relay.cast(x, "int32"), relay.const(4, "int32"))
    return req(relay.nn.avg_pool2d(scaled, (2, 2), (2, 2), padding=(1, 1, 1, 1), layout="NHWC"), 4)


def hanging_average(x: Any) -> Any:
    scaled = relay.multiply(relay.cast(x, "int32"), relay.const(16, "int32"))
    return req(relay.nn.avg_pool2d(scaled, (4, 4), (4, 4), ceil_mode=True, layout="NHWC"), 4)


def sum_of_rows(x: Any) -> Any:
    return req(relay.sum(relay.cast(x, "int32"), axis=(1,), keepdims=True), 4)


def clip_beyond_type(x: Any) -> Any:
    return req(conv(x, weights(3, 3, 4, 2)), 2, clip=(0, 300))


def other_condition(x: Any) -> Any:
    acc, other = conv(x, weights(3, 3, 4, 1)), conv(x, weights(3, 3, 4, 1))
    bias = relay.where(relay.less(other, relay.const([0], "int32")), c64([1]), c64([2]))
    total = relay.add(relay.multiply(relay.cast(acc, "int64"), c64([3])), bias)
    return relay.cast(relay.clip(relay.right_shift(total, c64([4])), 0, 255), "uint8")


def one_multiplier_for_all(x: Any) -> Any:
    acc = conv(x, weights(3, 3, 4, 4))
    total = relay.add(relay.multiply(relay.cast(acc, "int64"), c64([3])), c64([0, 0, 0, 0]))
    return relay.cast(relay.clip(relay.right_shift(total, c64([4] * 4)), 0, 255), "uint8")


def per_row_multiplier(x: Any) -> Any:
    acc = conv(x, weights(3, 3, 4, 4))
    multipliers = c64(np.arange(4).reshape(1, 4, 1, 1))
    total = relay.add(relay.multiply(relay.cast(acc, "int64"), multipliers), c64([0, 0, 0, 0]))
    return relay.cast(relay.clip(relay.right_shift(total, c64([4] * 4)), 0, 255), "uint8")


def lookup_as_if_signed(x: Any) -> Any:
    return looked_up(x, np.arange(256, dtype=np.uint8), offset=128)


def lookup_at_another_offset(x: Any) -> Any:
    return looked_up(relay.cast(x, "int8"), np.arange(256, dtype=np.uint8), offset=127)


def lookup_as_if_unsigned(x: Any) -> Any:
    return looked_up(relay.reinterpret(x, "int8"), np.arange(256, dtype=np.uint8))


def lookup_of_255(x: Any) -> Any:
    return looked_up(x, np.arange(255, dtype=np.uint8))


def lookup_of_float(x: Any) -> Any:
    return looked_up(x, np.arange(256, dtype=np.float32))


def lookup_of_16_bits(x: Any) -> Any:
    return looked_up(x, np.arange(256, dtype=np.int16))


def lookup_by_16_bits(x: Any) -> Any:
    return looked_up(relay.cast(x, "int16"), np.arange(256, dtype=np.uint8))


def lookup_by_float(x: Any) -> Any:
    return looked_up(relay.cast(relay.sqrt(relay.cast(x, "float32")), "int16"), np.arange(256, dtype=np.uint8))


def lookup_by_narrow_index(x: Any) -> Any:
    return looked_up(x, np.arange(256, dtype=np.uint8), index="int8")


def lookup_of_rows(x: Any) -> Any:
    return relay.take(relay.const(np.zeros((256, 2), np.uint8)), relay.cast(x, "int32"), axis=0)


def lookup_of_a_variable(x: Any) -> Any:
    return relay.take(relay.reshape(x, (-1,)), relay.cast(x, "int32"))


def channels_first(x: Any) -> Any:
    return relay.nn.max_pool2d(x, (2, 2), layout="NCHW")


@pytest.mark.parametrize(
    "build",
    [
        sixteen_bit_input,
        float_pool,
        without_cast,
        wide_output,
        wrong_window,
        padded_average,
        hanging_average,
        sum_of_rows,
        clip_beyond_type,
        other_condition,
        one_multiplier_for_all,
        per_row_multiplier,
        channels_first,
        lookup_as_if_signed,
        lookup_at_another_offset,
        lookup_as_if_unsigned,
        lookup_of_255,
        lookup_of_float,
        lookup_of_16_bits,
        lookup_by_16_bits,
        lookup_by_float,
        lookup_by_narrow_index,
        lookup_of_rows,
        lookup_of_a_variable,
    ],
)
def test_near_misses_are_left_alone(build: Callable[[Any], Any]) -> None:
    x = var("x", 1, 6, 6, 4)
    found = find(typed([x], build(x)))
    assert all(isinstance(match, Match) and match.layer.output_dtype == "int32" for match in found), "sums at most"


def line_of(weights: Array, **corrections: Any) -> Requantization:
    """What a layer has of the requantization of a 1x1 convolution."""
    channels = weights.shape[3]
    multiplier, bias, shift = (np.full(channels, number, np.int64) for number in (3, 2, 4))
    convolution = Convolution(
        weights=weights,
        requantization=Requantization(multiplier, bias, shift, (0, 255), **corrections),
        dtype="uint8",
        strides=(1, 1),
        padding=Padding(),
        dilation=(1, 1),
        groups=1,
        pad_value=0,
        kernel_layout="HWIO",
    )
    line = the_layer(convolution, given("x", 1, 4, 4, weights.shape[2], dtype="uint8")).constants.requantization
    assert isinstance(line, Requantization)
    return line


def test_what_no_accumulator_reaches_is_dropped() -> None:
    positive = np.ones((1, 1, 2, 1), np.int8)
    line = line_of(positive, negative_below=np.array([-5]), negative_step=np.array([1]), exceptions=np.array([[-7]]))
    assert (line.negative_below, line.negative_step, line.exceptions) == (None, None, None)


def test_corrections_may_differ_between_channels() -> None:
    both = {"negative_below": np.array([0, -3]), "negative_step": np.array([1, 2])}
    line = line_of(-np.ones((1, 1, 4, 2), np.int8), exceptions=np.array([[-9], [-20]]), **both)
    assert line.negative_below is not None
    assert line.negative_step is not None
    assert line.exceptions is not None
    assert (line.negative_below.tolist(), line.negative_step.tolist()) == ([0, -3], [1, 2])
    assert line.exceptions.tolist() == [[-9], [-20]]
