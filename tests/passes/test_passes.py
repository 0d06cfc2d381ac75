"""Each pass leaves the outputs of a network as they are, and does what it is for."""

from __future__ import annotations

import numpy as np
import pytest

from match.ir.layer import Padding
from match.ir.requantization import Requantization
from match.passes.channels_last import ChannelsLast
from match.passes.dead_channels import DeadChannels
from match.passes.extrema import AddExtrema
from match.passes.gathers import GatherByAxis
from match.passes.one_row import OneRow
from match.passes.unsigned_activations import UnsignedActivations
from match.relay import integer_form, readers, relay, tvm
from match.relay.rewrite import dtype, is_call, shape
from match.relay.value_ranges import value_ranges
from tests.passes.networks import mixed, requantization, weights
from tests.passes.running import assert_same_outputs, executable, random_values

pytestmark = pytest.mark.tvm


def calls(module: tvm.IRModule, *names: str) -> list[relay.Call]:
    found: list[relay.Call] = []
    relay.analysis.post_order_visit(module["main"], lambda node: found.append(node) if is_call(node, *names) else None)
    return found


def typed(x: relay.Var, body: relay.Expr) -> tvm.IRModule:
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))


def test_unsigned_activations():
    before = mixed(0, "int8")
    after = UnsignedActivations()(before)
    assert_same_outputs(before, after)
    assert [dtype(call.args[0]) for call in calls(after, "nn.conv2d", "nn.dense", "nn.max_pool2d")] == ["uint8"] * 4
    assert dtype(after["main"].params[0]) == "int8"


def test_unsigned_activations_around_unknown_operators():
    """Conversions stand where an operator is not understood, and where a value is both seen and passed on."""
    rng = np.random.default_rng(0)
    x = relay.var("x", shape=(1, 4, 4, 3), dtype="int8")
    first = integer_form.conv2d(
        x, weights(rng, 1, 1, 3, 6), requantization(rng, 3, 6, (-128, 127)), "int8", x_dtype="int8"
    )
    odd = relay.cast(relay.right_shift(relay.cast(first, "int32"), relay.const(1, "int32")), "int8")
    joined = relay.concatenate([relay.nn.pad(first, ((0, 0), (1, 0), (0, 0), (0, 0)), relay.const(-4, "int8"))], 3)
    second = integer_form.conv2d(
        odd, weights(rng, 3, 3, 6, 4), requantization(rng, 54, 4, (-128, 127)), "int8", x_dtype="int8"
    )
    before = typed(x, relay.Tuple([relay.clip(joined, -50, 60), relay.reshape(second, (1, 16)), x]))
    after = UnsignedActivations()(before)
    assert_same_outputs(before, after)
    assert {dtype(call.args[0]) for call in calls(after, "nn.conv2d")} == {"uint8"}


def test_unsigned_activations_leaves_unsigned_networks_alone():
    before = mixed(3, "uint8")
    assert tvm.ir.structural_equal(UnsignedActivations()(before), before)


def with_constants(parameters: Requantization, constants: dict[int, int]) -> Requantization:
    """The parameters with some channels constant: by multiplier 0, or by a clip that nothing leaves."""
    multiplier, bias = parameters.multiplier.copy(), parameters.bias.copy()
    for channel, value in constants.items():
        multiplier[channel], bias[channel] = 0, (value << parameters.shift[channel]) + 1
    return Requantization(multiplier, bias, parameters.shift, parameters.clip)


def mobile_network(seed: int, pad_value: int) -> tvm.IRModule:
    """Pointwise, depthwise, residual and dense layers whose channels are partly constant: 3 like the padding, 2 not."""
    rng = np.random.default_rng(seed)
    clip = (0, 255)
    x = relay.var("x", shape=(1, 6, 5, 4), dtype="uint8")
    constants = {1: pad_value, 2: 77, 5: pad_value, 6: 201, 9: pad_value}
    first = integer_form.conv2d(
        x, weights(rng, 1, 1, 4, 10), with_constants(requantization(rng, 4, 10, clip), constants), "uint8"
    )
    depthwise = integer_form.conv2d(
        first,
        weights(rng, 3, 3, 10, 1),
        requantization(rng, 9, 10, clip),
        "uint8",
        groups=10,
        kernel_layout="HWOI",
        padding=Padding(1, 1, 1, 1),
        pad_value=pad_value,
    )
    second = integer_form.conv2d(depthwise, weights(rng, 1, 1, 10, 8), requantization(rng, 10, 8, clip, True), "uint8")
    branches = [
        integer_form.conv2d(
            second,
            weights(rng, 1, 1, 8, 6),
            with_constants(requantization(rng, 8, 6, clip), {0: 9, 3: 14, index: 3}),
            "uint8",
        )
        for index in (1, 2)
    ]
    total = integer_form.add(branches[0], branches[1], (1 << 19, 1 << 19), 0, 20, clip, "uint8")
    pooled = integer_form.max_pool2d(total, window=(2, 2), strides=(2, 2))
    flat = relay.reshape(pooled, (1, 3 * 2 * 6))
    scores = integer_form.dense(flat, weights(rng, 9, 36), requantization(rng, 36, 9, clip), "uint8")
    return typed(x, scores)


