"""Parts of quantized networks: layers, functions of elements, moves."""

from __future__ import annotations

from functools import partial

import numpy as np

from tests.frontend.qdq.part import Part, added_to
from tests.passes.trained_models import TrainedModel

PARTS: dict[str, Part] = {}
part = partial(added_to, PARTS)


def quantize(model: TrainedModel, scale: float, zero_point: int) -> None:
    """Bring the last tensor to 8 bits and back, with parameters without axes."""
    parameters = model.constant(np.float32(scale)), model.constant(np.uint8(zero_point))
    model.add("QuantizeLinear", *parameters)
    model.add("DequantizeLinear", *parameters)


@part(1, 3, 9, 8, scale=0.2)
def convolutions(model: TrainedModel) -> None:
    """Strides, padding, groups, holes, an activation, a depthwise one with two outputs for each input."""
    model.conv(8, pads=[1, 1, 1, 1], strides=[2, 1])
    model.add("Relu")
    model.quantize(0.02)
    model.conv(12, group=4, pads=[0, 1, 2, 0])
    model.quantize(0.04, "uint8", 119)
    model.conv(24, group=12, dilations=[1, 2])


@part(1, 4, 21, scale=0.2)
def sequences(model: TrainedModel) -> None:
    """Convolutions of sequences, a sum of two of them, pooled."""
    model.conv(6, (3,), pads=[1, 1])
    x = model.quantize(0.05, "uint8", 128)
    model.conv(6, (5,), pads=[2, 2])
    model.quantize(0.06, "uint8", 120)
    model.add("Add", x)
    model.quantize(0.08, "uint8", 120)
    model.add("MaxPool", kernel_shape=[2], strides=[2])


@part(1, 5, 4, 3)
def transposed_convolutions(model: TrainedModel) -> None:
    weights = model.weights((5, 7, 3, 2), axis=1)
    model.add("ConvTranspose", weights, strides=[2, 3], pads=[1, 0, 0, 1], output_padding=[1, 0])
    model.channels = 7


@part(1, 6, 8, 8)
def residual(model: TrainedModel) -> None:
    """A sum and a product of maps, one of them of one pixel."""
    x = model.current
    model.conv(6, pads=[1, 1, 1, 1])
    model.quantize(0.05, "uint8", 128)
    y = model.quantize(0.05, "uint8", 128)
    model.current = model.apply("Add", x, y)
    total = model.quantize(0.07, "uint8", 125)
    model.add("GlobalAveragePool")
    model.quantize(0.02, "uint8", 122)
    model.conv(6, (1, 1))
    model.quantize(0.05, "uint8", 110)
    model.add("Sigmoid")
    gate = model.quantize(1 / 256)
    model.current = model.apply("Mul", total, gate)


@part(1, 4, 6, 5, scale=0.3)
def flattened(model: TrainedModel) -> None:
    """A map whose order goes into a matrix's."""
    model.conv(5, (1, 1))
    model.quantize(0.05, "uint8", 128)
    model.add("MaxPool", kernel_shape=[2, 2], pads=[0, 0, 0, 1], strides=[2, 2])
    model.add("Flatten")
    model.add("Gemm", model.weights((7, 45)), transB=1)


@part(2, 5, 12, scale=0.4)
def rows(model: TrainedModel) -> None:
    """A product of all rows and a matrix, a bias after it, and a product of two activations."""
    model.add("MatMul", model.weights((12, 12), axis=1))
    model.add("Add", model.constant(model.rng.normal(0, 0.5, 12).astype(np.float32)))
    x = model.quantize(0.05, "uint8", 128)
    model.add("Transpose", perm=[0, 2, 1])
    model.current = model.apply("MatMul", x, model.current)


@part(1, 8, 6, 6)
def moves(model: TrainedModel) -> None:
    """Parts of a tensor in another order, side by side, padded and turned."""
    first, second = model.split(3, 5)
    model.current = model.apply("Concat", second, first, axis=1)
    model.add("Pad", model.constant(np.array([0, 0, 1, 0, 0, 0, 0, 2])), model.constant(np.float32(0)))
    model.add("Transpose", perm=[0, 3, 1, 2])
    model.add("Slice", *(model.constant(np.array([number])) for number in (1, 7, 2, 2)))
    model.add("Unsqueeze", model.constant(np.array([1])))
    model.add("Squeeze", model.constant(np.array([0])))
    model.quantize(0.05, "int8", -4)


@part(1, 8, 6, 6, scale=0.1)
def assigned_channels(model: TrainedModel) -> None:
    """A convolution of some channels in their place, as PyTorch exports an assignment to a slice."""
    x, channels = model.current, np.arange(2, 5)
    model.add("Slice", *(model.constant(np.array([number])) for number in (2, 5, 1)))
    model.channels = len(channels)
    model.conv(3, pads=[1, 1, 1, 1])
    made = model.quantize(0.1, "uint8", 128)
    points = np.stack([np.zeros_like(channels), channels], axis=-1)[None]
    model.current = model.apply("ScatterND", x, model.constant(points), made)


