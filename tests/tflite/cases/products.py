"""Operators that multiply with weights or two tensors with each other: convolutions and matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.tflite.case import NONE, RELU, RELU6, RELU_N1_TO_1, SAME, VALID, Network, Quantization, cases

X: Quantization = (0.05, 7)
Y: Quantization = (0.08, -11)
Pair = tuple[int, int]


def windows(size: Sequence[int], kernel: Pair, stride: Pair, dilation: Pair, padding: int) -> tuple[int, int]:
    """Height and width of what a window that slides over `size` gives."""
    reach = [0 if padding == SAME else (k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
    height, width = (-(-(n - r) // s) for n, r, s in zip(size, reach, stride, strict=True))
    return height, width


def scales_of(network: Network, count: int, per_channel: bool) -> Any:
    """Scales of weights: one, or one for each channel over three orders of magnitude."""
    return 2 ** network.rng.uniform(-12, -4, count) if per_channel else 0.0113


def bias_of(network: Network, count: int, scales: Any, scale: float, dtype: str, most: int) -> int:
    """Biases of at most a magnitude, at scales that are those of input and weights together."""
    values = network.rng.integers(-most, most, count)
    return network.constant(values, (np.asarray(scales) * scale, 0), dtype)


def conv2d(
    network: Network,
    name: str,
    shape: Sequence[int] = (1, 9, 7, 5),
    filters: int = 6,
    kernel: Pair = (3, 3),
    stride: Pair = (1, 1),
    dilation: Pair = (1, 1),
    padding: int = SAME,
    activation: int = NONE,
    x: Quantization = X,
    y: Quantization = Y,
    groups: int = 1,
    accumulates: int = 0,
    per_channel: bool = True,
    bias: str | None = "int32",
    most: int = 3000,
    dtype: str = "int8",
) -> None:
    """A convolution, grouped where the weights have fewer channels than the input.

    accumulates: of 16 bits, the type of sums without a bias, as the schema numbers it.
    """
    scales = scales_of(network, filters, per_channel)
    operands = [network.input(shape, x, dtype), network.weights((filters, *kernel, shape[3] // groups), scales)]
    operands.append(bias_of(network, filters, scales, x[0], bias, most) if bias else -1)
    size = windows(shape[1:3], kernel, stride, dilation, padding)
    network.apply(
        name, operands, network.tensor((shape[0], *size, filters), y, dtype), "Conv2DOptions",
        padding=padding, strideH=stride[0], strideW=stride[1], quantizedBiasType=accumulates,
        dilationHFactor=dilation[0], dilationWFactor=dilation[1], fusedActivationFunction=activation,
    )  # fmt: skip


def depthwise(
    network: Network,
    name: str,
    shape: Sequence[int] = (1, 9, 7, 5),
    multiplier: int = 1,
    kernel: Pair = (3, 3),
    stride: Pair = (1, 1),
    dilation: Pair = (1, 1),
    padding: int = SAME,
    activation: int = NONE,
    x: Quantization = X,
    y: Quantization = Y,
    per_channel: bool = True,
    bias: str | None = "int32",
    most: int = 3000,
    dtype: str = "int8",
) -> None:
    """A convolution of each channel with filters of its own."""
    filters = shape[3] * multiplier
    scales = scales_of(network, filters, per_channel)
    operands = [network.input(shape, x, dtype), network.weights((1, *kernel, filters), scales, 3)]
    operands += (
        [bias_of(network, filters, scales, x[0], bias, most)] if bias else []
    )  # TFLite Micro crashes on a -1 here
    size = windows(shape[1:3], kernel, stride, dilation, padding)
    network.apply(
        name, operands, network.tensor((shape[0], *size, filters), y, dtype), "DepthwiseConv2DOptions",
        padding=padding, strideH=stride[0], strideW=stride[1], depthMultiplier=multiplier,
        dilationHFactor=dilation[0], dilationWFactor=dilation[1], fusedActivationFunction=activation,
    )  # fmt: skip


def transposed(
    network: Network,
    name: str,
    shape: Sequence[int] = (1, 5, 4, 6),
    filters: int = 3,
    kernel: Pair = (3, 3),
    stride: Pair = (2, 2),
    padding: int = SAME,
    activation: int = NONE,
    x: Quantization = X,
    y: Quantization = Y,
    bias: str | None = "int32",
    most: int = 3000,
    dtype: str = "int8",
) -> None:
    """A transposed convolution: weights for each output channel."""
    scales = scales_of(network, filters, True)
    extra = [0 if padding == SAME else max(k - s, 0) for k, s in zip(kernel, stride, strict=True)]
    size = [n * s + e for n, s, e in zip(shape[1:3], stride, extra, strict=True)]
    output = (shape[0], *size, filters)
    operands = [network.constant(output), network.weights((filters, *kernel, shape[3]), scales)]
    operands.append(network.input(shape, x, dtype))
    operands += [bias_of(network, filters, scales, x[0], bias, most)] if bias else []
    network.apply(
        name, operands, network.tensor(output, y, dtype), "TransposeConvOptions",
        padding=padding, strideH=stride[0], strideW=stride[1], fusedActivationFunction=activation,
    )  # fmt: skip


def fully_connected(
    network: Network,
    name: str,
    shape: Sequence[int] = (1, 40),
    units: int = 30,
    activation: int = NONE,
    x: Quantization = X,
    y: Quantization = (0.8, -11),
    per_channel: bool = True,
    bias: str | None = "int32",
    most: int = 3000,
    dtype: str = "int8",
    keep: bool = False,
    accumulates: int = 0,
    output: Sequence[int] | None = None,
) -> None:
    """A product with constant weights; with `keep`, over the last axis of a tensor of more than two.

    `accumulates` as in `conv2d`.
    """
    scales = scales_of(network, units, per_channel)
    operands = [network.input(shape, x, dtype), network.weights((units, shape[-1]), scales)]
    operands.append(bias_of(network, units, scales, x[0], bias, most) if bias else -1)
    result = (*shape[:-1], units) if keep else (int(np.prod(shape[:-1])), units)
    network.apply(
        name, operands, network.tensor(output or result, y, dtype), "FullyConnectedOptions",
        fusedActivationFunction=activation, keepNumDims=keep, quantizedBiasType=accumulates,
    )  # fmt: skip


def matrix_product(
    network: Network,
    name: str,
    shapes: tuple[Sequence[int], Sequence[int]],
    transposed: tuple[bool, bool] = (False, False),
    a: Quantization = (0.05, 7),
    b: Quantization = (0.04, -3),
    y: Quantization = (0.3, -11),
    constant: bool = False,
) -> None:
    """A product of two activations, or of one with a constant, for each index of the axes before the last two."""
    first = network.input(shapes[0], a)
    if constant:
        second = network.constant(network.rng.integers(-128, 128, tuple(shapes[1])), b, "int8")
    else:
        second = network.input(shapes[1], b)
    left, right = (
        np.zeros(shape).swapaxes(-1, -2) if swap else np.zeros(shape)
        for shape, swap in zip(shapes, transposed, strict=True)
    )
    output = network.tensor(np.matmul(left, right).shape, y)
    network.apply(name, [first, second], output, "BatchMatMulOptions", adjX=transposed[0], adjY=transposed[1])


def extremes(network: Network, name: str) -> None:
    """A convolution whose shifts go from none to those that vanish, with constant channels and saturated ones."""
    scales = np.array([0.9, 0.5, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12])
    bias = [-1000, 5, 1000, -2000, 10**5, -(10**6), 10**7, 10**8, -(10**9), 10**9, -(2 * 10**9), 2 * 10**9]
    operands = [network.input((1, 9, 7, 5), (1.0, -128)), network.weights((12, 1, 1, 5), scales)]
    operands.append(network.constant(bias, (scales, 0), "int32"))
    network.apply(
        name, operands, network.tensor((1, 9, 7, 12), (1.0, 3)), "Conv2DOptions",
        padding=VALID, strideH=1, strideW=1, dilationHFactor=1, dilationWFactor=1,
    )  # fmt: skip


CASES = (
    *cases(
        "CONV_2D",
        conv2d,
        [
            {"stride": (2, 2)},
            {"stride": (2, 2), "activation": RELU6, "y": (0.04, -128)},
            {"kernel": (3, 2), "stride": (1, 2), "padding": VALID, "activation": RELU},
            {"dilation": (2, 2), "activation": RELU_N1_TO_1},
            {"kernel": (3, 3), "dilation": (3, 2), "padding": VALID},
            {"kernel": (1, 1), "x": (0.05, -128), "y": (0.08, -128), "activation": RELU},
            {"kernel": (1, 1), "x": (0.05, 127), "y": (0.08, 127), "per_channel": False},
            {"kernel": (1, 1), "bias": None},
            {"shape": (1, 1, 20, 4), "kernel": (1, 5), "dilation": (1, 3), "filters": 7},
            {"shape": (2, 6, 6, 3), "kernel": (5, 5), "stride": (3, 1)},
            {"shape": (1, 6, 6, 6), "filters": 9, "groups": 3},
            {"shape": (1, 8, 8, 4), "filters": 4, "groups": 2, "stride": (2, 2), "activation": RELU},
        ],
    ),
    *cases("CONV_2D", extremes, [{}]),
    *cases(
        "DEPTHWISE_CONV_2D",
        depthwise,
        [
            {"stride": (2, 2)},
            {"shape": (1, 9, 7, 1), "multiplier": 4, "activation": RELU},
            {"shape": (1, 9, 7, 3), "multiplier": 2, "activation": RELU6, "y": (0.04, -128)},
            {"dilation": (2, 2)},
            {"kernel": (5, 3), "padding": VALID, "x": (0.05, -128), "y": (0.08, 127)},
            {"kernel": (1, 4), "shape": (1, 1, 18, 6), "stride": (1, 2), "per_channel": False},
            {"kernel": (4, 1), "shape": (2, 8, 3, 4), "bias": None},
            {"shape": (1, 5, 5, 8), "kernel": (5, 5), "padding": VALID},
        ],
    ),
    *cases(
        "TRANSPOSE_CONV",
        transposed,
        [
            {},
            {"bias": None},
            {"kernel": (2, 2), "padding": VALID},
            {"kernel": (4, 4), "activation": RELU},
            {"kernel": (3, 5), "stride": (1, 2), "padding": VALID, "activation": RELU6, "y": (0.04, -128)},
            {"kernel": (2, 2), "stride": (3, 3), "padding": VALID, "x": (0.05, -128)},
            {"shape": (2, 3, 3, 2), "kernel": (3, 3), "stride": (1, 1), "x": (0.05, 127), "y": (0.08, 127)},
        ],
    ),
    *cases(
        "FULLY_CONNECTED",
        fully_connected,
        [
            {},
            {"per_channel": False},
            {"bias": None, "activation": RELU},
            {"activation": RELU6, "y": (0.04, -128)},
            {"shape": (5, 12), "units": 7, "x": (0.05, -128)},
            {"shape": (1, 6, 12), "units": 7, "keep": True},
            {"shape": (2, 3, 4, 8), "units": 5, "keep": True, "per_channel": False, "y": (0.1, 127)},
            {"shape": (1, 256), "units": 1, "y": (0.3, 0)},
        ],
    ),
    *cases(
        "BATCH_MATMUL",
        matrix_product,
        [
            {"shapes": ((1, 6, 8), (1, 8, 5))},
            {"shapes": ((4, 6), (6, 9))},
            {"shapes": ((2, 3, 6, 8), (2, 3, 5, 8)), "transposed": (False, True)},
            {"shapes": ((2, 8, 6), (2, 8, 5)), "transposed": (True, False)},
            {"shapes": ((2, 8, 6), (2, 5, 8)), "transposed": (True, True)},
            {"shapes": ((1, 6, 8), (8, 5)), "constant": True},
            {"shapes": ((3, 6, 8), (1, 8, 5)), "a": (0.05, -128), "b": (0.04, 127), "y": (0.9, 0)},
        ],
    ),
)