@pytest.mark.parametrize(("seed", "pad_value"), [(0, 0), (1, 30)])
def test_dead_channels(seed, pad_value):
    before = mobile_network(seed, pad_value)
    after = DeadChannels()(before)
    assert_same_outputs(before, after, samples=6)
    pointwise, depthwise, second, *branches = calls(after, "nn.conv2d")
    # Those like the padding go through the depthwise layer; the others differ at its border and stay.
    assert shape(pointwise)[3] == 7
    assert shape(depthwise)[3] == 7
    assert shape(second.args[0])[3] <= 7
    # Both branches of the addition are constant in channels 0 and 3; where one alone is, the sum is not.
    left, right = (shape(branch)[3] for branch in branches)
    assert left == right <= 4
    assert shape(calls(after, "nn.dense")[0].args[0]) == (1, 6 * left)


def test_constant_channels_with_halves_that_go_to_even_outputs():
    """Constants that are odd or whose half goes down, of layers and of their sum."""
    rng = np.random.default_rng(5)
    x = relay.var("x", shape=(1, 6, 5, 4), dtype="uint8")
    branches = []
    for constants in ((77, 1, 6), (8, 0, 3)):
        kernel = weights(rng, 1, 1, 4, 5)
        kernel[..., :3] = 0
        bias = np.array([*(value << 4 for value in constants), 500, 700])
        ties = Requantization(np.ones(5, np.int64), bias + 8, np.full(5, 4), (0, 255), ties_to_even=np.arange(5) >= 0)
        branches.append(integer_form.conv2d(x, kernel, ties, "uint8"))
    total = integer_form.add(branches[0], branches[1], (1, 1), 1, 1, (0, 255), "uint8", ties_to_even=True)
    last = integer_form.conv2d(total, weights(rng, 3, 3, 5, 4), requantization(rng, 45, 4, (0, 255)), "uint8")
    before = typed(x, last)
    after = DeadChannels()(before)
    assert_same_outputs(before, after, samples=6)
    assert not tvm.ir.structural_equal(before, after)
    kept = typed(x, relay.Tuple([total, *branches]))
    assert_same_outputs(kept, DeadChannels()(kept), samples=6)


def test_constant_channels_that_stay_have_multiplier_0():
    after = DeadChannels()(mobile_network(0, 30))
    layers = [readers.read_layer(call) for call in calls(after, "cast")]
    first = next(layer for layer in layers if layer is not None)
    assert np.count_nonzero(first.requantization.multiplier == 0) == 2


def test_a_network_without_dead_channels_is_left_alone():
    before = mixed(1, "uint8")
    after = DeadChannels()(before)
    assert [shape(call) for call in calls(after, "nn.conv2d")] == [shape(call) for call in calls(before, "nn.conv2d")]
    assert_same_outputs(before, after)


@pytest.mark.parametrize(
    "transform",
    [OneRow(), ChannelsLast(), GatherByAxis(), AddExtrema()],
    ids=lambda transform: type(transform).__name__,
)
def test_a_pass_with_nothing_to_do_returns_the_module_itself(transform):
    """Nothing is rebuilt and no type inferred again, though there are padding, reshapes and layers to look at."""
    module = mixed(1, "uint8")
    assert transform(module) is module


def test_layers_without_constant_channels_are_not_rebuilt():
    rng = np.random.default_rng(5)
    x = relay.var("x", shape=(1, 6, 5, 4), dtype="uint8")
    hidden = integer_form.conv2d(x, weights(rng, 3, 3, 4, 10), requantization(rng, 36, 10, (0, 255)), "uint8")
    module = typed(x, relay.reshape(hidden, (1, -1)))
    assert DeadChannels()(module) is module


def test_outputs_keep_their_constant_channels():
    rng = np.random.default_rng(5)
    x = relay.var("x", shape=(1, 6, 5, 4), dtype="uint8")
    parameters = with_constants(requantization(rng, 4, 10, (0, 255)), {0: 5, 4: 6})
    before = typed(x, integer_form.conv2d(x, weights(rng, 1, 1, 4, 10), parameters, "uint8"))
    assert_same_outputs(before, DeadChannels()(before))


