"""Operators that take many elements to one: pools, means and sums over axes, extremes, running sums."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.tflite.case import NONE, RELU, RELU6, SAME, VALID, Network, Quantization, cases

SHAPE = (1, 9, 7, 5)
X: Quantization = (0.1, -9)
Pair = tuple[int, int]


def pool(
    network: Network,
    name: str,
    window: Pair,
    stride: Pair,
    padding: int = VALID,
    shape: Sequence[int] = SHAPE,
    activation: int = NONE,
    x: Quantization = X,
) -> None:
    """A pool over height and width, whose output has the quantization of its input."""
    size = [
        -(-(n - (0 if padding == SAME else w - 1)) // s) for n, w, s in zip(shape[1:3], window, stride, strict=True)
    ]
    network.apply(
        name, [network.input(shape, x)], network.tensor((shape[0], *size, shape[3]), x), "Pool2DOptions",
        padding=padding, filterHeight=window[0], filterWidth=window[1], strideH=stride[0], strideW=stride[1],
        fusedActivationFunction=activation,
    )  # fmt: skip


def reduction(
    network: Network,
    name: str,
    axes: Sequence[int],
    keep: bool = True,
    shape: Sequence[int] = SHAPE,
    x: Quantization = X,
    y: Quantization = X,
) -> None:
    """A reduction over some axes, which count from behind where they are negative."""
    output = network.tensor(np.zeros(shape).sum(tuple(axes), keepdims=keep).shape, y)
    network.apply(name, [network.input(shape, x), network.constant(axes)], output, "ReducerOptions", keepDims=keep)


def index(network: Network, name: str, axis: int, shape: Sequence[int] = SHAPE) -> None:
    """Where the first largest or smallest element along an axis is, in 32 bits."""
    output = network.tensor(np.zeros(shape).sum(axis).shape, None, "int32")
    options = "ArgMaxOptions" if name == "ARG_MAX" else "ArgMinOptions"
    given = [network.input(shape, X), network.constant(np.array(axis))]
    network.apply(name, given, output, options, outputType=2)


def running_sum(
    network: Network,
    name: str,
    axis: int,
    exclusive: bool = False,
    reverse: bool = False,
    shape: Sequence[int] = SHAPE,
    x: Quantization = X,
    y: Quantization = (0.3, -20),
    high: int = 127,
) -> None:
    """The sums of the elements up to each along an axis.

    TFLite Micro's sums are 2**19 times as large, and undefined in C++ where that exceeds 32 bits.
    """
    given = [network.input(shape, x, high=high), network.constant(np.array(axis))]
    network.apply(name, given, network.tensor(shape, y), "CumsumOptions", exclusive=exclusive, reverse=reverse)


POOLS = [
    {"window": (9, 7), "stride": (9, 7)},
    {"window": (2, 2), "stride": (2, 2)},
    {"window": (3, 3), "stride": (1, 2), "activation": RELU},
    {"window": (4, 3), "stride": (2, 2), "x": (0.02, 127)},
    {"window": (3, 3), "stride": (2, 2), "padding": SAME, "activation": RELU6, "x": (0.1, -128)},
    {"window": (3, 5), "stride": (1, 1), "padding": SAME, "x": (0.1, 100)},
    {"window": (2, 3), "stride": (3, 1), "padding": SAME, "shape": (2, 5, 6, 3)},
    {"window": (1, 4), "stride": (1, 4), "shape": (1, 1, 22, 6)},
]
AXES = [
    {"axes": (1, 2)},
    {"axes": (1, 2), "keep": False},
    {"axes": (-1,)},
    {"axes": (1,), "keep": False},
    {"axes": (0, 1, 2, 3), "keep": False},
    {"axes": (1,), "shape": (4, 16)},
    {"axes": (0,), "shape": (3, 4, 5), "keep": False},
    {"axes": (2,), "shape": (2, 3, 4, 5)},
]
SCALES = [
    *AXES,
    {"axes": (1, 2), "y": (0.0371, 30)},
    {"axes": (2, 1), "y": (0.21, 127), "x": (0.1, -128)},
    {"axes": (3,), "y": (0.01, -128), "x": (0.1, 127), "keep": False},
    {"axes": (1, 2), "shape": (1, 24, 24, 3), "y": (0.0371, 30)},
]
SUMS = [{**case, "y": (case.get("y", (0.1, -9))[0] * 7, case.get("y", (0.1, -9))[1])} for case in SCALES]

CASES = (
    *cases("AVERAGE_POOL_2D", pool, POOLS),
    *cases("MAX_POOL_2D", pool, POOLS),
    *cases("MEAN", reduction, SCALES),
    *cases("SUM", reduction, [*SUMS, {"axes": (3,), "y": (0.1, -9)}]),
    *cases("REDUCE_MAX", reduction, AXES),
    *cases("REDUCE_MIN", reduction, AXES),
    *(
        case
        for name in ("ARG_MAX", "ARG_MIN")
        for case in cases(
            name,
            index,
            [
                *({"axis": -1}, {"axis": 1}, {"axis": 1, "shape": (1, 10)}, {"axis": 0, "shape": (12,)}),
                {"axis": 3, "shape": (1, 9, 11, 6)},  # enough pixels for layers
            ],
        )
    ),
    *cases(
        "CUMSUM",
        running_sum,
        [
            {"axis": 1},
            {"axis": -1, "exclusive": True},
            {"axis": 2, "reverse": True},
            {"axis": 0, "reverse": True, "exclusive": True, "shape": (8, 3), "x": (0.1, 127), "y": (0.1, -128)},
            {"axis": 1, "shape": (1, 30), "x": (0.01, -128), "y": (0.09, 27), "high": 0},
        ],
    ),
)
