"""An occurrence of each pattern, as TVM's front ends write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from match.relay import relay, tvm

ZERO, ENDS, OTHERS = relay.const(0, "int32"), (relay.const(0.05), relay.const(3)), (relay.const(0.07), relay.const(-9))
MAP, ROWS = (1, 8, 8, 16), (1, 16)


def constant(*extents: int, dtype: str = "int8", seed: int = 1) -> relay.Expr:
    values = np.random.default_rng(seed).integers(-100, 101, extents)
    return relay.const((values if dtype == "int8" else 30 * values).astype(dtype), dtype)


def real(x: relay.Expr) -> relay.Expr:
    return relay.qnn.op.dequantize(x, *ENDS)


def stored(x: relay.Expr, ends: tuple[relay.Expr, relay.Expr] = OTHERS) -> relay.Expr:
    return relay.qnn.op.quantize(x, *ends, out_dtype="int8")


def requantized(sums: relay.Expr, axis: int, scale: float = 0.0005) -> relay.Expr:
    y = relay.nn.bias_add(sums, constant(16, dtype="int32", seed=2), axis=axis)
    y = relay.qnn.op.requantize(y, relay.const(scale), ZERO, *OTHERS, axis=axis, out_dtype="int8")
    return relay.clip(y, -90, 100)


def convolution(x: relay.Expr, **attributes: Any) -> relay.Expr:
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO", **attributes}
    scales = ENDS[1], ZERO, ENDS[0], relay.const(0.01)
    return relay.qnn.op.conv2d(x, constant(3, 3, 16, 16), *scales, (3, 3), 16, **layouts)


def transposed(x: relay.Expr) -> relay.Expr:
    sums = relay.qnn.op.conv2d_transpose(
        *(x, constant(16, 16, 2, 2), ENDS[1], ZERO, ENDS[0], relay.const(0.01)),
        strides=(2, 2),
        channels=16,
        kernel_size=(2, 2),
        data_layout="NHWC",
        kernel_layout="IOHW",
        out_dtype="int32",
    )
    return requantized(sums, 3)


def dense(x: relay.Expr) -> relay.Expr:
    return requantized(relay.qnn.op.dense(x, constant(16, 16), ENDS[1], ZERO, ENDS[0], relay.const(0.01), 16), axis=1)


def shifted(sums: relay.Expr, bias: tuple[int, ...]) -> relay.Expr:
    y = relay.add(relay.cast(sums, "int64"), constant(*bias, dtype="int64"))
    return relay.cast(relay.clip(relay.right_shift(y, relay.const(10, "int64")), -128, 127), "int8")


def plain_convolution(x: relay.Expr) -> relay.Expr:
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO", "out_dtype": "int32"}
    return relay.nn.conv2d(x, constant(3, 3, 16, 16), channels=16, kernel_size=(3, 3), **layouts)


def product(x: relay.Expr, y: relay.Expr) -> relay.Expr:
    sums = relay.qnn.op.batch_matmul(x, y, ENDS[1], OTHERS[1], ENDS[0], OTHERS[0])
    return relay.qnn.op.requantize(sums, relay.const(0.0035), ZERO, *ENDS, out_dtype="int8")


def halved(x: relay.Expr, y: relay.Expr) -> relay.Expr:
    total = relay.add(relay.cast(x, "int32"), relay.cast(y, "int32"))
    return relay.cast(relay.clip(relay.right_shift(total, relay.const(1)), -128, 127), "int8")


def average(x: relay.Expr) -> relay.Expr:
    y = relay.qnn.op.requantize(x, *ENDS, *OTHERS, out_dtype="int8")
    return relay.cast(relay.nn.avg_pool2d(relay.cast(y, "int32"), (2, 2), (2, 2), layout="NHWC"), "int8")


def mean(x: relay.Expr) -> relay.Expr:
    return relay.qnn.op.requantize(
        relay.mean(relay.cast(x, "int32"), (1, 2), keepdims=True), *ENDS, *OTHERS, out_dtype="int8"
    )


def prelu(x: relay.Expr) -> relay.Expr:
    return stored(relay.nn.prelu(real(x), relay.const(np.linspace(0, 1, 16).astype(np.float32)), axis=3))


def hard_swish(x: relay.Expr) -> relay.Expr:
    y = real(x)
    return stored(relay.divide(relay.multiply(y, relay.clip(relay.add(y, relay.const(3.0)), 0, 6)), relay.const(6.0)))


def real_convolution(x: relay.Expr) -> relay.Expr:
    weights = relay.qnn.op.dequantize(constant(3, 3, 16, 16), relay.const(0.001), ZERO)
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    return stored(relay.nn.relu(relay.nn.conv2d(real(x), weights, channels=16, kernel_size=(3, 3), **layouts)))


def real_dense(x: relay.Expr) -> relay.Expr:
    return stored(relay.nn.dense(real(x), relay.qnn.op.dequantize(constant(16, 16), relay.const(0.001), ZERO)))


def concatenated(x: relay.Expr, y: relay.Expr) -> relay.Expr:
    scales, zeros = relay.Tuple([ENDS[0], OTHERS[0]]), relay.Tuple([ENDS[1], OTHERS[1]])
    return relay.qnn.op.concatenate(relay.Tuple([x, y]), scales, zeros, *OTHERS, axis=3)


def padded(x: relay.Expr) -> relay.Expr:
    return relay.nn.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), relay.const(3, "int8"))


def softmax(function: Callable[..., relay.Expr], scale: float, zero_point: int) -> Callable[..., relay.Expr]:
    return lambda x: stored(function(real(x), axis=1), (relay.const(scale), relay.const(zero_point)))


Example = tuple[Callable[..., relay.Expr], tuple[tuple[int, ...], ...]]
EXAMPLES: dict[str, Example] = {
    "padded_conv2d": (lambda x: requantized(convolution(padded(x)), 3), (MAP,)),
    "conv2d": (lambda x: requantized(convolution(x), 3), (MAP,)),
    "conv2d_transpose": (transposed, (MAP,)),
    "dense": (dense, (ROWS,)),
    "shifted_conv2d": (lambda x: shifted(plain_convolution(x), (16,)), (MAP,)),
    "shifted_dense": (lambda x: shifted(relay.nn.dense(x, constant(16, 16), out_dtype="int32"), (16,)), (ROWS,)),
    "shifted_add": (halved, (MAP, MAP)),
    "batch_matmul": (product, ((1, 8, 16), (1, 8, 16))),
    "add": (lambda x, y: relay.qnn.op.add(x, y, *ENDS, *OTHERS, *OTHERS), (MAP, MAP)),
    "multiply": (lambda x, y: relay.qnn.op.mul(x, y, *ENDS, *OTHERS, *ENDS), (MAP, MAP)),
    "qnn_avg_pool2d": (
        lambda x: relay.qnn.op.avg_pool2d(x, *ENDS, *OTHERS, (2, 2), (2, 2), (0, 0), (1, 1), layout="NHWC"),
        (MAP,),
    ),
    "avg_pool2d": (average, (MAP,)),
    "mean": (mean, (MAP,)),
    "max_pool2d": (lambda x: relay.nn.max_pool2d(x, (2, 2), (2, 2), layout="NHWC"), (MAP,)),
    "softmax": (softmax(relay.nn.softmax, 1 / 256, -128), (ROWS,)),
    "real_pool2d": (lambda x: stored(relay.nn.max_pool2d(real(x), (2, 2), (2, 2), layout="NHWC")), (MAP,)),
    "prelu": (prelu, (MAP,)),
    "resize": (
        lambda x: stored(relay.image.resize2d(real(x), (16, 16), layout="NHWC", method="linear"), ENDS),
        (MAP,),
    ),
    "real_function": (hard_swish, (MAP,)),
    "real_function_of_two": (lambda x, y: stored(relay.abs(relay.subtract(real(x), real(y)))), (MAP, MAP)),
    "real_conv2d": (real_convolution, (MAP,)),
    "real_dense": (real_dense, (ROWS,)),
    "function": (lambda x: relay.qnn.op.hardswish(x, *ENDS, *OTHERS), (MAP,)),
    "requantize": (lambda x: relay.qnn.op.requantize(x, *ENDS, *OTHERS, out_dtype="int8"), (MAP,)),
    "clip": (lambda x: relay.clip(x, -20, 30), (MAP,)),
    "extreme": (relay.maximum, (MAP, MAP)),
    "concatenate": (concatenated, (MAP, MAP)),
    "move": (lambda x: relay.transpose(x, (0, 3, 1, 2)), (MAP,)),
    "sums": (lambda x: relay.nn.dense(x, constant(16, 16), out_dtype="int32"), (ROWS,)),
    "quantize": (stored, (MAP,)),
    "dequantize": (real, (MAP,)),
}
"""By the pattern's name: what makes it of its inputs, and their shapes."""

TYPES = {"sums": "uint8", "quantize": "float32"}
"""The type of the inputs of examples, where that is not int8."""


def module_of(*names: str) -> tvm.IRModule:
    """A network of examples, each with inputs of its own and an output."""
    inputs: list[relay.Var] = []
    outputs: list[relay.Expr] = []
    for name in names:
        build, shapes = EXAMPLES[name]
        kind = TYPES.get(name, "int8")
        own = [relay.var(f"{name}_{number}", shape=each, dtype=kind) for number, each in enumerate(shapes)]
        outputs.append(build(*own))
        inputs += own
    body = relay.Tuple(outputs) if len(outputs) > 1 else outputs[0]
    return relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function(inputs, body)))
