"""Operators of two or more tensors, element by element, with broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.tflite.case import RELU, RELU6, RELU_N1_TO_1, Network, Quantization, cases

SHAPE = (1, 9, 7, 5)


def binary(
    network: Network,
    name: str,
    a: Quantization,
    b: Quantization,
    y: Quantization,
    shapes: tuple[Sequence[int], Sequence[int]] = (SHAPE, SHAPE),
    constant: bool = False,
    activation: int | None = None,
    numerator: tuple[int, int] = (-128, 127),
    divisor: tuple[int, int] = (-128, 127),
) -> None:
    """An operator of two tensors with values within `numerator` and `divisor`, the second an input or a constant."""
    first = network.input(shapes[0], a, low=numerator[0], high=numerator[1])
    if constant:
        values = network.rng.integers(divisor[0], divisor[1] + 1, tuple(shapes[1]))
        second = network.constant(values, (b[0], b[1]), "int8")
    else:
        second = network.input(shapes[1], b, low=divisor[0], high=divisor[1])
    output = network.tensor(np.broadcast_shapes(*map(tuple, shapes)), y)
    options = {"MAXIMUM": "MaximumMinimum", "MINIMUM": "MaximumMinimum", "SQUARED_DIFFERENCE": "SquaredDifference"}
    table = options.get(name, name.capitalize()) + "Options"
    fused = {} if activation is None else {"fusedActivationFunction": activation}
    network.apply(name, [first, second], output, table, **fused)


def of_constants(network: Network, name: str, a: Quantization, b: Quantization, y: Quantization) -> None:
    """An operator of two constants, whose output the network adds, repeated along a middle axis as masks are."""
    least = (-128, (4, 1, 1, 5)), (0, (4, 1, 6, 1))  # nothing is divided by 0
    values = [network.rng.integers(low, 128, shape) for low, shape in least]
    operands = [network.constant(own, scale, "int8") for own, scale in zip(values, (a, b), strict=True)]
    mask = network.apply(name, operands, network.tensor((4, 1, 6, 5), y), name.capitalize() + "Options")
    given = network.input((4, 3, 6, 5), (0.05, 3))
    network.apply("ADD", [given, mask], network.tensor((4, 3, 6, 5), (0.09, 4)), "AddOptions")


def square(network: Network, name: str, x: Quantization, y: Quantization) -> None:
    """An operator of a tensor with itself."""
    given = network.input(SHAPE, x)
    network.apply(name, [given, given], network.tensor(SHAPE, y), name.capitalize() + "Options")


def many(network: Network, name: str, count: int, scales: Sequence[float], y: Quantization) -> None:
    """The sum of tensors of one shape, each with a scale of its own."""
    given = [network.input(SHAPE, (scales[index % len(scales)], 3)) for index in range(count)]
    network.apply(name, given, network.tensor(SHAPE, y), "AddNOptions")


def compared(
    network: Network,
    name: str,
    a: Quantization,
    b: Quantization,
    shapes: tuple[Sequence[int], Sequence[int]] = (SHAPE, SHAPE),
    constant: bool = False,
) -> None:
    """A comparison that chooses between two tensors, as a comparison's own output is no 8-bit tensor."""
    first = network.input(shapes[0], a)
    shape = np.broadcast_shapes(*map(tuple, shapes))
    second = (
        network.constant(network.rng.integers(-128, 128, tuple(shapes[1])), b, "int8")
        if constant
        else network.input(shapes[1], b)
    )
    options = "".join(word.capitalize() for word in name.split("_")) + "Options"
    condition = network.apply(name, [first, second], network.tensor(shape, None, "bool"), options)
    choices = [network.input(shape, (0.05, 3)), network.input(shape, (0.05, 3))]
    network.apply("SELECT_V2", [condition, *choices], network.tensor(shape, (0.05, 3)), "SelectV2Options")


def truth(network: Network, name: str, shape: Sequence[int]) -> None:
    """A comparison whose output is the network's."""
    given = [network.input(shape, scale, low=-8, high=8) for scale in ((0.05, 3), (0.041, -5))]
    options = "".join(word.capitalize() for word in name.split("_")) + "Options"
    network.apply(name, given, network.tensor(shape, None, "bool"), options)


def chosen(network: Network, name: str, shapes: Sequence[Sequence[int]]) -> None:
    """A choice between two tensors by a constant of truth values."""
    condition = network.constant(network.rng.random(tuple(shapes[0])) < 0.5, None, "bool")
    choices = [network.input(shape, (0.05, 3)) for shape in shapes[1:]]
    output = network.tensor(np.broadcast_shapes(*map(tuple, shapes)), (0.05, 3))
    network.apply(name, [condition, *choices], output, "SelectV2Options")


