"""Layers whose sums no module takes still count their multiply-accumulates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from match.layer import Op
from match.pattern.rows import products
from match.relay import relay, tvm


def body(expr: Any, x: Any) -> Any:
    module = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], expr)))
    return module["main"].body


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