@part(1, 8, 4, 6)
def blocks(model: TrainedModel) -> None:
    """Channels as pixels and back, repeated and resized."""
    model.add("DepthToSpace", blocksize=2)
    model.add("Tile", model.constant(np.array([1, 2, 1, 1])))
    scales = model.constant(np.array([1, 1, 2, 0.5], np.float32))
    model.add("Resize", "", scales, mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    model.add("SpaceToDepth", blocksize=2)


@part(1, 3, 7, 7)
def averages(model: TrainedModel) -> None:
    """Means of windows with padding that counts and with padding that does not."""
    quantize(model, 0.03, 126)
    model.add("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    quantize(model, 0.02, 117)
    model.add("AveragePool", kernel_shape=[2, 2], strides=[2, 2], pads=[1, 0, 0, 1], count_include_pad=1)


@part(1, 6, 5, 5)
def functions(model: TrainedModel) -> None:
    """Functions of one tensor and of two, with numbers and with one for each channel."""
    model.add("HardSwish")
    x = model.quantize(0.02, "uint8", 20)
    model.add("Clip", model.constant(np.float32(-0.2)), model.constant(np.float32(1.1)))
    model.add("Mul", model.constant(np.arange(1, 7, dtype=np.float32).reshape(6, 1, 1)))
    model.quantize(0.05, "uint8", 100)
    model.current = model.apply("Sub", x, model.current)
    model.quantize(0.06, "int8")
    model.current = model.apply("Max", model.current, x)
    model.quantize(0.05, "int8")
    model.add("PRelu", model.constant(np.linspace(-0.5, 0.5, 6).astype(np.float32).reshape(6, 1, 1)))


@part(1, 4, 6, scale=1 / 256)
def softmax(model: TrainedModel) -> None:
    """Along another axis than the last one."""
    model.add("Softmax", axis=1)


@part(1, 4, 6, 6, scale=0.3)
def moved_weights(model: TrainedModel) -> None:
    """Weights with a scale for each output, transposed and with more axes than they are stored with."""
    weights = model.apply("Transpose", model.weights((4, 5, 3, 3), axis=1), perm=[1, 0, 2, 3])
    model.add("Conv", weights)
    model.quantize(0.3, "uint8", 128)
    weights = model.apply("Unsqueeze", model.weights((6, 5)), model.constant(np.array([2, 3])))
    model.add("Conv", weights)


@part(3, 9, scale=0.3)
def product_with_factors(model: TrainedModel) -> None:
    model.add("Gemm", model.weights((9, 7), axis=1), alpha=2.0)
    model.quantize(0.3, "uint8", 128)
    bias = model.constant(model.rng.normal(0, 2, 5).astype(np.float32))
    model.add("Gemm", model.weights((7, 5), axis=1), bias, alpha=0.25, beta=0.5)


def sizes(model: TrainedModel, *numbers: int) -> str:
    return model.constant(np.array(numbers))


@part(1, 3, 5, 6)
def linear_resize(model: TrainedModel) -> None:
    model.add("Resize", "", "", sizes(model, 1, 3, 10, 15), mode="linear")


@part(2, 9, 4)
def linear_resize_of_sequences(model: TrainedModel) -> None:
    model.add("Resize", "", "", sizes(model, 2, 5, 4), mode="linear", coordinate_transformation_mode="align_corners")


@part(1, 3, 5, 6)
def masked_by_constants(model: TrainedModel) -> None:
    mask = model.rng.random((5, 6)) < 0.4
    model.current = model.apply("Where", model.constant(mask), model.constant(np.float32(-1)), model.current)


@part(1, 3, 5, 6)
def chosen_by_its_own_numbers(model: TrainedModel) -> None:
    """A table."""
    x = model.current
    positive = model.apply("Greater", x, model.constant(np.float32(0.5)))
    model.current = model.apply("Where", positive, model.apply("Sqrt", model.apply("Abs", x)), x)


@part(1, 4, 5, 5)
def prelu_by_element(model: TrainedModel) -> None:
    model.add("PRelu", model.constant(model.rng.uniform(0.1, 0.4, (4, 5, 5)).astype(np.float32)))


@part(1, 4, 6, 6)
def scaled_layer(model: TrainedModel) -> None:
    """Batch normalization after a layer, and an activation after both."""
    model.conv(8)
    model.add("Mul", model.constant(model.rng.normal(0, 1, (8, 1, 1)).astype(np.float32)))
    model.add("Add", model.constant(model.rng.normal(0, 1, (8, 1, 1)).astype(np.float32)))
    model.add("Relu")


@part(1, 4, 6, 6)
def leaky_layer(model: TrainedModel) -> None:
    model.conv(8)
    model.add("LeakyRelu", alpha=0.2)


@part(1, 4, 6, 6)
def swish_of_a_layer(model: TrainedModel) -> None:
    x = model.conv(8)
    model.current = model.apply("Mul", x, model.apply("Sigmoid", x))


@part(1, 4, 6, 6)
def residual_of_a_layer(model: TrainedModel) -> None:
    x = model.current
    model.conv(4, pads=[1, 1, 1, 1])
    model.current = model.apply("Add", x, model.current)


@part(1, 4, 6, 6)
def sums_of_four(model: TrainedModel) -> None:
    x = model.current
    terms = [model.apply("MaxPool", x, kernel_shape=[2, 2], strides=[1, 1], pads=[1, 1, 0, 0]), x]
    total = model.apply("Add", *terms)
    model.current = model.apply("Add", total, model.apply("Identity", terms[0]))


@part(1, 6, 7, 6)
def attention_to_channels(model: TrainedModel) -> None:
    x = model.current
    model.add("GlobalAveragePool")
    share = model.quantize(0.02, "uint8", 128)
    model.current = model.apply("Mul", x, model.apply("HardSigmoid", share))


@part(1, 8, 6, 5, scale=0.01)
def mean_of_a_function(model: TrainedModel) -> None:
    model.add("HardSwish")
    model.add("GlobalAveragePool")


@part(1, 4, 6, 6)
def clipped_parts(model: TrainedModel) -> None:
    """Side by side, of which one is left in floating point where all is to be exact."""
    x = model.current
    sums = model.conv(4, pads=[1, 1, 1, 1])
    swish = model.apply("Mul", sums, model.apply("Sigmoid", sums))
    model.current = model.apply("Concat", swish, x, axis=1)
    model.add("Relu")