SCALES = [
    {"a": (0.0513, 3), "b": (0.0217, -128), "y": (0.0623, 4)},
    {"a": (0.0113, -5), "b": (0.4171, 9), "y": (0.3547, -100), "activation": RELU},
    {"a": (0.1137, 0), "b": (0.1137, 0), "y": (0.2113, 0), "activation": RELU6},
    {"a": (0.05, 127), "b": (0.02, -128), "y": (0.06, 127), "activation": RELU_N1_TO_1},
    {"a": (0.5, -128), "b": (0.5, -128), "y": (0.007, -128)},
]
BROADCASTS = [
    {"shapes": (SHAPE, (1, 1, 1, 5))},
    {"shapes": ((1, 1, 1, 5), SHAPE), "activation": RELU},
    {"shapes": (SHAPE, (1, 9, 7, 1))},
    {"shapes": (SHAPE, (5,)), "constant": True},
    {"shapes": (SHAPE, ()), "constant": True, "activation": RELU6},
    {"shapes": ((3, 4), (3, 4)), "constant": True},
    {"shapes": ((1, 6, 1, 4), (1, 1, 5, 4))},
    {"shapes": ((16,), (16,))},
]
PLAIN = {"a": (0.0513, 3), "b": (0.0217, -11), "y": (0.0623, 4)}
PRODUCTS = [
    *({**scales, "y": (scales["y"][0] * 10, scales["y"][1])} for scales in SCALES),
    {"a": (0.0078, -128), "b": (1 / 256, -128), "y": (0.0078, -128)},  # squeeze and excite's gate
    {"a": (0.9, 3), "b": (0.9, -7), "y": (0.003, 0)},
    {"a": (0.0001, 3), "b": (0.0001, -7), "y": (0.5, 0)},
]
# Numerators and scales that keep shifts below 32 bits: beyond, TFLite Micro's quotient is undefined in C++.
LARGE = {"a": (0.05, -128), "numerator": (-64, 127)}
QUOTIENTS = [
    {**LARGE, "b": (0.01, -128), "y": (0.9, -4), "divisor": (-127, 127)},
    {**LARGE, "b": (0.04, 127), "y": (0.5, 127), "divisor": (-128, 126)},
    {**LARGE, "b": (0.01, -128), "y": (0.7, -128), "divisor": (-127, 127), "activation": RELU6},
    {**LARGE, "b": (0.02, 100), "y": (0.1, 5), "divisor": (-128, 99), "constant": True, "activation": RELU},
    {**LARGE, "b": (0.1, -9), "y": (0.02, 5), "divisor": (-8, 127), "shapes": (SHAPE, (1, 1, 1, 5))},
    {"a": (0.5, 9), "b": (0.01, -9), "y": (0.1, 5), "divisor": (-8, 127), "shapes": (SHAPE, ()), "constant": True},
]
SAME_SCALES = [
    {
        key: value
        for key, value in {**case, "a": (0.05, 3), "b": (0.05, 3), "y": (0.05, 3)}.items()
        if key != "activation"
    }
    for case in [{}, *BROADCASTS]
]
COMPARED = [
    {"a": (0.05, 3), "b": (0.05, 3)},
    {"a": (0.05, 3), "b": (0.05, -9)},
    {"a": (0.0011, 3), "b": (0.0019, -9)},
    {"a": (0.05, 3), "b": (0.0217, -128)},
    {"a": (0.0113, 127), "b": (0.0217, -128), "shapes": (SHAPE, (1, 1, 1, 5))},
    {"a": (0.05, 3), "b": (0.05, 9), "shapes": (SHAPE, ()), "constant": True},
]

CASES = (
    *(
        case
        for name in ("ADD", "SUB")
        for case in cases(name, binary, [*SCALES, *({**PLAIN, **broadcast} for broadcast in BROADCASTS)])
    ),
    *cases("MUL", binary, [*PRODUCTS, *({**PLAIN, **broadcast} for broadcast in BROADCASTS)]),
    *(
        case
        for name in ("ADD", "SUB", "MUL", "DIV")
        for case in cases(name, of_constants, [{"a": (0.05, 3), "b": (0.0217, -9), "y": (0.0531, 4)}])
    ),
    *cases("MUL", square, [{"x": (0.05, 3), "y": (0.1, -90)}]),
    *cases("ADD", square, [{"x": (0.05, 3), "y": (0.1, -90)}]),
    *cases("DIV", binary, QUOTIENTS),
    *(case for name in ("MAXIMUM", "MINIMUM") for case in cases(name, binary, SAME_SCALES)),
    *cases(
        "SQUARED_DIFFERENCE",
        binary,
        [
            {"a": (0.05, 3), "b": (0.05, 3), "y": (0.4, -128)},
            {"a": (0.0113, -5), "b": (0.4171, 9), "y": (7.0, -100)},
            {"a": (0.05, 127), "b": (0.02, -128), "y": (0.9, -128), "shapes": (SHAPE, (1, 1, 1, 5))},
            {"a": (0.05, 3), "b": (0.05, 3), "y": (0.05, -128), "shapes": (SHAPE, (1, 9, 7, 1))},
            {"a": (0.5, 3), "b": (0.05, -3), "y": (11.0, -128), "shapes": ((4, 6), (6,)), "constant": True},
        ],
    ),
    *cases(
        "ADD_N",
        many,
        [
            {"count": 2, "scales": (0.05,), "y": (0.1, 0)},
            {"count": 3, "scales": (0.05,), "y": (0.07, -9)},
            {"count": 5, "scales": (0.05,), "y": (0.2, 127)},
        ],
    ),
    *(
        case
        for name in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
        for case in (*cases(name, compared, COMPARED), *cases(name, truth, [{"shape": (2, 3, 5)}]))
    ),
    *cases(
        "SELECT_V2",
        chosen,
        [
            {"shapes": (SHAPE, SHAPE, SHAPE)},
            {"shapes": ((1, 9, 7, 1), SHAPE, SHAPE)},
            {"shapes": ((4,), (3, 1), (3, 4))},
        ],
    ),
)
