"""Operators on activations of 16 bits, for those that TFLite Micro has a kernel of that kind for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby

import numpy as np

from tests.tflite.case import NONE, RELU, RELU6, RELU_N1_TO_1, SAME, VALID, Network, cases
from tests.tflite.cases import products, recurrent
from tests.tflite.cases.products import Pair, scales_of, windows

INT16 = "int16"
SHAPE = (1, 9, 7, 5)
X, Y, Z = 2.1e-4, 3.3e-4, 1.7e-4
STEP = 2.0**-15
"""The scale that gates and SOFTMAX write."""

GATES = (X, 2.0**-12, 2.0**-11, 1.0005 * 2.0**-12, 0.9996 * 2.0**-11, 5e-6, 1.3)
"""Scales of gates' inputs; TFLite Micro rounds those near powers of two."""


def on_int16(write: Callable[..., None]) -> Callable[..., None]:
    """An operator of `products` on 16 bits, with biases as large as some sums."""
    return partial(write, x=(X, 0), y=(Y, 0), dtype=INT16, bias="int64", most=3_000_000)


def of_equal_weights(network: Network, name: str, shape: Sequence[int], units: int, bias: int, y: float) -> None:
    """A dense layer whose weights are all 127, with biases of one magnitude."""
    scales = scales_of(network, units, True)
    weights = network.constant(np.full((units, shape[-1]), 127), (scales, 0), "int8", 0)
    biases = network.constant(bias * (-1) ** np.arange(units), (scales * X, 0), "int64")
    output = network.tensor((shape[0], units), (y, 0), INT16)
    network.apply(name, [network.input(shape, (X, 0), INT16), weights, biases], output, "FullyConnectedOptions")


def batch_matmul(network: Network, name: str, adj_x: bool = False, adj_y: bool = False) -> None:
    """A product of two activations, in two batches."""
    left, right = (2, 3, 8), (2, 8, 5)
    x = network.input((2, 8, 3) if adj_x else left, (X, 0), INT16)
    y = network.input((2, 5, 8) if adj_y else right, (Z, 0), INT16)
    output = network.tensor((2, 3, 5), (Y, 0), INT16)
    network.apply(name, [x, y], output, "BatchMatMulOptions", adjX=adj_x, adjY=adj_y)


def binary(
    network: Network,
    name: str,
    options: str,
    scales: Sequence[float] = (X, Z, Y),
    other: Sequence[int] = SHAPE,
    activation: int | None = None,
    constant: bool = False,
) -> None:
    """An operator of two tensors, the second an input or a constant."""
    first = network.input(SHAPE, (scales[0], 0), INT16)
    if constant:
        values = network.rng.integers(-(1 << 15), 1 << 15, tuple(other))
        second = network.constant(values, (scales[1], 0), INT16)
    else:
        second = network.input(other, (scales[1], 0), INT16)
    fused = {} if activation is None else {"fusedActivationFunction": activation}
    network.apply(name, [first, second], network.tensor(SHAPE, (scales[2], 0), INT16), options, **fused)


def unary(
    network: Network,
    name: str,
    options: str | None = None,
    x: float = X,
    y: float = Y,
    shape: Sequence[int] = (1, 1, 331, 4),
    low: int | None = None,
    **values: float,
) -> None:
    """A function of one tensor, whose numbers begin at `low`."""
    given = network.input(shape, (x, 0), INT16, low)
    network.apply(name, [given], network.tensor(shape, (y, 0), INT16), options, **values)


def prelu(network: Network, name: str, slopes: Sequence[int] = (1, 1, 5)) -> None:
    """Slopes of 8 bits."""
    values = network.constant(network.rng.integers(-128, 128, tuple(slopes)), (0.01, 3), "int8")
    network.apply(name, [network.input(SHAPE, (X, 0), INT16), values], network.tensor(SHAPE, (Y, 0), INT16))


def pool(
    network: Network,
    name: str,
    kernel: Pair = (3, 2),
    stride: Pair = (1, 1),
    padding: int = SAME,
    activation: int = NONE,
    y: float = X,
) -> None:
    """Windows over a map."""
    size = windows(SHAPE[1:3], kernel, stride, (1, 1), padding)
    network.apply(
        name, [network.input(SHAPE, (X, 0), INT16)], network.tensor((1, *size, 5), (y, 0), INT16), "Pool2DOptions",
        padding=padding, strideH=stride[0], strideW=stride[1], filterHeight=kernel[0], filterWidth=kernel[1],
        fusedActivationFunction=activation,
    )  # fmt: skip


