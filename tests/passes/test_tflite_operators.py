"""Quantized operators in TFLite files against TFLite Micro, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from match.frontend.tflite import from_tflite
from match.partitioning.pattern.types import Match
from match.passes.pipeline import integer_network
from match.relay.plain import qnn_operators
from tests.integer_relay import integer_relay
from tests.layers_of import find
from tests.passes.running import executable, random_values
from tests.passes.tflite_models import Micro, TfliteModel

pytestmark = pytest.mark.tvm

SHAPE = (1, 9, 7, 5)
NONE, RELU, RELU6 = 0, 1, 3
SAME, VALID = 0, 1


def check(data: bytes, samples: int = 12, activations: Sequence[Literal["uint8"] | None] = ("uint8",)) -> str:
    """Compare on random inputs; the Relay text in integer form."""
    model = from_tflite(data, Path("test.tflite"))
    reference = Micro(data, len(model.outputs))
    compiled = [executable(integer_network(model, kind)) for kind in activations]
    rng = np.random.default_rng(1)
    distinct: set[int] = set()
    for _ in range(samples):
        inputs = [random_values(rng, tensor.shape, tensor.dtype) for tensor in model.inputs]
        expected = reference(*inputs)
        for run in compiled:
            found = run({tensor.name: value for tensor, value in zip(model.inputs, inputs, strict=True)})
            for one, other in zip(expected, found, strict=True):
                np.testing.assert_array_equal(other.reshape(one.shape), one)
        distinct |= set(np.unique(expected[0]).tolist())
    assert len(distinct) > 20, "the outputs hardly vary"
    module = integer_relay(model)
    assert not qnn_operators(module)
    return module.astext(show_meta_data=False)


def conv2d(
    rng: np.random.Generator,
    model: TfliteModel,
    x: int,
    shape: Sequence[int],
    filters: int,
    kernel: tuple[int, int],
    *,
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    padding: int = SAME,
    activation: int = NONE,
    scale: float = 0.08,
    zero_point: int = -11,
    input_scale: float = 0.05,
) -> tuple[int, tuple[int, ...]]:
    channels = shape[3]
    size: list[int] = []
    for axis in (0, 1):
        inside = shape[axis + 1] - (0 if padding == SAME else (kernel[axis] - 1) * dilation[axis])
        size.append(-(-inside // stride[axis]))
    scales = rng.uniform(0.0005, 0.02, filters)
    weights = rng.integers(-127, 128, (filters, *kernel, channels))
    bias = rng.integers(-3000, 3000, filters)
    w = model.tensor(weights.shape, "int8", scales, 0, weights)
    b = model.tensor((filters,), "int32", scales * input_scale, 0, bias)
    out_shape = (1, *size, filters)
    output = model.tensor(out_shape, "int8", scale, zero_point)
    model.operator(
        "CONV_2D", [x, w, b], output, "Conv2DOptions",
        padding=padding, strideH=stride[0], strideW=stride[1],
        dilationHFactor=dilation[0], dilationWFactor=dilation[1], fusedActivationFunction=activation,
    )  # fmt: skip
    return output, out_shape


@pytest.mark.parametrize("activations", [None, "uint8"])
def test_conv2d(activations):
    geometries = [
        {"kernel": (3, 3), "stride": (2, 2), "padding": SAME, "activation": NONE},
        {"kernel": (3, 3), "stride": (2, 2), "padding": SAME, "activation": RELU6},
        {"kernel": (3, 2), "stride": (1, 2), "padding": VALID, "activation": RELU},
        {"kernel": (3, 3), "dilation": (2, 2), "padding": SAME, "activation": NONE},
        {"kernel": (1, 1), "zero_point": -128, "activation": RELU},
    ]
    rng = np.random.default_rng(3)
    model = TfliteModel()
    x = model.tensor(SHAPE, "int8", 0.05, 7)
    outputs = [conv2d(rng, model, x, SHAPE, 6, **geometry)[0] for geometry in geometries]
    assert check(model.build([x], outputs), activations=[activations]).count("nn.conv2d(") == len(geometries)


def test_conv2d_with_scales_of_all_sizes():
    """Shifts from none to those that vanish, constant channels, positive and negative sums."""
    rng = np.random.default_rng(4)
    model = TfliteModel()
    x = model.tensor(SHAPE, "int8", 1.0, -128)
    scales = np.array([0.9, 0.5, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12])
    weights = rng.integers(-127, 128, (12, 1, 1, 5))
    w = model.tensor(weights.shape, "int8", scales, 0, weights)
    bias = np.array([-1000, 5, 1000, -2000, 10**5, -(10**6), 10**7, 10**8, -(10**9), 10**9, -(2 * 10**9), 2 * 10**9])
    b = model.tensor((12,), "int32", scales, 0, bias)
    output = model.tensor((1, 9, 7, 12), "int8", 1.0, 3)
    model.operator(
        "CONV_2D", [x, w, b], output, "Conv2DOptions", padding=VALID, strideH=1, strideW=1,
        dilationHFactor=1, dilationWFactor=1,
    )  # fmt: skip
    check(model.build([x], [output]))


@pytest.mark.parametrize("channels_multiplier", [(5, 1), (1, 4), (3, 2)])
def test_depthwise_conv2d(channels_multiplier):
    channels, multiplier = channels_multiplier
    rng = np.random.default_rng(5)
    model = TfliteModel()
    x = model.tensor((1, 9, 7, channels), "int8", 0.05, 7)
    scales = rng.uniform(0.001, 0.02, channels * multiplier)
    weights = rng.integers(-127, 128, (1, 3, 3, channels * multiplier))
    w = model.tensor(weights.shape, "int8", scales, 0, weights, axis=3)
    bias = rng.integers(-3000, 3000, channels * multiplier)
    b = model.tensor(bias.shape, "int32", scales * 0.05, 0, bias)
    output = model.tensor((1, 5, 4, channels * multiplier), "int8", 0.05, 20)
    model.operator(
        "DEPTHWISE_CONV_2D", [x, w, b], output, "DepthwiseConv2DOptions", padding=SAME, strideH=2, strideW=2,
        depthMultiplier=multiplier, dilationHFactor=1, dilationWFactor=1,
    )  # fmt: skip
    check(model.build([x], [output]))


@pytest.mark.parametrize("activation", [NONE, RELU])
def test_fully_connected(activation):
    rng = np.random.default_rng(6)
    model = TfliteModel()
    x = model.tensor((1, 40), "int8", 0.0507, 17)
    weights = rng.integers(-127, 128, (30, 40))
    w = model.tensor(weights.shape, "int8", 0.01907, 0, weights)
    b = model.tensor((30,), "int32", 0.0507 * 0.01907, 0, rng.integers(-3000, 3000, 30))
    output = model.tensor((1, 30), "int8", 0.1301, -20)
    model.operator("FULLY_CONNECTED", [x, w, b], output, "FullyConnectedOptions", fusedActivationFunction=activation)
    check(model.build([x], [output]), 60)


@pytest.mark.parametrize(("name", "options"), [("ADD", "AddOptions"), ("SUB", "SubOptions"), ("MUL", "MulOptions")])
@pytest.mark.parametrize(
    "scales",
    [(0.0513, 3, 0.0217, -128, 0.0623, 4), (0.0113, -5, 0.4171, 9, 0.3547, -100), (0.1137, 0, 0.1137, 0, 0.2113, 0)],
)
def test_elementwise(name, options, scales):
    model = TfliteModel()
    a = model.tensor(SHAPE, "int8", scales[0], scales[1])
    b = model.tensor(SHAPE, "int8", scales[2], scales[3])
    output = model.tensor(SHAPE, "int8", scales[4] * (10 if name == "MUL" else 1), scales[5])
    model.operator(name, [a, b], output, options)
    text = check(model.build([a, b], [output]), 60)
    assert "take" not in text


def test_an_addition_with_many_ties_becomes_a_table():
    """Scales in the ratio 5:2:6 put every sixth pair on a half, where TFLite Micro's own rounding errors decide."""
    model = TfliteModel()
    a, b = model.tensor(SHAPE, "int8", 0.05, 3), model.tensor(SHAPE, "int8", 0.02, -128)
    output = model.tensor(SHAPE, "int8", 0.06, 4)
    model.operator("ADD", [a, b], output, "AddOptions")
    assert "take" in check(model.build([a, b], [output]), 100)


