"""A convolution as a network of its own whose scales are powers of two, for accelerators that only shift."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.published.cells import Convolution
from match.relay import relay, tvm

SCALE = 2.0**-6
"""The scale of the weights; activations have scale 1 and zero point 0."""


def alone(convolution: Convolution) -> tvm.IRModule:
    """The convolution in QNN operators, int8 in and out, padded to the same size, with seeded weights."""
    size, side = convolution.size, convolution.filter
    x = relay.var("x", shape=(1, size, size, convolution.channels), dtype="int8")
    weights = np.random.default_rng(0).integers(-127, 128, (side, side, convolution.channels, convolution.filters))
    accumulator = relay.qnn.op.conv2d(
        x,
        relay.const(weights.astype(np.int8)),
        _zero(),
        _zero(),
        _scale(1),
        _scale(SCALE),
        kernel_size=(side, side),
        channels=convolution.filters,
        padding=(side // 2,) * 4,
        data_layout="NHWC",
        kernel_layout="HWIO",
        out_dtype="int32",
    )
    output = relay.qnn.op.requantize(accumulator, _scale(SCALE), _zero(), _scale(1), _zero(), axis=3, out_dtype="int8")
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x], output)))


def _zero() -> Any:
    return relay.const(0, "int32")


def _scale(value: float) -> Any:
    return relay.const(value, "float32")