def test_a_constant_network_keeps_one_channel():
    rng = np.random.default_rng(6)
    x = relay.var("x", shape=(1, 6, 5, 4), dtype="uint8")
    parameters = with_constants(requantization(rng, 4, 3, (0, 255)), {0: 5, 1: 6, 2: 7})
    hidden = integer_form.conv2d(x, weights(rng, 1, 1, 4, 3), parameters, "uint8")
    before = typed(
        x, integer_form.conv2d(hidden, weights(rng, 1, 1, 3, 4), requantization(rng, 3, 4, (0, 255)), "uint8")
    )
    after = DeadChannels()(before)
    value = {"x": random_values(rng, (1, 6, 5, 4), "uint8")}
    np.testing.assert_array_equal(executable(after)(value)[0], executable(before)(value)[0])
    assert shape(calls(after, "nn.conv2d")[0])[3] == 1


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_value_ranges_hold(dtype):
    """No value leaves the range computed for its channel, and the ranges are not just those of the type."""
    module = mixed(7, dtype)
    ranges = value_ranges(module)
    inner = [call for call in calls(module, "cast", "take", "nn.max_pool2d", "reshape") if call in ranges]
    assert len(inner) > 6
    x = module["main"].params[0]
    run = executable(tvm.IRModule.from_expr(relay.Function([x], relay.Tuple(inner))))
    rng = np.random.default_rng(0)
    for _ in range(4):
        for call, values in zip(inner, run({"x": random_values(rng, shape(x), dtype)}), strict=True):
            channels = values.reshape(-1, values.shape[-1])
            assert (channels.min(axis=0) >= ranges[call].low).all()
            assert (channels.max(axis=0) <= ranges[call].high).all()
    limits = np.iinfo(dtype)
    assert any((ranges[call].high - ranges[call].low < limits.max - limits.min).any() for call in inner)


def channels_first_network() -> tvm.IRModule:
    """What a front end writes for NCHW: float maps through every kind of operator that the layout pass knows."""
    rng = np.random.default_rng(8)

    def constant(*dims: int) -> relay.Constant:
        return relay.const(rng.normal(0, 1, dims).astype(np.float32))

    x = relay.var("x", shape=(1, 3, 8, 6), dtype="float32")
    first = relay.nn.conv2d(x, constant(4, 3, 3, 3), padding=(1, 0, 1, 2), channels=4, kernel_size=(3, 3))
    first = relay.nn.relu(relay.nn.bias_add(first, constant(4), axis=1))
    second = relay.nn.conv2d(
        first, constant(8, 1, 3, 3), padding=(1, 1, 1, 1), groups=4, channels=8, kernel_size=(3, 3)
    )
    scaled = relay.add(relay.multiply(second, constant(8, 1, 1)), constant(1, 8, 1, 1))
    joined = relay.concatenate([scaled, first], axis=1)
    pooled = relay.nn.max_pool2d(joined, (2, 2), strides=(2, 2))
    padded = relay.nn.pad(pooled, ((0, 0), (0, 0), (1, 0), (0, 1)), relay.const(0.5))
    mean = relay.nn.avg_pool2d(padded, (2, 2))
    shifted = relay.nn.softmax(mean, axis=1)
    flat = relay.nn.batch_flatten(relay.nn.relu(mean))
    dense = relay.nn.dense(relay.clip(flat, 0, 2), constant(5, 12 * 4 * 3))
    whole = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(joined))
    return typed(x, relay.Tuple([dense, whole, shifted, relay.reshape(mean, (1, -1)), mean]))


