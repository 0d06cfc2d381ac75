"""Operators of one tensor: activations, changes of type and scale, normalizations along the last axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.tflite.case import Network, Quantization, cases

TABLE = (1, 16, 16)  # room for every value of int8


def unary(
    network: Network,
    name: str,
    x: Quantization,
    y: Quantization,
    shape: Sequence[int] = TABLE,
    options: str | None = None,
    low: int | None = None,
    **values: Any,
) -> None:
    """An operator of one tensor that keeps its shape."""
    given = network.input(shape, x, low=low)
    network.apply(name, [given], network.tensor(shape, y), options, **values)


def change_of_type(
    network: Network,
    name: str,
    x: Quantization | None,
    y: Quantization | None,
    source: str = "int8",
    to: str = "int8",
    back: bool = False,
) -> None:
    """An operator from one type to another, and where the other is none of a network's outputs, back to int8."""
    given = network.input((1, 4, 16, 16) if source != "int8" else TABLE, x, source)
    shape = network.model.tensors[given].shape
    result = network.apply(name, [given], network.tensor(shape, y, to), "CastOptions" if name == "CAST" else None)
    if back:
        network.apply("QUANTIZE", [result], network.tensor(shape, (0.05, -4)))


def prelu(network: Network, name: str, x: Quantization, y: Quantization, alpha: Sequence[int], scale: float) -> None:
    """PReLU with its slopes in a constant of the shape `alpha`."""
    shape = (1, 6, 5, 4)
    slopes = network.constant(network.rng.integers(-128, 128, tuple(alpha)), (scale, 5), "int8")
    network.apply(name, [network.input(shape, x), slopes], network.tensor(shape, y))


def like(network: Network, name: str, shape: Sequence[int], x: Quantization) -> None:
    """Zeros of the shape of a tensor: an operator that reads none of its values."""
    given = network.input(shape, x)
    zeros = network.apply(name, [given], network.tensor(shape, x), "ZerosLikeOptions")
    network.apply("ADD", [given, zeros], network.tensor(shape, x), "AddOptions")


CHANGES = [
    {"x": (0.05, 3), "y": (0.05, 3)},
    {"x": (0.05, 3), "y": (0.031, -17)},
    {"x": (0.0513, -128), "y": (0.0713, -128)},
    {"x": (0.25, 100), "y": (0.11, 127)},
    {"x": (0.25, 127), "y": (0.01, -128)},
]
TABLES = [{"x": (0.043, -7)}, {"x": (0.0171, -128)}, {"x": (0.21, 127)}, {"x": (1e-6, 0)}, {"x": (3.7, 11)}]
ROWS = [
    {"x": (0.1, 4), "shape": (1, 10)},
    {"x": (0.0173, -128), "shape": (3, 7)},
    {"x": (0.4, 127), "shape": (1, 3, 2, 12)},
    {"x": (1e-5, 0), "shape": (2, 3, 5)},
]

CASES = (
    *cases("RELU", unary, CHANGES),
    *cases("RELU6", unary, CHANGES),
    *cases(
        "LEAKY_RELU",
        unary,
        [
            {**change, "options": "LeakyReluOptions", "alpha": alpha}
            for change, alpha in zip(CHANGES * 2, (0.1, 0.3, 0.01, 1.5, 0.2, 0.0, 0.7, -0.5, 0.2, 3.1), strict=True)
        ],
    ),
    *cases(
        "HARD_SWISH",
        unary,
        [
            {"x": (0.0431, -20), "y": (0.0257, -113)},
            {"x": (0.0235, -128), "y": (0.0235, -128)},
            {"x": (0.1, 127), "y": (0.05, 120)},
            {"x": (0.011, 5), "y": (0.0107, 9)},
        ],
    ),
    *cases(
        "ELU",
        unary,
        [
            {"x": (0.043, -7), "y": (0.027, -90)},
            {"x": (0.0171, -128), "y": (0.0171, -128)},
            {"x": (0.21, 127), "y": (0.0079, 127)},
            {"x": (0.05, 0), "y": (0.0253, -89)},
            {"x": (1e-3, 3), "y": (2e-3, 5)},
        ],
    ),
    *cases("LOGISTIC", unary, [{**table, "y": (1 / 256, -128)} for table in TABLES]),
    *cases("TANH", unary, [{**table, "y": (1 / 128, 0)} for table in TABLES]),
    *cases("ABS", unary, [*CHANGES, {"x": (0.05, -128), "y": (0.05, -128)}]),
    *cases(
        "RSQRT",
        unary,
        [
            {"x": (0.05, -128), "y": (0.02, -128)},
            {"x": (0.013, 4), "y": (0.1, 7), "low": 4},
            {"x": (2.5, -100), "y": (0.0063, 0), "low": -100},
        ],
    ),
    *cases(
        "PRELU",
        prelu,
        [
            {"x": (0.05, 3), "y": (0.043, -5), "alpha": (1, 1, 4), "scale": 0.003},
            {"x": (0.021, -128), "y": (0.021, -128), "alpha": (1, 1, 1), "scale": 0.01},
            {"x": (0.1, 20), "y": (0.31, 127), "alpha": (6, 5, 4), "scale": 0.02},
            {"x": (0.1, 127), "y": (0.02, -128), "alpha": (4,), "scale": 0.0007},
        ],
    ),
    *cases(
        "SOFTMAX",
        unary,
        [
            {**row, "y": (1 / 256, -128), "options": "SoftmaxOptions", "beta": beta}
            for row, beta in zip(ROWS, (1.0, 2.7, 1.0, 0.5), strict=True)
        ],
    ),
    *cases("LOG_SOFTMAX", unary, [{**row, "y": (16 / 256, 127), "options": "LogSoftmaxOptions"} for row in ROWS]),
    *cases("L2_NORMALIZATION", unary, [{**row, "y": (1 / 128, 0), "options": "L2NormOptions"} for row in ROWS]),
    *cases(
        "QUANTIZE",
        change_of_type,
        [
            *CHANGES,
            {"x": (0.05, 0), "y": (0.001, 0), "to": "int16", "back": True},
            {"x": (0.05, 0), "y": (0.1, 0), "source": "int8", "to": "int16", "back": True},
        ],
    ),
    *cases(
        "DEQUANTIZE",
        change_of_type,
        [
            {"x": (0.0513, -7), "y": None, "to": "float32"},
            {"x": (1.7, 127), "y": None, "to": "float32", "back": True},
        ],
    ),
    *cases(
        "CAST",
        change_of_type,
        [
            {"x": None, "y": None, "to": "int32"},
            {"x": None, "y": None, "to": "float32"},
            {"x": None, "y": None, "source": "int32"},
        ],
    ),
    *cases("ZEROS_LIKE", like, [{"shape": (1, 16, 16), "x": (0.05, 0)}, {"shape": (2, 3), "x": (0.07, 5)}]),
)
