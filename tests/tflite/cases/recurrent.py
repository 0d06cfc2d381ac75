"""Operators with state, which is zero before each sample."""

from __future__ import annotations

import numpy as np

from tests.tflite.case import NONE, RELU, Network, Quantization, cases

TANH = 4


def svdf(
    network: Network,
    name: str,
    rank: int,
    units: int,
    memory: int,
    size: int = 12,
    batch: int = 1,
    activation: int = NONE,
    state: str = "int16",
    x: Quantization = (0.05, 7),
    y: Quantization = (0.07, -20),
) -> None:
    """A layer that filters over features, then over time."""
    filters = rank * units
    scale = 0.002 if state == "int16" else 0.3
    time_scale = 1e-4 if state == "int16" else 0.01
    limit = np.iinfo(state).max
    operands = [
        network.input((batch, size), x),
        network.constant(network.rng.integers(-127, 128, (filters, size)), (0.01, 0), "int8"),
        network.constant(network.rng.integers(-limit, limit + 1, (filters, memory)), (time_scale, 0), state),
        network.constant(network.rng.integers(-3000, 3000, units), (scale * time_scale, 0), "int32"),
        network.tensor((batch, memory * filters), (scale, 0), state, variable=True),
    ]
    output = network.tensor((batch, units), y)
    network.apply(name, operands, output, "SVDFOptions", rank=rank, fusedActivationFunction=activation)


def lstm(
    network: Network,
    name: str,
    size: int,
    units: int,
    steps: int,
    batch: int = 1,
    time_major: bool = False,
    cell_clip: float = 0.0,
    x: Quantization = (0.03, -5),
    hidden: Quantization = (0.0078, -3),
    cell: float = 2**-11,
    dtype: str = "int8",
    biases_as: str = "int32",
    most: int = 2000,
) -> None:
    """A layer of LSTM cells without peepholes, projection and layer normalization; cells of 16 bits."""
    order = (steps, batch) if time_major else (batch, steps)
    given = network.input((*order, size), x, dtype)
    scales = network.rng.uniform(0.003, 0.012, 8)
    weights = [
        network.weights((units, size if gate < 4 else units), scale) for gate, scale in enumerate(scales.tolist())
    ]
    biases = [
        network.constant(network.rng.integers(-most, most, units), (scale * x[0], 0), biases_as)
        for scale in scales[:4].tolist()
    ]
    states = [
        network.tensor((batch, units), hidden, dtype, variable=True),
        network.tensor((batch, units), (cell, 0), "int16", variable=True),
    ]
    output = network.tensor((*order, units), hidden, dtype)
    network.apply(
        name, [given, *weights, -1, -1, -1, *biases, -1, -1, *states, -1, -1, -1, -1], output,
        "UnidirectionalSequenceLSTMOptions",
        fusedActivationFunction=TANH, timeMajor=time_major, cellClip=cell_clip, projClip=0.0,
    )  # fmt: skip


CASES = (
    *cases(
        "SVDF",
        svdf,
        [
            {"rank": 1, "units": 6, "memory": 5},
            {"rank": 2, "units": 4, "memory": 3, "activation": RELU},
            {"rank": 1, "units": 6, "memory": 5, "state": "int8"},
            {"rank": 2, "units": 3, "memory": 4, "batch": 2},
            {"rank": 1, "units": 6, "memory": 2, "x": (0.05, -128), "y": (0.02, 127)},
        ],
    ),
    *cases(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        lstm,
        [
            {"size": 6, "units": 8, "steps": 5},
            {"size": 3, "units": 4, "steps": 7, "time_major": True, "batch": 2},
            {"size": 6, "units": 5, "steps": 4, "cell_clip": 2.0},
            {"size": 4, "units": 6, "steps": 6, "cell": 2**-12, "x": (0.1, 127)},
            {"size": 4, "units": 6, "steps": 3, "batch": 3, "hidden": (0.007, -128)},
        ],
    ),
)