def reduction(network: Network, name: str, axes: Sequence[int] = (1, 2), keep: bool = False, y: float = Y) -> None:
    """Sums or means over axes."""
    output = [1 if axis in axes else extent for axis, extent in enumerate(SHAPE) if keep or axis not in axes]
    operands = [network.input(SHAPE, (X, 0), INT16), network.constant(list(axes))]
    network.apply(name, operands, network.tensor(output, (y, 0), INT16), "ReducerOptions", keepDims=keep)


def quantize(network: Network, name: str, source: str, to: str, x: float = X, y: float = Y) -> None:
    """A change of scale, from 16 bits or to them."""
    given = network.input(SHAPE, (x, 0 if source == INT16 else 3), source)
    network.apply(name, [given], network.tensor(SHAPE, (y, 0 if to == INT16 else -5), to))


def real(network: Network, name: str, source: str = INT16, again: float | None = None) -> None:
    """Real numbers of integers, and of these 16 bits in steps of `again`."""
    given = network.input(SHAPE, (X, 0) if source == INT16 else (0.05, 3), source)
    numbers = network.apply(name, [given], network.tensor(SHAPE, None, "float32"))
    if again is not None:
        network.apply("QUANTIZE", [numbers], network.tensor(SHAPE, (again, 0), INT16))


def concatenation(network: Network, name: str) -> None:
    """Two tensors side by side."""
    given = [network.input((1, 3, 4, depth), (X, 0), INT16) for depth in (3, 5)]
    network.apply(name, given, network.tensor((1, 3, 4, 8), (X, 0), INT16), "ConcatenationOptions", axis=3)


def pad(network: Network, name: str) -> None:
    """Zeros around a map."""
    operands = [network.input((1, 3, 4, 5), (X, 0), INT16), network.constant([[0, 0], [1, 2], [0, 1], [0, 0]])]
    network.apply(name, operands, network.tensor((1, 6, 5, 5), (X, 0), INT16), "PadOptions")


def nearest(network: Network, name: str) -> None:
    """A map of twice the size."""
    operands = [network.input((1, 3, 4, 5), (X, 0), INT16), network.constant([6, 8])]
    output = network.tensor((1, 6, 8, 5), (X, 0), INT16)
    network.apply(name, operands, output, "ResizeNearestNeighborOptions", halfPixelCenters=True)


