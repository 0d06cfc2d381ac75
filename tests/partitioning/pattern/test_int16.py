"""Operators of 16 bits as layers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import match
from match.arithmetic.tflite import division, scaling
from match.compilation.options import Numerics
from match.dispatch.request import accepts
from match.graph.elements import Function, Gate, LeakyRelu, Requantize
from match.graph.make import arithmetic, concatenated, constant, cut, padded, taken, transposed
from match.graph.maximum import Maximum
from match.graph.pairs import Int16Addition, Int16Multiplication
from match.graph.rows import Softmax16
from match.graph.sums import Average, Convolution, Dense
from match.graph.value import Value, computed
from match.ir.attributes import Broadcast, Concatenation, Slice
from match.ir.constants import Filters, Structure
from match.ir.layer import Op, Padding
from match.ir.requantization import Requantization
from match.partitioning.chains import find_chains
from match.partitioning.pattern import Match, Rejection, find_layers
from match.requantize.form import Form, choose_form
from match.target.operands import GATE_INT16_BYTES, SOFTMAX_INT16_BYTES
from tests.layer_data import data_of
from tests.made import given, graph

CLIP = -(1 << 15), (1 << 15) - 1
pytestmark = pytest.mark.unit

RNG = np.random.default_rng(3)


def line(channels: int) -> Requantization:
    ones = np.ones(channels, np.int64)
    return Requantization(ones << 14, ones << 35, ones * 36, CLIP)


def var(name: str, *shape: int, dtype: str = "int16") -> Value:
    return given(name, *shape, dtype=dtype)


def found_in(output: Value) -> list[Match | Rejection]:
    return list(find_layers(graph(output)))


def matches(output: Value) -> list[Match]:
    """The layers that a tensor is computed by."""
    return [one for one in found_in(output) if isinstance(one, Match)]


def weights(*shape: int) -> np.ndarray[Any, np.dtype[np.int8]]:
    return RNG.integers(-128, 128, shape).astype(np.int8)


def convolution(x: Value, kernel: np.ndarray[Any, Any], dtype: str = "int16", **how: Any) -> Value:
    depthwise = how.get("groups", 1) > 1
    parts: dict[str, Any] = {
        "requantization": line(kernel.shape[2] * kernel.shape[3] if depthwise else kernel.shape[3]),
        "strides": (1, 1),
        "padding": Padding(),
        "dilation": (1, 1),
        "groups": 1,
        "pad_value": 0,
        "kernel_layout": "HWOI" if depthwise else "HWIO",
        **how,
    }
    return computed(Convolution(weights=kernel, dtype=dtype, **parts), x)


def test_convolution() -> None:
    """Its weights are numbers of 8 bits."""
    kernel = weights(3, 3, 4, 6)
    x = var("x", 1, 8, 9, 4)
    (found,) = matches(convolution(x, kernel, strides=(2, 1), padding=Padding(1, 1, 1, 1)))
    layer = found.layer
    assert (layer.op, layer.k, layer.c, layer.oy, layer.ox) == (Op.CONV2D, 6, 4, 4, 9)
    assert (layer.input_dtype, layer.weight_dtype, layer.output_dtype, layer.clip) == ("int16", "int8", "int16", CLIP)
    assert data_of(found.constants, Filters).values.dtype == np.int8
    assert np.array_equal(data_of(found.constants, Filters).values, kernel.transpose(3, 0, 1, 2))
    assert found.reference


def test_depthwise_convolution() -> None:
    (found,) = matches(convolution(var("x", 1, 5, 5, 8), weights(3, 3, 8, 1), groups=8))
    assert (found.layer.op, found.layer.k, found.layer.input_dtype) == (Op.DEPTHWISE_CONV2D, 8, "int16")


def test_dense() -> None:
    dense = Dense(weights=weights(7, 20), requantization=line(7), dtype="int16")
    (found,) = matches(computed(dense, var("x", 2, 20)))
    assert (found.layer.op, found.layer.k, found.layer.c, found.layer.ox) == (Op.DENSE, 7, 20, 2)


def test_max_pool2d() -> None:
    largest = Maximum(window=(2, 3), strides=(2, 1), padding=Padding(), dilation=(1, 1))
    (found,) = matches(computed(largest, var("x", 1, 8, 9, 4)))
    layer = found.layer
    assert (layer.op, layer.k, layer.oy, layer.ox, layer.clip) == (Op.MAX_POOL2D, 4, 4, 7, CLIP)
    assert (layer.input_dtype, layer.output_dtype) == ("int16", "int16")


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("exponents", [(0, -2, -14), (-3, 0, 0)])
def test_addition(sign: int, exponents: tuple[int, int, int]) -> None:
    """An operand in steps of the larger scale, and a sum, that is not shifted, too."""
    scales = np.array([[1 << 30, 5 << 28, 3 << 29], exponents]).T
    a, b = var("a", 1, 3, 4, 5), var("b", 1, 3, 4, 5)
    (found,) = matches(computed(Int16Addition(scales=scales, sign=sign, clip=(0, 999)), a, b))
    layer = found.layer
    assert (layer.op, layer.oy, layer.ox, layer.k, layer.clip) == (Op.ADD, 3, 4, 5, (0, 999))
    assert (layer.input_dtype, layer.output_dtype, layer.get(Broadcast).kind) == ("int16", "int16", "")
    *words, last = data_of(found.constants, Structure).entries.tolist()
    right = [-exponent for exponent in exponents]
    expected = zip(scales[:, 0].tolist(), (16, 16, 1), right, [(1 << bits) >> 1 for bits in right], strict=True)
    assert [words[:4], words[4:8], words[8:]] == [list(one) for one in expected]
    assert last == sign
    assert [x.source for x in found.inputs] == ["a", "b"]


def scaled_by(mantissa: int, exponent: int, clip: tuple[int, int] = CLIP) -> Requantization:
    return scaling(np.array([mantissa]), np.array([exponent]), np.zeros(1, np.int64), clip)


def requantized(x: Value, requantization: Requantization) -> Value:
    return computed(Requantize(requantization=requantization, dtype="int16"), x)


@pytest.mark.parametrize("exponent", [15, 3, 0, -1, -30])
@pytest.mark.parametrize("clip", [CLIP, (0, 999)])
def test_requantize(exponent: int, clip: tuple[int, int]) -> None:
    (found,) = matches(requantized(var("x", 1, 3, 4, 5), scaled_by(5 << 28, exponent, clip)))
    layer = found.layer
    assert (layer.op, layer.oy, layer.ox, layer.k, layer.clip) == (Op.REQUANTIZE, 3, 4, 5, clip)
    right = max(-exponent, 0)
    assert data_of(found.constants, Structure).entries.tolist() == [
        5 << 28,
        1 + max(exponent, 0),
        right,
        (1 << right) >> 1,
    ]


def test_what_words_do_not_hold() -> None:
    """A factor of 2^16 and more for numbers, of 1 and more for products, lines with other biases."""
    x, y, one = var("x", 1, 3), var("y", 1, 3), scaled_by(1 << 30, -1)
    assert one.negative_below is not None
    assert matches(requantized(x, one))
    for other in (
        requantized(x, scaled_by(1 << 30, 16)),
        computed(Int16Multiplication(requantization=scaled_by(1 << 30, 1)), x, y),
        requantized(x, replace(one, bias=one.bias + 1)),
        requantized(x, replace(one, negative_below=one.negative_below - 1)),
    ):
        assert [type(one) for one in found_in(other)] == [Rejection]


@pytest.mark.parametrize(("shape", "broadcast"), [((1, 3, 4, 5), ""), ((5,), "pixel"), ((1, 3, 4, 1), "channel")])
@pytest.mark.parametrize("first", [True, False])
def test_multiplication(shape: tuple[int, ...], broadcast: str, first: bool) -> None:
    both = var("x", 1, 3, 4, 5), var("y", *shape)
    product = Int16Multiplication(requantization=scaled_by(3 << 29, -14))
    (found,) = matches(computed(product, *(both if first else both[::-1])))
    layer = found.layer
    assert (layer.op, layer.get(Broadcast).kind, layer.k, layer.clip) == (Op.MULTIPLY, broadcast, 5, CLIP)
    assert [x.source for x in found.inputs] == (["x", "y"] if first or broadcast else ["y", "x"])
    assert data_of(found.constants, Structure).entries.tolist() == [3 << 29, 1, 14, 1 << 13]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("count", [16, 9])
def test_average(whole: bool, count: int) -> None:
    side = 4 if count == 16 else 3
    mean = division(count, CLIP).take(np.zeros(5, np.intp))
    x = var("x", 1, side, side, 5) if whole else var("x", 1, 2 * side, side, 5)
    strides = (1, 1) if whole else (side, 1)
    average = Average(requantization=mean, dtype="int16", window=(side, side), strides=strides, whole_map=whole)
    (found,) = matches(computed(average, x))
    layer = found.layer
    assert (layer.op, layer.fy, layer.fx, layer.oy, layer.clip) == (Op.AVG_POOL2D, side, side, 1 if whole else 2, CLIP)
    line = found.constants.requantization
    assert line is not None
    assert (line.channels, line.negative_below is None) == (5, count == 9)
    cluster = match.get_target("gap9").modules[0]
    form = choose_form(cluster, layer, found.constants, found.accumulator, Numerics.EXACT)
    assert isinstance(form, Form)
    assert form.requantizer is not None
    assert form.requantizer.name == ("int64" if count == 9 else "int64_signed")


def test_leaky_relu() -> None:
    x = var("x", 1, 3, 4)
    (found,) = matches(computed(LeakyRelu(scales=np.array([[5 << 28, 2], [3 << 29, -3]])), x))
    assert (found.layer.op, found.layer.ox, found.layer.k, found.layer.clip) == (Op.LEAKY_RELU, 3, 4, CLIP)
    assert data_of(found.constants, Structure).entries.tolist() == [5 << 28, 3, 0, 0, 3 << 29, 1, 3, 4]
    coarse = computed(LeakyRelu(scales=np.array([[5 << 28, 2], [3 << 29, 16]])), x)
    assert [type(one) for one in found_in(coarse)] == [Rejection]


def test_softmax() -> None:
    x = var("x", 2, 3, 7)
    (found,) = matches(computed(Softmax16(mantissa=5 << 28, exponent=2), x))
    layer, table = found.layer, data_of(found.constants, Structure).entries
    assert (layer.op, layer.oy, layer.ox, layer.k, layer.clip) == (Op.SOFTMAX, 2, 3, 7, (0, CLIP[1]))
    assert table.nbytes == SOFTMAX_INT16_BYTES
    assert table[:4].tolist() == [5 << 28, 3, 0, 0]
    exponentials, reciprocals = table[4:].view(np.int16).reshape(2, 514)
    assert (exponentials[512], reciprocals[0], reciprocals[512]) == (32767, 32767, 16384)
    coarse = computed(Softmax16(mantissa=5 << 28, exponent=15), x)
    assert [type(one) for one in found_in(coarse)] == [Rejection]


@pytest.mark.parametrize("function", ["logistic", "tanh"])
@pytest.mark.parametrize(("multiplier", "shift"), [(3, 0), (6, 0), (20000, 13), (32767, 31)])
def test_gates(function: Function, multiplier: int, shift: int) -> None:
    x = var("x", 1, 3, 4)
    (found,) = matches(computed(Gate(function=function, multiplier=multiplier, shift=shift), x))
    table = data_of(found.constants, Structure).entries
    assert (found.layer.op, found.layer.ox, found.layer.k) == (Op(function), 3, 4)
    assert table.nbytes == GATE_INT16_BYTES
    assert table[:2].tolist() == [multiplier, shift]
    assert table[2:].view(np.uint16)[[0, 255]].tolist() == [32768, 65535]


def test_modules_say_that_they_take_16_bits() -> None:
    """Others are not asked, whatever their constraints say of a layer."""
    (found,) = matches(convolution(var("x", 1, 8, 8, 16), weights(3, 3, 16, 16)))
    cluster, ne16, _ = match.get_target("gap9").modules
    assert accepts(cluster, found.layer).ok
    assert accepts(ne16, found.layer).reason == "its activations have 16 bits and ne16 reads 8"
    digital, _ = match.get_target("diana").modules
    assert accepts(digital, found.layer).reason == "its activations have 16 bits and digital reads 8"


def test_no_chains_of_16_bits() -> None:
    first = convolution(var("x", 1, 8, 8, 16), weights(1, 1, 16, 16))
    second = convolution(first, weights(3, 3, 16, 1), groups=16)
    network = graph(second)
    layers = dict(enumerate(one for one in find_layers(network) if isinstance(one, Match)))
    assert len(layers) == 2
    assert not find_chains(network, layers, match.get_target("gap9"))


WIDTHS = [(0, 0), (1, 2), (0, 0), (0, 0)]
MOVES = {
    "concatenation": lambda x: concatenated([x, arithmetic("maximum", x, constant(0, "int16"))], 3),
    "slice": lambda x: cut(x, 3, 1, 3),
    "columns": lambda x: taken(x, 2, np.array([0, 0, 3, 2])),
    "padding": lambda x: padded(x, WIDTHS, 0),
    "transposition": lambda x: transposed(x, (0, 2, 1, 3)),
}
"""Moves of a tensor (1, 4, 6, 5)."""


@pytest.mark.parametrize("name", MOVES)
def test_moves_are_of_bytes(name: str) -> None:
    """Twice the channels, or an element of two bytes."""
    body = MOVES[name](var("x", 1, 4, 6, 5))
    (found,) = matches(body)
    layer = found.layer
    assert (layer.input_dtype, layer.output_dtype) == ("uint8", "uint8")
    assert layer.output_elements == 2 * found.root.tensor.elements
    if name == "concatenation":
        assert layer.get(Concatenation).first_channels == 10
    if name == "slice":
        assert layer.get(Slice).start == 2


def test_padding_whose_bytes_differ() -> None:
    """It is left to the control core."""
    x = var("x", 1, 4, 6, 5)
    assert not matches(padded(x, WIDTHS, 3))
    assert matches(padded(var("x", 1, 4, 6, 5, dtype="int8"), WIDTHS, 3))
