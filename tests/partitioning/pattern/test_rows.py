"""What runs as TVM's C: multiply-accumulates of layers that no module takes, softmax as one row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from match.frontend.relay import from_relay
from match.graph.value import Value
from match.ir.layer import Op
from match.partitioning.pattern import Core, find_layers
from match.partitioning.pattern import rows as pattern_rows
from match.partitioning.pattern.rows import called, is_floating, rows
from match.partitioning.pattern.rows import products as rows_products
from match.passes.pipeline import integer_network
from match.relay import relay, tvm
from match.relay.fixed_point import alone
from match.relay.softmax import softmax
from match.relay.work import work_of
from tests.layers_of import graph_of

pytestmark = pytest.mark.tvm


def body(expr: Any, x: Any) -> Any:
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], expr)))
    return module["main"].body


def core_rows(expr: Any, x: Any) -> list[Core]:
    """Those of an expression where nothing is a layer."""
    graph = graph_of(relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], expr))))
    return [row for row in rows(graph, ()) if isinstance(row, Core)]


def products(call: Any) -> tuple[Op | None, int]:
    work = work_of(call)
    return work.op, work.macs


def test_dense() -> None:
    x = relay.var("x", shape=(1, 12), dtype="uint8")
    sums = body(relay.nn.dense(x, relay.const(np.ones((5, 12), np.int8)), out_dtype="int32"), x)
    assert products(sums) == (Op.DENSE, 5 * 12)


@pytest.mark.parametrize(("layout", "kernel"), [("NHWC", "HWIO"), ("NCHW", "OIHW")])
def test_convolution(layout: str, kernel: str) -> None:
    sizes = {"N": 1, "C": 4, "H": 9, "W": 7, "O": 6, "I": 4}
    x = relay.var("x", shape=[sizes[axis] for axis in layout], dtype="uint8")
    weights = np.ones([{**sizes, "H": 3, "W": 2}[axis] for axis in kernel], np.int8)
    convolution = relay.nn.conv2d(
        x,
        relay.const(weights),
        data_layout=layout,
        kernel_layout=kernel,
        channels=6,
        kernel_size=(3, 2),
        out_dtype="int32",
    )
    assert products(body(convolution, x)) == (Op.CONV2D, (7 * 6) * 6 * (3 * 2 * 4))


def test_depthwise_convolution() -> None:
    x = relay.var("x", shape=(1, 9, 7, 4), dtype="uint8")
    weights = relay.const(np.ones((3, 3, 4, 1), np.int8))
    convolution = relay.nn.conv2d(
        x,
        weights,
        groups=4,
        data_layout="NHWC",
        kernel_layout="HWOI",
        channels=4,
        kernel_size=(3, 3),
        out_dtype="int32",
    )
    assert products(body(convolution, x)) == (Op.DEPTHWISE_CONV2D, (7 * 5) * 4 * 9)


def constant(*shape: int) -> Any:
    return relay.const(np.ones(shape, np.int8))


def scaled(build: Callable[..., Any], *tensors: Any, **attributes: Any) -> Any:
    """An operator of QNN with zero points of 0 and scales of 1."""
    return build(*tensors, *(relay.const(0),) * 2, *(relay.const(np.float32(1)),) * 2, **attributes)


@pytest.mark.parametrize(
    ("shape", "build", "expected"),
    [
        # (outputs) * (channels of the group * taps)
        ((1, 4, 10), lambda x: relay.nn.conv1d(x, constant(5, 4, 3)), (Op.CONV2D, (5 * 8) * (4 * 3))),
        (
            (1, 4, 10),
            lambda x: relay.nn.conv1d(x, constant(6, 2, 3), groups=2, channels=6, kernel_size=(3,)),
            (Op.DEPTHWISE_CONV2D, (6 * 8) * (2 * 3)),
        ),
        (
            (1, 4, 6, 6, 6),
            lambda x: relay.nn.conv3d(x, constant(5, 4, 3, 2, 2)),
            (Op.CONV2D, (5 * 4 * 5 * 5) * (4 * 12)),
        ),
        # (inputs) * (outputs of the group * taps)
        (
            (1, 4, 6),
            lambda x: relay.nn.conv1d_transpose(x, constant(4, 5, 3), strides=(2,), channels=5, kernel_size=(3,)),
            (Op.CONV2D, (4 * 6) * (5 * 3)),
        ),
        (
            (1, 4, 6, 7),
            lambda x: relay.nn.conv2d_transpose(
                x, constant(4, 5, 3, 3), strides=(2, 2), channels=5, kernel_size=(3, 3)
            ),
            (Op.CONV2D, (4 * 6 * 7) * (5 * 9)),
        ),
        (
            (1, 4, 6, 7),
            lambda x: scaled(
                relay.qnn.op.conv2d_transpose, x, constant(4, 5, 3, 3), channels=5, kernel_size=(3, 3), strides=(2, 2)
            ),
            (Op.CONV2D, (4 * 6 * 7) * (5 * 9)),
        ),
        # (rows * columns) * (what both have)
        (
            (2, 6, 8),
            lambda x: relay.nn.batch_matmul(x, constant(2, 5, 8), out_dtype="int32"),
            (Op.DENSE, (2 * 6 * 5) * 8),
        ),
        (
            (2, 8, 6),
            lambda x: relay.nn.batch_matmul(x, constant(2, 8, 5), "int32", transpose_a=True, transpose_b=False),
            (Op.DENSE, (2 * 6 * 5) * 8),
        ),
        ((2, 6, 8), lambda x: scaled(relay.qnn.op.batch_matmul, x, x), (Op.DENSE, (2 * 6 * 6) * 8)),
    ],
)
def test_other_convolutions_and_products(
    shape: tuple[int, ...], build: Callable[[Any], Any], expected: tuple[Op, int]
) -> None:
    x = relay.var("x", shape=shape, dtype="int8")
    assert products(body(build(x), x)) == expected


def test_what_multiplies_no_weights() -> None:
    x = relay.var("x", shape=(1, 12), dtype="float32")
    assert products(body(relay.nn.softmax(x), x)) == (None, 0)


def test_softmax_in_integers_is_one_row() -> None:
    x = relay.var("x", shape=(3, 12), dtype="int8")
    scores = relay.nn.relu(x)
    soft = softmax(scores, 12, np.arange(256, dtype=np.int64), "int8", -128)
    found = core_rows(relay.reshape(soft, (36,)), x)
    assert [called(row) for row in found] == ["nn.relu", "softmax", "reshape"]
    assert not any(is_floating(row) for row in found)


def test_another_function_in_fixed_point_is_one_row_and_no_softmax() -> None:
    x = relay.var("x", shape=(3, 12), dtype="int8")
    once = relay.annotation.stop_fusion(relay.multiply(relay.cast(x, "int32"), relay.const(77)))
    squares = relay.right_shift(relay.multiply(once, once), relay.const(16))
    y = relay.cast(relay.clip(squares, -128, 127), "int8")
    assert [called(row) for row in core_rows(relay.reshape(y, (36,)), x)] == ["fixed_point", "reshape"]


def test_a_function_in_fixed_point_goes_on_with_values_of_the_one_before() -> None:
    """As a step of an LSTM does with its cell: no operator and no product is computed twice."""
    x = relay.var("x", shape=(3, 12), dtype="int8")
    weights = relay.const(np.ones((12, 12), np.int8))
    cell, shown = relay.cast(x, "int32"), x
    steps: list[Any] = []
    for _ in range(3):
        cell = relay.annotation.stop_fusion(relay.add(cell, relay.nn.dense(shown, weights, out_dtype="int32")))
        shown = relay.cast(relay.clip(relay.right_shift(cell, relay.const(4)), -128, 127), "int8")
        steps.append(shown)
    found = core_rows(relay.concatenate(steps, 1), x)
    assert [called(row) for row in found] == ["fixed_point", "fixed_point", "fixed_point", "concatenate"]
    assert [len(row.covered) for row in found] == [6, 5, 5, 1]
    assert [rows_products(row) for row in found[:3]] == [(Op.DENSE, 3 * 12 * 12)] * 3


def test_elements_of_one_shape_are_one_row() -> None:
    x = relay.var("x", shape=(1, 12), dtype="int32")
    y = relay.add(relay.negative(x), relay.const(3))
    wider = relay.abs(relay.multiply(y, relay.const(np.ones((4, 12), np.int32))))
    assert list(map(called, core_rows(wider, x))) == ["negative+add", "multiply+abs"]


def test_floating_point_is_known_by_what_goes_in_or_comes_out() -> None:
    x = relay.var("x", shape=(1, 12), dtype="float32")
    assert work_of(body(relay.exp(x), x)).floating
    assert work_of(body(relay.cast(x, "int8"), x)).floating
    integer = relay.var("x", shape=(1, 12), dtype="int32")
    assert work_of(body(relay.cast(integer, "float32"), integer)).floating
    assert not work_of(body(relay.cast(integer, "int8"), integer)).floating


def test_a_value_that_is_computed_once_ends_its_loop() -> None:
    x = relay.var("x", shape=(1, 12), dtype="int32")
    once = relay.annotation.stop_fusion(relay.add(x, x))
    found = core_rows(relay.multiply(once, relay.add(once, x)), x)
    assert [called(calls) for calls in found] == ["add", "add+multiply"]


def quantized(x: Any) -> Any:
    scale, zero = relay.const(np.array([0.1], np.float32)), relay.const(3, "int32")
    bounded = relay.round(relay.clip(relay.divide(x, scale), -128, 127))
    return relay.cast(relay.add(relay.cast(bounded, "int32"), zero), "int8")


@pytest.mark.parametrize(
    ("build", "known"),
    [
        (lambda x: relay.add(relay.cast(x, "int32"), relay.cast(x, "int32")), True),
        (lambda x: relay.multiply(relay.cast(x, "float32"), relay.const(0.1)), True),
        (lambda x: quantized(relay.cast(x, "float32")), True),
        (lambda x: relay.divide(relay.cast(x, "float32"), relay.const(0.1)), False),
        (lambda x: relay.multiply(relay.cast(x, "float32"), relay.cast(x, "float32")), False),
        (lambda x: relay.sum(relay.cast(x, "float32"), 1), False),
        (lambda x: relay.nn.softmax(relay.cast(x, "float32")), False),
        (lambda x: relay.tanh(relay.cast(x, "float32")), False),
        (lambda x: relay.nn.dense(relay.cast(x, "float32"), relay.const(np.ones((3, 12), np.float32))), False),
    ],
)
def test_what_is_known_to_be_the_references(build: Callable[[Any], Any], known: bool) -> None:
    x = relay.var("x", shape=(1, 12), dtype="int8")
    assert all(value.exact for row in core_rows(build(x), x) for value in row.covered) == known


def test_tvms_own_requantization_is_not_the_references() -> None:
    """What no pass has a form for is left to it: here a change of scale of sums."""
    x = relay.var("x", shape=(1, 12), dtype="int8")
    zero = relay.const(0, "int32")
    sums = relay.cumsum(relay.cast(x, "int32"), 1)
    total = relay.qnn.op.requantize(sums, relay.const(0.1), zero, relay.const(0.7), zero, out_dtype="int8")
    model = from_relay(tvm.IRModule.from_expr(relay.Function([x], total)))
    assert not all(value.exact for value in integer_network(model).values)


def recurrent(steps: int) -> tvm.IRModule:
    """A cell of int32 that each step changes and hands out in 8 bits, as a step of an LSTM does."""
    x = relay.var("x", shape=(1, 8), dtype="int8")
    cell: relay.Expr = relay.cast(x, "int32")
    outputs: list[relay.Expr] = []
    for _ in range(steps):
        cell = alone(relay.add(relay.right_shift(cell, relay.const(1)), relay.cast(x, "int32")))
        outputs.append(relay.cast(relay.clip(cell, -128, 127), "int8"))
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.Tuple(outputs))))


def test_steps_are_not_read_again_for_each_step_after_them(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[Value] = []
    asked = pattern_rows.is_computed

    def counted(value: Value) -> bool:
        looked_at.append(value)
        return asked(value)

    monkeypatch.setattr(pattern_rows, "is_computed", counted)
    counts: list[int] = []
    for steps in (6, 12):
        graph = graph_of(recurrent(steps))
        looked_at.clear()
        rows(graph, find_layers(graph))
        counts.append(len(looked_at))
    assert 0 < counts[1] <= 2 * counts[0] + 10