CASES = (
    *cases(
        "CONV_2D",
        on_int16(products.conv2d),
        [
            {},
            {"stride": (2, 1), "padding": VALID, "activation": RELU},
            {"dilation": (2, 2), "per_channel": False},
            {"kernel": (1, 1), "bias": None},
            {"bias": "int32", "activation": RELU6},
            {"bias": None, "accumulates": 2},
            {"groups": 2, "shape": (1, 5, 5, 8)},
            {"groups": 4, "shape": (1, 5, 5, 4), "filters": 8},
            {"kernel": (3, 3), "shape": (1, 4, 4, 192), "y": (0.02, 0)},
        ],
    ),
    *cases(
        "DEPTHWISE_CONV_2D",
        on_int16(products.depthwise),
        [
            {},
            {"multiplier": 2, "stride": (2, 2)},
            {"padding": VALID, "activation": RELU, "per_channel": False},
            {"bias": None, "shape": (1, 6, 6, 1), "multiplier": 4},
        ],
    ),
    *cases(
        "TRANSPOSE_CONV",
        on_int16(products.transposed),
        [
            {},
            {"padding": VALID, "bias": None, "activation": RELU},
            {"kernel": (2, 2), "bias": INT16, "most": 30_000},
            {"kernel": (1, 2), "stride": (3, 1)},
            {"filters": 1},
        ],
    ),
    *cases(
        "FULLY_CONNECTED",
        on_int16(products.fully_connected),
        [
            {"shape": (3, 40)},
            {"per_channel": False, "activation": RELU},
            {"per_channel": False, "bias": None, "shape": (2, 3, 20)},
            {"bias": "int32"},
            {"bias": None, "accumulates": 2},
            {"shape": (1, 1400), "units": 3},
        ],
    ),
    *cases(
        "FULLY_CONNECTED",
        of_equal_weights,
        [
            {"shape": (1, 1400), "units": 3, "bias": 5, "y": 0.1},
            {"shape": (1, 40), "units": 2, "bias": 1 << 34, "y": Y},
        ],
    ),
    *cases("BATCH_MATMUL", batch_matmul, [{}, {"adj_x": True}, {"adj_y": True}]),
    *cases(
        "ADD",
        binary,
        [
            {"options": "AddOptions"},
            {"options": "AddOptions", "other": (1, 1, 1, 5), "activation": RELU},
            {"options": "AddOptions", "scales": (X, 40 * X, Y), "constant": True, "activation": RELU_N1_TO_1},
        ],
    ),
    *cases(
        "SUB",
        binary,
        [{"options": "SubOptions"}, {"options": "SubOptions", "other": (9, 7, 1), "scales": (Z, X, X)}],
    ),
    *cases(
        "MUL",
        binary,
        [
            {"options": "MulOptions"},
            {"options": "MulOptions", "other": (1, 1, 1, 5), "activation": RELU6},
            {"options": "MulOptions", "scales": (X, 0.1, 0.3), "constant": True},
        ],
    ),
    *cases(
        "SQUARED_DIFFERENCE",
        binary,
        [{"options": "SquaredDifferenceOptions", "scales": scales} for scales in ((X, Z, Y), (X, X, 1e-3))],
    ),
    *cases(
        "MAXIMUM",
        binary,
        [{"options": "MaximumMinimumOptions", "scales": (X, X, X), "other": (1, 1, 1, 5)}],
    ),
    *cases("MINIMUM", binary, [{"options": "MaximumMinimumOptions", "scales": (X, X, X)}]),
    *cases("LOGISTIC", unary, [{"x": x, "y": STEP} for x in GATES]),
    *cases("TANH", unary, [{"x": x, "y": STEP} for x in GATES]),
    *cases("TANH", unary, [{"x": X, "y": 1 / 32767}]),
    *cases(
        "SOFTMAX",
        unary,
        [
            {"options": "SoftmaxOptions", "x": x, "y": STEP, "shape": shape, "beta": beta}
            for x, shape, beta in (
                (X, (6, 10), 1.0),
                (2.0**-12, (2, 3, 37), 0.7),
                (1e-5, (3, 1000), 1.0),
                (0.02, (8, 2), 1.0),
                (X, (4, 1), 1.0),
            )
        ],
    ),
    *cases("RELU", unary, [{}, {"x": X, "y": X}, {"x": Y, "y": X}]),
    *cases("RELU6", unary, [{"y": X}, {"x": 1e-4, "y": 1e-4}]),
    *cases(
        "LEAKY_RELU",
        unary,
        [{"options": "LeakyReluOptions", "alpha": alpha, "y": y} for alpha, y in ((0.1, X), (-0.3, Y), (1.7, X))],
    ),
    *cases("PRELU", prelu, [{}, {"slopes": (1, 1, 1)}]),
    *cases("ABS", unary, [{}, {"y": X}]),
    *cases("RSQRT", unary, [{"x": x, "y": y, "low": 0} for x, y in ((X, 0.01), (0.3, Y))]),
    *cases("MAX_POOL_2D", pool, [{}, {"stride": (2, 2), "padding": VALID}, {"activation": RELU6, "kernel": (2, 2)}]),
    *cases(
        "AVERAGE_POOL_2D",
        pool,
        [
            {},
            {"stride": (2, 2), "padding": VALID},
            {"activation": RELU, "kernel": (2, 2)},
            {"kernel": (9, 7), "padding": VALID},
        ],
    ),
    *cases("MEAN", reduction, [{}, {"keep": True, "y": X}, {"axes": (3,)}, {"axes": (0, 1, 2, 3)}]),
    *cases("SUM", reduction, [{"y": 0.01}, {"axes": (3,), "y": 1e-3}]),
    *cases(
        "QUANTIZE",
        quantize,
        [
            {"source": INT16, "to": INT16},
            {"source": INT16, "to": "int8", "y": 0.05},
            {"source": "int8", "to": INT16, "x": 0.05},
        ],
    ),
    *cases("DEQUANTIZE", real, [{}, {"again": X / 3}, {"source": "int8", "again": 1e-3}]),
    *cases(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        partial(recurrent.lstm, x=(X, 0), hidden=(STEP, 0), dtype=INT16, biases_as="int64", most=300_000),
        [
            {"size": 6, "units": 8, "steps": 5},
            {"size": 3, "units": 5, "steps": 7, "time_major": True, "batch": 2},
            {"size": 6, "units": 5, "steps": 4, "cell_clip": 2.0},
            {"size": 4, "units": 6, "steps": 6, "cell": 2**-12, "x": (2.0**-12, 0)},
            {"size": 4, "units": 3, "steps": 3, "x": (1e-6, 0), "most": 1 << 33},
            {"size": 5, "units": 4, "steps": 3, "batch": 3, "hidden": (1e-5, 0)},
        ],
    ),
    *cases("CONCATENATION", concatenation, [{}]),
    *cases("PAD", pad, [{}]),
    *cases("RESIZE_NEAREST_NEIGHBOR", nearest, [{}]),
)


def by_operator() -> Mapping[str, tuple]:
    """The cases of each operator."""
    return {name: tuple(chosen) for name, chosen in groupby(CASES, key=lambda case: case.operator)}
