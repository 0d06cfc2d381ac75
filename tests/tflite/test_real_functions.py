"""Operators of real numbers that are functions of one 8-bit tensor: TFLite Micro's bytes, as one table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from match.errors import ModelError
from match.frontend import load
from match.relay import relay
from tests.integer_relay import integer_relay
from tests.tflite.case import NONE, RELU, RELU6, RELU_N1_TO_1, Case, Network, written
from tests.tflite.compare import compare, in_relay

pytestmark = pytest.mark.tvm

SHAPE = (1, 8, 8, 4)


def dequantized(network: Network, given: int) -> int:
    return network.apply("DEQUANTIZE", [given], network.tensor(SHAPE, None, "float32"))


def quantized(network: Network, real: int) -> None:
    network.apply("QUANTIZE", [real], network.tensor(SHAPE, (0.037, -9)))


def number(network: Network, value: float) -> int:
    return network.constant(np.float32(value), None, "float32")


def applied(
    network: Network, name: str, inputs: list[int], activation: int | None = None, dtype: str = "float32"
) -> int:
    words = {"MAXIMUM": "MaximumMinimum", "MINIMUM": "MaximumMinimum", "PRELU": None}
    options = words.get(name, "".join(word.capitalize() for word in name.split("_")))
    values = {} if activation is None else {"fusedActivationFunction": activation}
    return network.apply(
        name, inputs, network.tensor(SHAPE, None, dtype), None if options is None else f"{options}Options", **values
    )


def arithmetic(
    name: str, activation: int = NONE, *, swapped: bool = False, fused: bool = True
) -> Callable[[Network], None]:
    """An operator of a number and a constant, and of two functions of a number."""

    def write(network: Network) -> None:
        low = 4 if name == "DIV" else None  # positive: what becomes of NaN is left open by C
        x, fuse = dequantized(network, network.input(SHAPE, low=low)), activation if fused else None
        operands = [number(network, 1.37), x] if swapped else [x, number(network, 1.37)]
        once = applied(network, name, operands, fuse)
        quantized(network, applied(network, name, [x, once], fuse))

    return write


def exponential_unit(comparison: str) -> Callable[[Network], None]:
    """ELU as a converter of PyTorch writes it, with two DEQUANTIZE of one tensor; a number equals the threshold."""

    def write(network: Network) -> None:
        given = network.input(SHAPE, (0.0625, 3))
        x, again = dequantized(network, given), dequantized(network, given)
        below = applied(network, "SUB", [applied(network, "EXP", [x]), number(network, 1)], NONE)
        condition = applied(network, comparison, [again, number(network, 0.5)], dtype="bool")
        quantized(network, applied(network, "SELECT_V2", [condition, x, below]))

    return write


def truths(name: str) -> Callable[[Network], None]:
    """A choice by two comparisons."""

    def write(network: Network) -> None:
        x = dequantized(network, network.input(SHAPE))
        low = applied(network, "GREATER", [x, number(network, -1.2)], dtype="bool")
        high = applied(network, "LESS", [x, number(network, 1.2)], dtype="bool")
        both = applied(network, name, [low, high], dtype="bool")
        outside = applied(network, "LOGICAL_NOT", [both], dtype="bool")
        quantized(network, applied(network, "SELECT_V2", [outside, number(network, 2.5), x]))

    return write


def choice_of_integers(network: Network) -> None:
    """A comparison of real numbers that chooses between 8-bit tensors, functions of the same one."""
    given = network.input(SHAPE)
    condition = applied(network, "GREATER_EQUAL", [dequantized(network, given), number(network, 0.3)], dtype="bool")
    other = network.apply("QUANTIZE", [given], network.tensor(SHAPE, (0.11, 4)))
    third = network.apply("LEAKY_RELU", [given], network.tensor(SHAPE, (0.11, 4)), "LeakyReluOptions", alpha=0.2)
    network.apply("SELECT_V2", [condition, other, third], network.tensor(SHAPE, (0.11, 4)), "SelectV2Options")


ACTIVATIONS = {"none": NONE, "relu": RELU, "relu6": RELU6, "relu_n1_to_1": RELU_N1_TO_1}

WRITTEN = {
    **{
        f"{name}_{label}": arithmetic(name, activation, swapped=swapped)
        for name in ("ADD", "SUB", "MUL", "DIV")
        for swapped, (label, activation) in zip((False, True, False, True), ACTIVATIONS.items(), strict=True)
    },
    **{name: arithmetic(name, fused=False) for name in ("MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")},
    **{
        f"elu_{name}": exponential_unit(name)
        for name in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
    },
    **{name: truths(name) for name in ("LOGICAL_AND", "LOGICAL_OR")},
    "PRELU": arithmetic("PRELU", fused=False),
    "choice_of_integers": choice_of_integers,
}


@pytest.mark.parametrize("label", WRITTEN)
def test_functions_of_one_tensor_are_one_table(tmp_path: Path, label: str) -> None:
    file = written([Case(label, "", WRITTEN[label])])
    path = tmp_path / "functions.tflite"
    compare(file.data, path, file.samples(4), file.outputs, in_relay)
    calls: list[str] = []
    body = integer_relay(load(path))["main"].body
    relay.analysis.post_order_visit(
        body, lambda node: calls.append(node.op.name) if isinstance(node, relay.Call) else None
    )
    assert calls.count("take") == 1
    assert set(calls) <= {"cast", "add", "take"}


@pytest.mark.parametrize("scale", [0.05, 0.0019])
def test_truth_values_of_two_tensors_are_8_bits(tmp_path: Path, scale: float) -> None:
    """A comparison, cast to real numbers and quantized, is tables and an addition, also of scales below 2^-8.

    TFLite Micro compares such numbers in steps of 2^-8.
    """

    def write(network: Network) -> None:
        given = [network.input(SHAPE, (scale, 3)) for _ in range(2)]
        same = network.apply("EQUAL", given, network.tensor(SHAPE, None, "bool"), "EqualOptions")
        options = {"inDataType": 9, "outDataType": 0}
        real = network.apply("CAST", [same], network.tensor(SHAPE, None, "float32"), "CastOptions", **options)
        network.apply("QUANTIZE", [real], network.tensor(SHAPE, (1 / 255, -128)))

    file = written([Case("equal", "", write)])
    path = tmp_path / "equal.tflite"
    compare(file.data, path, file.samples(6), file.outputs, in_relay)
    text = integer_relay(load(path)).astext(show_meta_data=False)
    assert "equal" not in text
    assert "float32" not in text


def test_functions_of_two_tensors_are_refused(tmp_path: Path) -> None:
    """They are no table of 256 values."""
    network = Network()
    x, y = (dequantized(network, network.input(SHAPE)) for _ in range(2))
    sums = applied(network, "ADD", [x, y], NONE)
    quantized(network, sums)
    path = tmp_path / "two.tflite"
    path.write_bytes(network.model.build([number for number, _ in network.inputs], list(network.outputs)))
    with pytest.raises(ModelError, match=r"has ADD \(operator 2 .*which computes in float32 between integers; quant"):
        load(path)


def test_a_constant_for_each_channel_is_refused(tmp_path: Path) -> None:
    """It is no function of a value alone."""
    network = Network()
    x = dequantized(network, network.input(SHAPE))
    slopes = network.constant(np.array([1, 2, 3, 4], np.float32), None, "float32")
    quantized(network, applied(network, "MUL", [x, slopes], NONE))
    path = tmp_path / "channels.tflite"
    path.write_bytes(network.model.build([number for number, _ in network.inputs], list(network.outputs)))
    with pytest.raises(ModelError, match=r"has MUL \(operator 1 .*which computes in float32 between integers; quant"):
        load(path)


def test_quantized_weights_alone_are_refused(tmp_path: Path) -> None:
    network = Network()
    x, weights = network.tensor((1, 4), None, "float32"), network.weights((3, 4), 0.1)
    network.apply("FULLY_CONNECTED", [x, weights], network.tensor((1, 3), None, "float32"), "FullyConnectedOptions")
    path = tmp_path / "weights.tflite"
    path.write_bytes(network.model.build([x], list(network.outputs)))
    with pytest.raises(ModelError, match=r"has quantized weights alone: FULLY_CONNECTED \(operator 0 .*in float32"):
        load(path)
