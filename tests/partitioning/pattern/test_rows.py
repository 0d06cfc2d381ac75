"""What runs as TVM's C: multiply-accumulates of layers that no module takes, softmax as one row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from match.ir.layer import Op
from match.partitioning.pattern.rows import Chain, called, is_floating, products, rows
from match.relay import relay, tvm
from match.relay.softmax import softmax


def body(expr: Any, x: Any) -> Any:
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], expr)))
    return module["main"].body


def chains(expr: Any, x: Any) -> list[Chain]:
    main = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], expr)))["main"]
    return [row for row in rows(main, ()) if isinstance(row, tuple)]


def test_dense() -> None:
    x = relay.var("x", shape=(1, 12), dtype="uint8")
    sums = body(relay.nn.dense(x, relay.const(np.ones((5, 12), np.int8)), out_dtype="int32"), x)
    assert products((sums,)) == (Op.DENSE, 5 * 12)


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
    assert products((body(convolution, x),)) == (Op.CONV2D, (7 * 6) * 6 * (3 * 2 * 4))


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
    assert products((body(convolution, x),)) == (Op.DEPTHWISE_CONV2D, (7 * 5) * 4 * 9)


def test_what_multiplies_no_weights() -> None:
    x = relay.var("x", shape=(1, 12), dtype="float32")
    assert products((body(relay.nn.softmax(x), x),)) is None


def test_softmax_in_integers_is_one_row() -> None:
    x = relay.var("x", shape=(3, 12), dtype="int8")
    scores = relay.nn.relu(x)
    soft = softmax(scores, 12, np.arange(256, dtype=np.int64), "int8")
    found = chains(relay.reshape(soft, (36,)), x)
    assert [called(row) for row in found] == ["nn.relu", "softmax", "reshape"]
    assert not any(is_floating(row) for row in found)


def test_elements_of_one_shape_are_one_row() -> None:
    x = relay.var("x", shape=(1, 12), dtype="int32")
    y = relay.add(relay.negative(x), relay.const(3))
    wider = relay.abs(relay.multiply(y, relay.const(np.ones((4, 12), np.int32))))
    assert list(map(called, chains(wider, x))) == ["negative+add", "multiply+abs"]


def test_floating_point_is_known_by_what_goes_in_or_comes_out() -> None:
    x = relay.var("x", shape=(1, 12), dtype="float32")
    assert is_floating((body(relay.exp(x), x),))
    assert is_floating((body(relay.cast(x, "int8"), x),))
    integer = relay.var("x", shape=(1, 12), dtype="int32")
    assert is_floating((body(relay.cast(integer, "float32"), integer),))
    assert not is_floating((body(relay.cast(integer, "int8"), integer),))