@pytest.mark.parametrize(
    ("name", "window", "stride", "padding"),
    [
        ("AVERAGE_POOL_2D", (9, 7), (9, 7), VALID),
        ("AVERAGE_POOL_2D", (2, 2), (2, 2), VALID),
        ("AVERAGE_POOL_2D", (3, 3), (1, 2), VALID),
        ("AVERAGE_POOL_2D", (4, 3), (2, 2), VALID),
        ("MAX_POOL_2D", (3, 3), (2, 2), SAME),
        ("MAX_POOL_2D", (2, 2), (2, 2), VALID),
    ],
)
def test_pooling(name, window, stride, padding):
    model = TfliteModel()
    x = model.tensor(SHAPE, "int8", 0.1, -9)
    size = [
        -(-SHAPE[axis + 1] // stride[axis]) if padding == SAME else (SHAPE[axis + 1] - window[axis]) // stride[axis] + 1
        for axis in (0, 1)
    ]
    output = model.tensor((1, *size, 5), "int8", 0.1, -9)
    model.operator(
        name, [x], output, "Pool2DOptions",
        padding=padding, filterHeight=window[0], filterWidth=window[1], strideH=stride[0], strideW=stride[1],
    )  # fmt: skip
    check(model.build([x], [output]), 40)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("output_scale", [0.1, 0.0371])
def test_mean(keep, output_scale):
    model = TfliteModel()
    x = model.tensor(SHAPE, "int8", 0.1, -9)
    axes = model.tensor((2,), "int32", data=np.array([1, 2]))
    output = model.tensor((1, 1, 1, 5) if keep else (1, 5), "int8", output_scale, 30)
    model.operator("MEAN", [x, axes], output, "ReducerOptions", keepDims=keep)
    check(model.build([x], [output]), 60)


def test_change_of_scale():
    model = TfliteModel()
    x = model.tensor(SHAPE, "int8", 0.0713, -9)
    output = model.tensor(SHAPE, "int8", 0.0611, 30)
    model.operator("QUANTIZE", [x], output)
    assert "take" in check(model.build([x], [output]))


def test_float_border():
    model = TfliteModel()
    x = model.tensor(SHAPE, "float32")
    inner = model.tensor(SHAPE, "int8", 0.013, -9)
    model.operator("QUANTIZE", [x], inner)
    output, _ = conv2d(np.random.default_rng(7), model, inner, SHAPE, 4, (3, 3), input_scale=0.013, scale=0.02)
    check(model.build([x], [output]))


def test_padding_in_front_of_a_convolution_is_its_padding():
    model = TfliteModel()
    x = model.tensor(SHAPE, "int8", 0.05, 7)
    widths = model.tensor((4, 2), "int32", data=np.array([[0, 0], [1, 0], [0, 1], [0, 0]]))
    padded = model.tensor((1, 10, 8, 5), "int8", 0.05, 7)
    model.operator("PAD", [x, widths], padded, "PadOptions")
    output, _ = conv2d(np.random.default_rng(8), model, padded, (1, 10, 8, 5), 4, (3, 3))
    assert check(model.build([x], [output])).count("nn.pad") == 1


def test_rows_of_padding_between_maps_of_a_batch():
    """Maps whose rows are summed each alone are one map, but not with rows of padding between them."""
    shape = (2, 9, 7, 5)
    rng = np.random.default_rng(8)
    model = TfliteModel()
    x = model.tensor(shape, "int8", 0.05, 7)
    widths = model.tensor((4, 2), "int32", data=np.array([[0, 0], [1, 2], [0, 0], [0, 0]]))
    padded = model.tensor((2, 12, 7, 5), "int8", 0.05, 7)
    model.operator("PAD", [x, widths], padded, "PadOptions")
    output, _ = conv2d(rng, model, padded, (2, 12, 7, 5), 4, (1, 3))
    model.tensors[output].shape = [2, 12, 7, 4]
    check(model.build([x], [output]))


def test_slice_of_a_map_with_channels_first():
    """As LiteRT's converter of PyTorch writes a crop."""
    model = TfliteModel()
    x = model.tensor(SHAPE, "int8", 0.05, 7)
    order, begin, size = (
        model.tensor((4,), "int32", data=np.array(values)) for values in ([0, 3, 1, 2], [0, 1, 2, 3], [1, 3, -1, 4])
    )
    turned = model.operator("TRANSPOSE", [x, order], model.tensor((1, 5, 9, 7), "int8", 0.05, 7), "TransposeOptions")
    output = model.tensor((1, 3, 7, 4), "int8", 0.05, 7)
    model.operator("SLICE", [turned, begin, size], output, "SliceOptions")
    check(model.build([x], [output]))


def test_average_of_a_map_with_channels_first():
    """Its rounding is TFLite Micro's wherever the transposition goes."""
    model = TfliteModel()
    x = model.tensor(SHAPE, "int8", 0.05, 7)
    order = model.tensor((4,), "int32", data=np.array([0, 3, 1, 2]))
    turned = model.operator("TRANSPOSE", [x, order], model.tensor((1, 5, 9, 7), "int8", 0.05, 7), "TransposeOptions")
    output = model.tensor((1, 3, 4, 7), "int8", 0.05, 7)
    model.operator(
        "AVERAGE_POOL_2D", [turned], output, "Pool2DOptions",
        padding=VALID, filterHeight=3, filterWidth=3, strideH=1, strideW=2,
    )  # fmt: skip
    check(model.build([x], [output]))


def test_gather_of_each_map_with_channels_first():
    model = TfliteModel()
    x = model.tensor(SHAPE, "int8", 0.05, 7)
    order, places = (model.tensor(np.shape(one), "int32", data=np.array(one)) for one in ([0, 3, 1, 2], [[4, 0, 2]]))
    turned = model.operator("TRANSPOSE", [x, order], model.tensor((1, 5, 9, 7), "int8", 0.05, 7), "TransposeOptions")
    output = model.tensor((1, 3, 9, 7), "int8", 0.05, 7)
    model.operator("GATHER", [turned, places], output, "GatherOptions", axis=1, batchDims=1)
    check(model.build([x], [output]))


@pytest.mark.parametrize("keep", [True, False])
def test_mean_over_channels_and_rows(keep):
    """The mean of a map with channels first, whose axes the pass of layouts turns."""
    model = TfliteModel()
    x = model.tensor(SHAPE, "int8", 0.1, -9)
    order, axes = (model.tensor((len(values),), "int32", data=np.array(values)) for values in ([0, 3, 1, 2], [1, 2]))
    turned = model.operator("TRANSPOSE", [x, order], model.tensor((1, 5, 9, 7), "int8", 0.1, -9), "TransposeOptions")
    output = model.tensor((1, 1, 1, 7) if keep else (1, 7), "int8", 0.037, 30)
    model.operator("MEAN", [turned, axes], output, "ReducerOptions", keepDims=keep)
    check(model.build([x], [output]), 40)


def test_single_numbers():
    """Operators of two tensors without axes, which means leave."""
    model = TfliteModel()
    inputs = [model.tensor((3, 2), "int8", 0.1, zero_point) for zero_point in (5, -9)]
    axes = model.tensor((2,), "int32", data=np.array([0, 1]))
    numbers = [
        model.operator("SUM", [x, axes], model.tensor((), "int8", 0.2, 3), "ReducerOptions", keepDims=False)
        for x in inputs
    ]
    outputs = [
        model.operator(name, numbers, model.tensor((), "int8", 0.3, 3), options)
        for name, options in (
            ("ADD", "AddOptions"),
            ("SUB", "SubOptions"),
            ("MUL", "MulOptions"),
            ("MAXIMUM", "MaximumMinimumOptions"),
            ("SQUARED_DIFFERENCE", "SquaredDifferenceOptions"),
        )
    ]
    scaled = model.operator("MUL", [numbers[0], inputs[1]], model.tensor((3, 2), "int8", 0.3, 3), "MulOptions")
    data = model.build(inputs, [scaled, *outputs])
    check(data)
    found = find(integer_network(from_tflite(data, Path("test.tflite"))))
    assert sum(isinstance(layer, Match) for layer in found) > len(outputs)


def test_concatenation_and_reshape():
    rng = np.random.default_rng(9)
    model = TfliteModel()
    x = model.tensor(SHAPE, "int8", 0.05, 7)
    first, _ = conv2d(rng, model, x, SHAPE, 3, (1, 1), scale=0.06, zero_point=-20)
    second, _ = conv2d(rng, model, x, SHAPE, 4, (3, 3), scale=0.06, zero_point=-20, activation=RELU)
    joined = model.tensor((1, 9, 7, 7), "int8", 0.06, -20)
    model.operator("CONCATENATION", [first, second], joined, "ConcatenationOptions", axis=3)
    output, shape = conv2d(rng, model, joined, (1, 9, 7, 7), 4, (3, 3), input_scale=0.06)
    flat = model.tensor((1, int(np.prod(shape))), "int8", 0.08, -11)
    sizes = model.tensor((2,), "int32", data=np.array(model.tensors[flat].shape))
    model.operator("RESHAPE", [output, sizes], flat, "ReshapeOptions", newShape=list(model.tensors[flat].shape))
    check(model.build([x], [flat]))


def test_layers_outputs_that_are_packed():
    rng = np.random.default_rng(9)
    model = TfliteModel()
    x = model.tensor(SHAPE, "int8", 0.05, 7)
    maps = [conv2d(rng, model, x, SHAPE, 3, (1, 1), scale=0.06, zero_point=-20)[0] for _ in range(2)]
    packed = model.tensor((1, 2, 9, 7, 3), "int8", 0.06, -20)
    model.operator("PACK", maps, packed, "PackOptions", valuesCount=2, axis=1)
    check(model.build([x], [packed]), activations=[None, "uint8"])
