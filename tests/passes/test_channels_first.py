"""Integers of maps with channels first, as Relay has them: the same numbers as TVM's, on layers with channels last."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from match.frontend.relay import from_relay
from match.graph.evaluate import evaluate
from match.graph.maximum import Maximum
from match.graph.moves import Move
from match.graph.opaque import Opaque
from match.graph.operator import Operator
from match.graph.sums import Average, Convolution
from match.graph.value import Graph
from match.passes.pipeline import integer_network
from match.relay import relay, tvm
from tests.passes.running import executable, random_values

pytestmark = pytest.mark.tvm

RNG = np.random.default_rng(5)
ZERO, SCALE = relay.const(0, "int32"), relay.const(0.125)


def const(low: int, high: int, *extents: int, dtype: str = "int8") -> relay.Constant:
    return relay.const(RNG.integers(low, high, extents).astype(dtype))


def saturated(sums: relay.Expr, shift: int) -> relay.Expr:
    return relay.cast(relay.clip(relay.right_shift(sums, relay.const(shift)), -128, 127), "int8")


def convolution(x: relay.Expr) -> relay.Expr:
    padded = relay.nn.pad(x, ((0, 0), (0, 0), (1, 0), (2, 0)), relay.const(0, "int8"))
    sums = relay.nn.conv2d(padded, const(-9, 9, 6, 4, 3, 3), kernel_size=(3, 3), channels=6, out_dtype="int32")
    return saturated(
        relay.add(relay.multiply(sums, const(1, 9, 6, 1, 1, dtype="int32")), const(-900, 900, 6, 1, 1, dtype="int32")),
        6,
    )


def depthwise(x: relay.Expr) -> relay.Expr:
    sums = relay.nn.conv2d(
        x, const(-9, 9, 8, 1, 3, 2), kernel_size=(3, 2), channels=8, groups=4, strides=(2, 1), out_dtype="int32"
    )
    return saturated(relay.nn.bias_add(sums, const(-90, 90, 8, dtype="int32"), axis=1), 4)


def whole_map(x: relay.Expr) -> relay.Expr:
    return saturated(relay.sum(relay.cast(x, "int32"), (2, 3), keepdims=True), 3)


def means(x: relay.Expr) -> relay.Expr:
    positive = relay.cast(relay.clip(relay.cast(x, "int32"), 0, 127), "int8")
    return relay.cast(relay.nn.avg_pool2d(relay.cast(positive, "int32"), (3, 2), strides=(3, 2)), "int8")


def largest(x: relay.Expr) -> relay.Expr:
    return relay.nn.max_pool2d(x, (2, 2), strides=(2, 2), padding=(1, 0))


LAYERS: dict[str, tuple[Callable[[relay.Expr], relay.Expr], type[Operator]]] = {
    "convolution": (convolution, Convolution),
    "depthwise": (depthwise, Convolution),
    "whole map": (whole_map, Average),
    "means": (means, Average),
    "largest": (largest, Maximum),
}


def network(build: Callable[[relay.Expr], relay.Expr]) -> tvm.IRModule:
    """What `build` makes of a map of 4 channels, between two layers."""
    x = relay.var("x", shape=(1, 4, 6, 8), dtype="int8")
    before = relay.nn.max_pool2d(x, (1, 1))
    after = relay.nn.max_pool2d(build(before), (1, 1))
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], after)))


def read(module: tvm.IRModule) -> Graph:
    """The integer form, which computes what TVM computes."""
    graph = integer_network(from_relay(module))
    for _ in range(3):
        value = random_values(RNG, graph.inputs[0].shape, graph.inputs[0].dtype)
        (expected,), (found,) = executable(module)({"x": value}), evaluate(graph, [value])
        np.testing.assert_array_equal(found, expected)
    return graph


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    """Only the network's input and output are turned."""
    build, kind = LAYERS[name]
    graph = read(network(build))
    operators = [value.operator for value in graph.values if value.operator is not None]
    assert any(isinstance(operator, kind) for operator in operators)
    assert not any(isinstance(operator, Opaque) for operator in operators)
    assert sum(isinstance(operator, Move) and operator.turns for operator in operators) <= 2


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_blocks(mode: str) -> None:
    graph = read(network(lambda x: relay.nn.space_to_depth(relay.nn.depth_to_space(x, 2, mode=mode), 2)))
    assert not any(isinstance(value.operator, Opaque) for value in graph.values)