def test_channels_last():
    before = channels_first_network()
    after = ChannelsLast()(before)
    first, second = executable(before), executable(after)
    value = {"x": random_values(np.random.default_rng(0), (1, 3, 8, 6), "float32")}
    for expected, found in zip(first(value), second(value), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    for call in calls(after, "nn.conv2d"):
        assert str(call.attrs.data_layout) == "NHWC"
    for call in calls(after, "nn.max_pool2d", "nn.avg_pool2d", "nn.global_avg_pool2d"):
        assert str(call.attrs.layout) == "NHWC"
    # The input, the mean as an output and for the softmax over axis 1, the flattened output; none for the dense layer.
    assert len(calls(after, "transpose")) == 3


def test_what_is_transposed_are_bytes():
    """Of an addition's operand that is no map with channels last: not the wide numbers that it is scaled to."""
    x = relay.var("x", shape=(1, 5, 6, 4), dtype="uint8")
    pooled = relay.cast(relay.nn.max_pool2d(x, pool_size=(3, 3), padding=(1, 1)), "int32")
    table = relay.const(np.random.default_rng(0).integers(-200, 200, 256).astype(np.int32))
    scaled = relay.multiply(relay.cast(x, "int32"), relay.const(-3, "int32"))
    for operand in (scaled, relay.take(table, relay.cast(x, "int32"))):
        total = relay.right_shift(relay.add(pooled, operand), relay.const(3, "int32"))
        before = typed(x, relay.cast(relay.clip(total, -128, 127), "int8"))
        after = ChannelsLast()(before)
        assert_same_outputs(before, after)
        assert {dtype(call) for call in calls(after, "transpose")} == {"uint8", "int8"}


def test_channels_last_is_nothing_to_a_network_without_maps():
    x = relay.var("x", shape=(1, 12), dtype="float32")
    before = typed(x, relay.nn.relu(relay.reshape(x, (1, 3, 4))))
    assert tvm.ir.structural_equal(ChannelsLast()(before), before)


def test_an_input_with_channels_last_is_taken_as_it_is():
    """What needs the order that the network gives it gets that, and other transpositions stay."""
    x = relay.var("x", shape=(1, 5, 6, 3), dtype="int8")
    kernel = relay.const(np.random.default_rng(0).integers(-128, 128, (4, 3, 3, 3)).astype(np.int8))
    image = relay.transpose(x, (0, 3, 1, 2))
    sums = relay.nn.conv2d(image, kernel, padding=(1, 1), channels=4, kernel_size=(3, 3), out_dtype="int32")
    before = typed(x, relay.nn.relu(sums))
    after = ChannelsLast()(before)
    assert_same_outputs(before, after)
    (convolution,) = calls(after, "nn.conv2d")
    assert isinstance(convolution.args[0], relay.Var)
    assert len(calls(after, "transpose")) == 1  # of the output

    seen = typed(x, relay.Tuple([sums, image, relay.transpose(x, (0, 2, 1, 3)), relay.reshape(image, (3, 30))]))
    assert_same_outputs(seen, ChannelsLast()(seen))


def test_a_map_that_was_turned_is_read_as_it_lies():
    """As exporters write ConvNeXt: products of tokens, turned to maps, scaled by channel and added to maps."""
    rng = np.random.default_rng(2)
    x = relay.var("x", shape=(30, 4), dtype="float32")
    tokens = relay.reshape(relay.nn.dense(x, relay.const(rng.normal(0, 1, (6, 4)).astype("float32"))), (1, 5, 6, 6))
    turned = relay.transpose(tokens, (0, 3, 1, 2))
    scaled = relay.multiply(turned, relay.const(rng.normal(0, 1, (6, 1, 1)).astype("float32")))
    kernel = relay.const(rng.normal(0, 1, (6, 6, 1, 1)).astype("float32"))
    total = relay.add(relay.nn.conv2d(scaled, kernel, kernel_size=(1, 1), channels=6), scaled)
    before = typed(x, relay.transpose(total, (0, 2, 3, 1)))
    after = ChannelsLast()(before)
    value = {"x": random_values(rng, (30, 4), "float32")}
    np.testing.assert_allclose(executable(after)(value)[0], executable(before)(value)[0], rtol=1e-4, atol=1e-4)
    assert calls(after, "transpose") == []


def test_a_sequence_is_brought_back_once():
    """However many operators read it that know no maps of one row."""
    rng = np.random.default_rng(3)
    x = relay.var("x", shape=(1, 4, 9), dtype="float32")
    kernel = relay.const(rng.normal(0, 1, (4, 4, 3)).astype("float32"))
    sums = relay.nn.conv1d(x, kernel, channels=4, kernel_size=3, padding=(1, 1))
    turned = relay.add(relay.transpose(sums, (0, 2, 1)), relay.reverse(relay.transpose(sums, (0, 2, 1)), 1))
    before = typed(x, turned)
    after = OneRow()(before)
    value = {"x": random_values(rng, (1, 4, 9), "float32")}
    np.testing.assert_allclose(executable(after)(value)[0], executable(before)(value)[0], rtol=1e-4, atol=1e-4)
    assert len(calls(after, "reshape")) == 2  # of the input and of the sums


def test_gates_of_channels_are_multiplied_with_the_map_as_it_lies():
    """They are (1, C, 1, 1), of which no axis is the map's."""
    rng = np.random.default_rng(4)
    x = relay.var("x", shape=(1, 6, 5, 7), dtype="float32")
    first, second = (relay.const(rng.normal(0, 1, (6, 6, 1, 1)).astype("float32")) for _ in range(2))
    gates = relay.reshape(relay.tanh(relay.sum(x, (2, 3))), (1, 6, 1, 1))
    gated = relay.multiply(gates, relay.nn.conv2d(x, first, kernel_size=(1, 1), channels=6))
    before = typed(x, relay.nn.conv2d(gated, second, kernel_size=(1, 1), channels=6))
    after = ChannelsLast()(before)
    value = {"x": random_values(rng, (1, 6, 5, 7), "float32")}
    np.testing.assert_allclose(executable(after)(value)[0], executable(before)(value)[0], rtol=1e-4, atol=1e-4)
    assert len(calls(after, "transpose")) == 2  # of the input and of the output
