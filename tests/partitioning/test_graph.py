"""The graph of a network against what was built: tensors, who writes and who reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from match.ir.graph import Graph, Tensor
from match.partitioning.graph import listed_graph
from match.partitioning.pattern import Match, Row, find_layers
from match.partitioning.pattern.rows import rows
from match.partitioning.sums import Halves, halves
from match.relay import relay, tvm
from match.relay.softmax import softmax
from tests.dispatch.fakes import FakeModule, FakeTarget
from tests.dispatch.test_partition import add, conv
from tests.layers_of import graph_of

pytestmark = pytest.mark.cc

MAP = Tensor((1, 6, 6, 4), "uint8")


def graph(inputs: list[Any], body: Any, *, split: bool = False) -> Graph:
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(inputs, body)))
    unit = FakeModule("unit")
    unit.sums = frozenset(unit.ops)

    def apart(row: Row) -> Row | Halves:
        return (split and isinstance(row, Match) and halves(row, FakeTarget(unit))) or row

    network = graph_of(module)
    return listed_graph(network, [apart(row) for row in rows(network, find_layers(network))]).graph


def wiring(graph: Graph) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    return [(operator.name, operator.reads, operator.writes) for operator in graph.operators]


def test_a_residual_block() -> None:
    x = relay.var("x", shape=MAP.shape, dtype="uint8")
    trunk = conv(x, 4, 4)
    found = graph([x], add(conv(trunk, 4, 4), trunk))
    assert wiring(found) == [("conv2d_0", (0,), (1,)), ("conv2d_1", (1,), (2,)), ("add_2", (2, 1), (3,))]
    assert found.tensors == (MAP,) * 4
    assert found.outputs == (3,)
    layer = found.operators[0]
    assert (layer.op, layer.kind, layer.macs, layer.combined, layer.outputs) == (
        "conv2d",
        "conv2d",
        36 * 4 * 36,
        36 * 4 * 36,
        144,
    )
    assert found.tensors[0].bytes == 144


def test_a_layer_in_two_parts() -> None:
    x = relay.var("x", shape=MAP.shape, dtype="uint8")
    found = graph([x], conv(conv(x, 4, 4), 4, 4), split=True)
    assert wiring(found) == [
        ("conv2d_0", (0,), (1,)),
        ("requantize_0", (1,), (2,)),
        ("conv2d_1", (2,), (3,)),
        ("requantize_1", (3,), (4,)),
    ]
    assert found.tensors[1] == Tensor(MAP.shape, "int32")
    assert found.tensors[1].bytes == 4 * MAP.bytes
    rest = found.operators[1]
    assert (rest.kind, rest.macs, rest.combined, rest.outputs) == ("conv2d", 0, 0, 144)


def test_rows_of_a_softmax() -> None:
    x = relay.var("x", shape=(1, 2, 9, 12), dtype="int8")
    body = softmax(relay.nn.relu(x), 12, np.arange(256, dtype=np.int64), "int8", -128)
    assert [(operator.op, operator.rows) for operator in graph([x], body).operators] == [
        ("nn.relu", 1),
        ("softmax", 18),
    ]


@pytest.mark.parametrize(
    ("reduce", "combined", "outputs"),
    [
        (lambda x: relay.sum(x, axis=2), 1 * 4 * 6 * 5, 4 * 5),
        (relay.mean, 1 * 4 * 6 * 5, 1),
        (lambda x: relay.max(x, axis=(1, 2)), 1 * 4 * 6 * 5, 5),
        (lambda x: relay.argmax(x, axis=3), 1 * 4 * 6 * 5, 4 * 6),
        (lambda x: relay.nn.avg_pool2d(x, (2, 3), layout="NHWC"), 3 * 4 * 5 * 6, 3 * 4 * 5),
        (lambda x: relay.nn.global_max_pool2d(x, layout="NHWC"), 4 * 6 * 5, 5),
        (relay.nn.relu, 0, 4 * 6 * 5),
    ],
)
def test_reductions_combine_what_they_read(reduce: Any, combined: int, outputs: int) -> None:
    x = relay.var("x", shape=(1, 4, 6, 5), dtype="float32")
    (operator,) = graph([x], reduce(x)).operators
    assert (operator.macs, operator.combined, operator.outputs, operator.floating) == (0, combined, outputs, True)


@pytest.mark.parametrize(("dtype", "sums"), [("float32", "float32"), ("uint8", "int32")])
def test_products_in_floating_point(dtype: str, sums: str) -> None:
    """Those of a layer that nothing quantized; one in integers whose sums become real numbers has none."""
    x = relay.var("x", shape=(1, 3, 4, 4), dtype=dtype)
    weights = relay.const(np.ones((3, 2, 2, 2), dtype if sums == "float32" else "int8"))
    layer = relay.nn.conv2d_transpose(x, weights, strides=(2, 2), channels=2, kernel_size=(2, 2), out_dtype=sums)
    products, *_ = graph([x], relay.nn.relu(relay.cast(layer, "float32"))).operators
    assert (products.macs, products.floating) == (4 * 4 * 3 * 2 * 4, sums == "float32")


def test_splits_and_concatenations() -> None:
    """Fields of a split are tensors of their own; what a tuple collects is read field by field."""
    x = relay.var("x", shape=(1, 6, 6, 8), dtype="uint8")
    halves = relay.split(x, 2, axis=3)
    joined = relay.concatenate([conv(halves[0], 4, 4), halves[1], relay.var("y", shape=MAP.shape, dtype="uint8")], 3)
    y = joined.args[0].fields[2]
    found = graph([x, y], relay.Tuple([joined, relay.nn.max_pool2d(x, (2, 2), layout="NHWC")]))
    assert [name for name, _, _ in wiring(found)] == ["slice_0", "conv2d_1", "slice_2", "concatenate_3", "max_pool2d_4"]
    first, layer, second, concatenation, pool = (operator for operator in found.operators)
    assert first.reads == second.reads == pool.reads
    assert layer.reads == first.writes
    assert concatenation.reads[:2] == (*layer.writes, *second.writes)
    assert len(concatenation.reads) == 3
    assert found.outputs == tuple(sorted((*concatenation.writes, *pool.writes)))


def test_padding_that_others_read_too() -> None:
    """The core pads for them, from the dense tensor; the layer pads for itself."""
    x = relay.var("x", shape=MAP.shape, dtype="uint8")
    layer = conv(conv(x, 4, 4), 4, 4)
    padded = next(call for call in _calls(layer) if call.op.name == "nn.pad")
    found = graph([x], relay.Tuple([layer, relay.nn.max_pool2d(padded, (2, 2), layout="NHWC")]))
    first, second, pad, pool = found.operators
    assert second.reads == pad.reads == first.writes
    assert pool.reads == pad.writes
    assert [found.tensors[number].shape for number in pad.writes] == [(1, 8, 8, 4)]
    assert set(found.outputs) == {*second.writes, *pool.writes}


def _calls(expr: Any) -> list[Any]:
    """Calls from an expression backwards, along the first arguments."""
    found: list[Any] = []
    while isinstance(expr, relay.Call):
        found.append(expr)
        expr = expr.args[0]
    return found


@pytest.mark.parametrize(("dtype", "size"), [("int8", 24), ("int32", 96), ("bool", 24), ("float32", 96)])
def test_bytes(dtype: str, size: int) -> None:
    assert Tensor((2, 3, 4), dtype).bytes == size
    assert np.zeros((2, 3, 4), dtype).nbytes == size