QUANTIZED: dict[str, Callable[[relay.Expr], relay.Expr]] = {
    "convolution": lambda x: relay.qnn.op.conv2d(
        x, const(-9, 9, 6, 4, 3, 3), ZERO, ZERO, SCALE, SCALE, (3, 3), 6, padding=(1, 1)
    ),
    "depthwise": lambda x: relay.qnn.op.conv2d(
        x, const(-9, 9, 4, 1, 3, 3), ZERO, ZERO, SCALE, SCALE, (3, 3), 4, groups=4, padding=(2, 0)
    ),
    "padded": lambda x: relay.qnn.op.conv2d(
        relay.nn.pad(x, ((0, 0), (0, 0), (2, 1), (0, 1)), relay.const(0, "int8")),
        *(const(-9, 9, 6, 4, 3, 3), ZERO, ZERO, SCALE, SCALE, (3, 3), 6),
    ),
    "transposed": lambda x: relay.qnn.op.conv2d_transpose(
        x,
        *(const(-9, 9, 4, 6, 3, 3), ZERO, ZERO, SCALE, SCALE),
        strides=(2, 2),
        padding=(1, 1),
        channels=6,
        kernel_size=(3, 3),
        output_padding=(1, 1),
        data_layout="NCHW",
        kernel_layout="IOHW",
        out_dtype="int32",
    ),
}


@pytest.mark.parametrize("name", QUANTIZED)
def test_quantized_layers(name: str) -> None:
    """Scales are powers of two, and a requantization that rounds up is TVM's."""

    def build(x: relay.Expr) -> relay.Expr:
        products = relay.const(2.0**-6)
        return relay.qnn.op.requantize(
            QUANTIZED[name](x), products, ZERO, relay.const(0.5), ZERO, axis=1, rounding="UPWARD", out_dtype="int8"
        )

    graph = read(network(build))
    operators = [value.operator for value in graph.values if value.operator is not None]
    assert any(isinstance(operator, Convolution) for operator in operators)
    assert not any(isinstance(operator, Opaque) for operator in operators)


def test_quantized_means() -> None:
    """They are those of the same map with channels last."""
    value = random_values(RNG, (1, 4, 6, 8), "int8")
    found: list[np.ndarray] = []
    for layout, axes in (("NCHW", (0, 1, 2, 3)), ("NHWC", (0, 2, 3, 1))):
        given = np.ascontiguousarray(value.transpose(axes))
        x = relay.var("x", shape=given.shape, dtype="int8")
        means = relay.qnn.op.avg_pool2d(x, SCALE, ZERO, SCALE, ZERO, (2, 2), (2, 2), (0, 0), (1, 1), layout=layout)
        graph = integer_network(from_relay(tvm.IRModule.from_expr(relay.Function([x], means))))
        assert any(isinstance(one.operator, Average) for one in graph.values)
        found += evaluate(graph, [given])
    np.testing.assert_array_equal(found[0].transpose(0, 2, 3, 1), found[1])


def test_what_is_transposed_are_bytes() -> None:
    """An operand of an addition that has channels first is transposed, not the wide numbers that it is scaled to."""
    table = relay.const(RNG.integers(-200, 200, 256).astype(np.int32))

    def total(x: relay.Expr, operand: relay.Expr) -> tvm.IRModule:
        pooled = relay.cast(relay.nn.max_pool2d(x, pool_size=(3, 3), padding=(1, 1)), "int32")
        return relay.transform.InferType()(
            tvm.IRModule.from_expr(relay.Function([x], saturated(relay.add(pooled, operand), 3)))
        )

    x = relay.var("x", shape=(1, 5, 6, 4), dtype="uint8")
    scaled = relay.multiply(relay.cast(x, "int32"), relay.const(-3, "int32"))
    for operand in (scaled, relay.take(table, relay.cast(x, "int32"))):
        moved = [one.tensor for one in read(total(x, operand)).values if isinstance(one.operator, Move)]
        assert {tensor.dtype for tensor in moved} <= {"uint8", "int8"}


def test_wide_numbers_for_what_is_no_layer_are_those_of_bytes_in_their_order() -> None:
    """An average that rounds towards zero, which the control core computes."""
    graph = read(network(lambda x: relay.cast(relay.nn.avg_pool2d(relay.cast(x, "int32"), (3, 2)), "int8")))
    assert {one.dtype for one in graph.values if isinstance(one.operator, Move)} == {"int8"}
