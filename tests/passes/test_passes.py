"""Each pass leaves the outputs of a network as they are, and does what it is for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from match.frontend.relay import from_relay
from match.graph.evaluate import evaluate
from match.graph.moves import Move
from match.graph.opaque import Opaque
from match.graph.sums import Convolution
from match.graph.value import Graph
from match.passes.pipeline import integer_network
from match.relay import relay, tvm
from match.relay.graph_reader import read_graph
from match.relay.objects import main_function
from match.relay.real_readers import read_reals
from match.relay.rewrite import is_call
from match.rewrites.channels_last import with_channels_last
from tests.passes.running import executable, random_values

pytestmark = pytest.mark.tvm


def calls(module: tvm.IRModule, *names: str) -> list[relay.Call]:
    found: list[relay.Call] = []
    relay.analysis.post_order_visit(module["main"], lambda node: found.append(node) if is_call(node, *names) else None)
    return found


def typed(x: relay.Var, body: relay.Expr) -> tvm.IRModule:
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], body)))


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


def as_graph(module: tvm.IRModule) -> Graph:
    """Real numbers read as the graph, which computes the same, with channels last."""
    graph = with_channels_last(read_graph(main_function(module), rest=read_reals).graph)
    (x,) = graph.inputs
    value = random_values(np.random.default_rng(0), x.shape, "float32")
    for expected, found in zip(executable(module)({"x": value}), evaluate(graph, [value]), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    return graph


def integers(module: tvm.IRModule) -> Graph:
    """The integer form of a network, which computes the same."""
    graph = integer_network(from_relay(module))
    (x,) = graph.inputs
    value = random_values(np.random.default_rng(0), x.shape, x.dtype)
    for expected, found in zip(executable(module)({"x": value}), evaluate(graph, [value]), strict=True):
        np.testing.assert_array_equal(found, expected)
    return graph


def turns(graph: Graph) -> int:
    return sum(isinstance(value.operator, Move) and value.operator.turns for value in graph.values)


def test_real_numbers_with_channels_last():
    """Turned are the input, the mean for the output and for the softmax over axis 1, and what is flattened."""
    graph = as_graph(channels_first_network())
    assert not any(isinstance(value.operator, Opaque) for value in graph.values)
    assert turns(graph) <= 4


def test_an_input_with_channels_last_is_taken_as_it_is():
    """What needs the order that the network gives it gets that, and other transpositions stay."""
    x = relay.var("x", shape=(1, 5, 6, 3), dtype="int8")
    kernel = relay.const(np.random.default_rng(0).integers(-128, 128, (4, 3, 3, 3)).astype(np.int8))
    image = relay.transpose(x, (0, 3, 1, 2))
    sums = relay.nn.conv2d(image, kernel, padding=(1, 1), channels=4, kernel_size=(3, 3), out_dtype="int32")
    bounded = relay.cast(relay.clip(relay.right_shift(sums, relay.const(8)), 0, 127), "int8")
    graph = integers(typed(x, bounded))
    (layer,) = (value for value in graph.values if isinstance(value.operator, Convolution))
    assert layer.inputs == graph.inputs
    assert turns(graph) == 1  # of the output
    turned = relay.transpose(x, (0, 2, 1, 3))
    integers(typed(x, relay.Tuple([bounded, image, turned, relay.reshape(image, (3, 30))])))


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
    assert turns(as_graph(before)) == 0


SEQUENCES: dict[str, Callable[[relay.Expr, relay.Constant], relay.Expr]] = {
    "convolution": lambda x, w: relay.nn.conv1d(x, w, channels=4, kernel_size=3, padding=(1, 2), strides=2),
    "with holes": lambda x, w: relay.nn.conv1d(x, w, channels=4, kernel_size=3, dilation=3),
    "transposed": lambda x, w: relay.nn.conv1d_transpose(
        x, w, channels=4, kernel_size=(3,), strides=(2,), padding=(1, 0), output_padding=(1,)
    ),
    "largest": lambda x, w: relay.nn.max_pool1d(x, 3, 2, padding=(1, 1)),
    "means": lambda x, w: relay.nn.avg_pool1d(x, 3, 2, padding=(1, 1)),
    "means that count padding": lambda x, w: relay.nn.avg_pool1d(x, 3, 2, padding=(1, 1), count_include_pad=True),
    "mean of all": lambda x, w: relay.nn.adaptive_avg_pool1d(x, 1),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_are_maps_of_one_row(name):
    rng = np.random.default_rng(3)
    x = relay.var("x", shape=(1, 4, 9), dtype="float32")
    before = typed(x, SEQUENCES[name](x, relay.const(rng.normal(0, 1, (4, 4, 3)).astype("float32"))))
    graph = as_graph(before)
    assert not any(isinstance(value.operator, Opaque) for value in graph.values)
    value = random_values(rng, (1, 4, 9), "float32")
    np.testing.assert_allclose(evaluate(graph, [value])[0], executable(before)({"x": value})[0], rtol=1e-4, atol=1e-4)


def test_gates_of_channels_are_multiplied_with_the_map_as_it_lies():
    """They are (1, C, 1, 1), of which no axis is the map's."""
    rng = np.random.default_rng(4)
    x = relay.var("x", shape=(1, 6, 5, 7), dtype="float32")
    first, second = (relay.const(rng.normal(0, 1, (6, 6, 1, 1)).astype("float32")) for _ in range(2))
    gates = relay.reshape(relay.tanh(relay.sum(x, (2, 3))), (1, 6, 1, 1))
    gated = relay.multiply(gates, relay.nn.conv2d(x, first, kernel_size=(1, 1), channels=6))
    before = typed(x, relay.nn.conv2d(gated, second, kernel_size=(1, 1), channels=6))
    assert turns(as_graph(before)) == 2  # of the input and of the output
