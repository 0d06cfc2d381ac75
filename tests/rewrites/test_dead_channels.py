"""Dead channels: outputs before and after, and which channels are left."""

from __future__ import annotations

import numpy as np
import pytest

from match.graph.evaluate import evaluate
from match.graph.pairs import Addition
from match.graph.ranges import ranges
from match.graph.sums import Accumulation, Convolution
from match.graph.value import Graph, Value, computed
from match.ir.graph import Tensor
from match.ir.layer import Padding
from match.ir.requantization import Requantization
from match.relay import integer_form, relay, tvm
from match.relay.graph_reader import read_graph
from match.relay.integer_form import Int8Array
from match.relay.objects import main_function
from match.relay.rewrite import shape
from match.rewrites.dead_channels import without_dead_channels
from tests import layers_in_relay
from tests.passes.networks import mixed, requantization, weights
from tests.passes.running import assert_same_outputs, executable, random_values
from tests.passes.test_passes import calls, typed
from tests.rewrites.through import rewritten

pytestmark = pytest.mark.tvm


def reduced(module: tvm.IRModule) -> tvm.IRModule:
    return rewritten(module, without_dead_channels)


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
    first = layers_in_relay.conv2d(
        x, weights(rng, 1, 1, 4, 10), with_constants(requantization(rng, 4, 10, clip), constants), "uint8"
    )
    depthwise = layers_in_relay.conv2d(
        first,
        weights(rng, 3, 3, 10, 1),
        requantization(rng, 9, 10, clip),
        "uint8",
        groups=10,
        kernel_layout="HWOI",
        padding=Padding(1, 1, 1, 1),
        pad_value=pad_value,
    )
    second = layers_in_relay.conv2d(depthwise, weights(rng, 1, 1, 10, 8), requantization(rng, 10, 8, clip), "uint8")
    branches = [
        layers_in_relay.conv2d(
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
    scores = layers_in_relay.dense(flat, weights(rng, 9, 36), requantization(rng, 36, 9, clip), "uint8")
    return typed(x, scores)


@pytest.mark.parametrize(("seed", "pad_value"), [(0, 0), (1, 30)])
def test_dead_channels(seed, pad_value):
    before = mobile_network(seed, pad_value)
    after = reduced(before)
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


def pointwise(x: Value, kernel: Int8Array, line: Requantization) -> Value:
    parts = {"strides": (1, 1), "padding": Padding(), "dilation": (1, 1), "groups": 1, "pad_value": 0}
    return computed(Convolution(weights=kernel, requantization=line, dtype="uint8", kernel_layout="HWIO", **parts), x)


def test_constant_channels_with_halves_that_go_to_even_outputs():
    """Constants that are odd or whose half goes down, of layers and of their sum; and a correction further on."""
    rng = np.random.default_rng(5)
    x = Value(Tensor((1, 6, 5, 4), "uint8"), source="x")
    branches = []
    for constants in ((77, 1, 6), (8, 0, 3)):
        kernel = weights(rng, 1, 1, 4, 5)
        kernel[..., :3] = 0
        bias = np.array([*(value << 4 for value in constants), 500, 700])
        ties = Requantization(np.ones(5, np.int64), bias + 8, np.full(5, 4), (0, 255), ties_to_even=np.arange(5) >= 0)
        branches.append(pointwise(x, kernel, ties))
    total = computed(
        Addition(multipliers=(1, 1), bias=1, shift=1, clip=(0, 255), dtype="uint8", ties_to_even=True), *branches
    )
    last = pointwise(total, weights(rng, 1, 1, 5, 4), requantization(rng, 5, 4, (0, 255), True))
    before = Graph((x,), (last,))
    after = without_dead_channels(before)
    assert after.outputs != before.outputs
    kept = Graph((x,), (total, *branches))
    for _ in range(6):
        value = random_values(rng, (1, 6, 5, 4), "uint8")
        for one, other in ((before, after), (kept, without_dead_channels(kept))):
            for expected, found in zip(evaluate(one, [value]), evaluate(other, [value]), strict=True):
                np.testing.assert_array_equal(found, expected)


def test_constant_channels_that_stay_have_multiplier_0():
    after = reduced(mobile_network(0, 30))
    values = read_graph(main_function(after)).graph.values
    first = next(value.operator for value in values if isinstance(value.operator, Accumulation))
    assert np.count_nonzero(first.requantization.multiplier == 0) == 2


def test_a_network_without_dead_channels_is_left_alone():
    before = mixed(1, "uint8")
    after = reduced(before)
    assert [shape(call) for call in calls(after, "nn.conv2d")] == [shape(call) for call in calls(before, "nn.conv2d")]
    assert_same_outputs(before, after)


def test_layers_without_constant_channels_are_not_rebuilt():
    rng = np.random.default_rng(5)
    x = relay.var("x", shape=(1, 6, 5, 4), dtype="uint8")
    hidden = layers_in_relay.conv2d(x, weights(rng, 3, 3, 4, 10), requantization(rng, 36, 10, (0, 255)), "uint8")
    module = typed(x, relay.reshape(hidden, (1, -1)))
    graph = read_graph(main_function(module)).graph
    assert without_dead_channels(graph).outputs == graph.outputs


def test_inputs_keep_channels_that_no_weight_reads() -> None:
    rng = np.random.default_rng(5)
    x = relay.var("x", shape=(1, 6, 5, 4), dtype="uint8")
    kernel = weights(rng, 1, 1, 4, 10)
    kernel[:, :, 2] = 0
    before = typed(x, layers_in_relay.conv2d(x, kernel, requantization(rng, 4, 10, (0, 255)), "uint8"))
    assert_same_outputs(before, reduced(before))


def test_outputs_keep_their_constant_channels():
    rng = np.random.default_rng(5)
    x = relay.var("x", shape=(1, 6, 5, 4), dtype="uint8")
    parameters = with_constants(requantization(rng, 4, 10, (0, 255)), {0: 5, 4: 6})
    before = typed(x, layers_in_relay.conv2d(x, weights(rng, 1, 1, 4, 10), parameters, "uint8"))
    assert_same_outputs(before, reduced(before))


def test_a_constant_network_keeps_one_channel():
    rng = np.random.default_rng(6)
    x = relay.var("x", shape=(1, 6, 5, 4), dtype="uint8")
    parameters = with_constants(requantization(rng, 4, 3, (0, 255)), {0: 5, 1: 6, 2: 7})
    hidden = layers_in_relay.conv2d(x, weights(rng, 1, 1, 4, 3), parameters, "uint8")
    before = typed(
        x, layers_in_relay.conv2d(hidden, weights(rng, 1, 1, 3, 4), requantization(rng, 3, 4, (0, 255)), "uint8")
    )
    after = reduced(before)
    value = {"x": random_values(rng, (1, 6, 5, 4), "uint8")}
    np.testing.assert_array_equal(executable(after)(value)[0], executable(before)(value)[0])
    assert shape(calls(after, "nn.conv2d")[0])[3] == 1


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_value_ranges_hold(dtype):
    """No value leaves the range computed for its channel, and the ranges are not just those of the type."""
    module = mixed(7, dtype)
    reading = read_graph(main_function(module))
    known = ranges(reading.graph.values)
    inner = [form.root for form in reading.forms.values() if reading.values[form.root] in known]
    assert len(inner) > 6
    x = module["main"].params[0]
    run = executable(tvm.IRModule.from_expr(relay.Function([x], relay.Tuple(inner))))
    rng = np.random.default_rng(0)
    for _ in range(4):
        for call, values in zip(inner, run({"x": random_values(rng, shape(x), dtype)}), strict=True):
            channels = values.reshape(-1, values.shape[-1])
            assert (channels.min(axis=0) >= known[reading.values[call]].low).all()
            assert (channels.max(axis=0) <= known[reading.values[call]].high).all()
    limits = np.iinfo(dtype)
    found = [known[reading.values[call]] for call in inner]
    assert any((one.high - one.low < limits.max - limits.min).any() for one in found)
