"""A layer as a network of its own, whose scales are powers of two: what accelerators that only shift can execute."""

from __future__ import annotations

from typing import Any

import numpy as np

from match.ir.layer import Layer, Op
from match.relay import relay, tvm

SCALE = 2.0**-6
"""Of the weights; activations have scale 1 and zero point 0."""


def alone(layer: Layer) -> tvm.IRModule:
    """The convolution, dense layer or addition in QNN operators, int8 in and out, with seeded weights.

    Raises:
        ValueError: the layer is another operator.
    """
    shape = (layer.ox, layer.c) if layer.op is Op.DENSE else (1, layer.iy, layer.ix, layer.input_channels)
    inputs = [relay.var(name, shape=shape, dtype="int8") for name in ("x", "y")[: 1 + (layer.op is Op.ADD)]]
    match layer.op:
        case Op.CONV2D | Op.DEPTHWISE_CONV2D:
            output = _requantized(_convolution(layer, inputs[0]), axis=3)
        case Op.DENSE:
            accumulator = relay.qnn.op.dense(
                inputs[0], _weights(layer.k, layer.c), _zero(), _zero(), _scale(1), _scale(SCALE), layer.k
            )
            output = _requantized(accumulator, axis=1)
        case Op.ADD:
            unit = (_scale(1), _zero())
            output = relay.qnn.op.add(*inputs, *unit, *unit, _scale(2), _zero())
        case _:
            raise ValueError(f"{layer.op} is not built as a network of its own")
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(inputs, output)))


def _convolution(layer: Layer, x: Any) -> Any:
    depthwise = layer.op is Op.DEPTHWISE_CONV2D
    window = (layer.fy, layer.fx)
    return relay.qnn.op.conv2d(
        x,
        _weights(*window, layer.k, 1) if depthwise else _weights(*window, layer.c, layer.k),
        _zero(),
        _zero(),
        _scale(1),
        _scale(SCALE),
        kernel_size=window,
        channels=layer.k,
        strides=layer.stride,
        dilation=layer.dilation,
        padding=tuple(layer.padding),
        groups=layer.k if depthwise else 1,
        data_layout="NHWC",
        kernel_layout="HWOI" if depthwise else "HWIO",
        out_dtype="int32",
    )


def _requantized(accumulator: Any, axis: int) -> Any:
    return relay.qnn.op.requantize(accumulator, _scale(SCALE), _zero(), _scale(1), _zero(), axis=axis, out_dtype="int8")


def _weights(*shape: int) -> Any:
    return relay.const(np.random.default_rng(0).integers(-127, 128, shape).astype(np.int8))


def _zero() -> Any:
    return relay.const(0, "int32")


def _scale(value: float) -> Any:
    return relay.const(value, "float32")
