"""Layers with weights: CONV_2D and its kin, FULLY_CONNECTED, products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import tflite

from match.arithmetic.tflite import TfliteArithmetic
from match.frontend.tflite import integers
from match.frontend.tflite.file import Array, FileOperator
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.frontend.tflite.windows import WindowAxis, axes_of
from match.graph.fixed_point import BiasedMatrices
from match.graph.make import broadcast, reshaped, transposed
from match.graph.sums import KernelLayout
from match.graph.sums import Weights as Int8Or16
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.ir.layer import Padding
from match.quantized.layers import Filters, Sums, convolution_sums, dense_sums, transposed_sums
from match.quantized.matrices import matrices_of


@dataclass(frozen=True, eq=False)
class Weights:
    """Constant weights with their scales, one or one per output channel (along `axis`), and zero points alike."""

    values: Array
    scales: npt.NDArray[np.float32]
    zero_points: npt.NDArray[np.int64]
    axis: int = 0

    @property
    def without_zero_points(self) -> Int8Or16:
        """The values minus their zero points: int8 where all fit (as uint8 weights around 128 do), else int16."""
        shape = [-1 if axis == self.axis else 1 for axis in range(self.values.ndim)]
        shifted = self.values.astype(np.int64) - self.zero_points.reshape(shape)
        low, high = value_range("int8")
        fits = low <= shifted.min() and shifted.max() <= high
        return shifted.astype(np.int8) if fits else shifted.astype(np.int16)


@dataclass(frozen=True, eq=False)
class ScaledFilters:
    """What a convolution slides over a map, and the scales of its weights, one or one for each channel."""

    filters: Filters
    scales: npt.NDArray[np.float32]


def _window(
    read: TfliteReader,
    operator: FileOperator,
    size: tuple[int, int],
    options: tflite.Conv2DOptions | tflite.DepthwiseConv2DOptions,
) -> list[WindowAxis]:
    """Rows and columns of the windows of a convolution."""
    return axes_of(
        read.tensor(operator).shape,
        size,
        (options.StrideH(), options.StrideW()),
        (options.DilationHFactor(), options.DilationWFactor()),
        options.Padding(),
    )


def filters_of(read: TfliteReader, operator: FileOperator) -> ScaledFilters:
    """The filters of CONV_2D, also in groups: they then have fewer channels than the input."""
    options = operator.options(tflite.Conv2DOptions)
    weights = constant_weights(read, operator, axis=0)
    filters, rows, columns, channels = weights.values.shape
    window = _window(read, operator, (rows, columns), options)
    depth = read.tensor(operator).shape[3]
    if depth % channels:
        raise read.error(
            operator, f"has filters of {channels} channels for an input of {depth}; export the model again"
        )
    groups = depth // channels
    kernel = weights.without_zero_points.transpose(1, 2, 3, 0)
    if groups > 1 and channels == 1:
        return _filters(weights, kernel.reshape(rows, columns, depth, filters // depth), "HWOI", window, groups)
    return _filters(weights, kernel, "HWIO", window, groups)


def depthwise_filters_of(read: TfliteReader, operator: FileOperator) -> ScaledFilters:
    """The filters of DEPTHWISE_CONV_2D: the outputs of an input channel lie side by side."""
    options = operator.options(tflite.DepthwiseConv2DOptions)
    weights = constant_weights(read, operator, axis=3)
    _, rows, columns, filters = weights.values.shape
    window = _window(read, operator, (rows, columns), options)
    depth, kernel = read.tensor(operator).shape[3], weights.without_zero_points
    if depth == 1:
        return _filters(weights, kernel.reshape(rows, columns, 1, filters), "HWIO", window, depth)
    return _filters(weights, kernel.reshape(rows, columns, depth, filters // depth), "HWOI", window, depth)


def _filters(
    weights: Weights, kernel: Int8Or16, layout: KernelLayout, window: Sequence[WindowAxis], groups: int
) -> ScaledFilters:
    rows, columns = window
    filters = Filters(
        kernel=np.ascontiguousarray(kernel),
        layout=layout,
        strides=(rows.stride, columns.stride),
        padding=Padding(rows.before, columns.before, rows.behind, columns.behind),
        dilation=(rows.dilation, columns.dilation),
        groups=groups,
    )
    return ScaledFilters(filters, weights.scales)


def conv2d(read: TfliteReader, operator: FileOperator) -> Value:
    """CONV_2D."""
    filters, options = filters_of(read, operator), operator.options(tflite.Conv2DOptions)
    return convolved(read, operator, filters, options.FusedActivationFunction())


def depthwise_conv2d(read: TfliteReader, operator: FileOperator) -> Value:
    """DEPTHWISE_CONV_2D."""
    filters, options = depthwise_filters_of(read, operator), operator.options(tflite.DepthwiseConv2DOptions)
    return convolved(read, operator, filters, options.FusedActivationFunction())


def convolved(read: TfliteReader, operator: FileOperator, filters: ScaledFilters, activation: int) -> Value:
    """What filters make of the first input, in the quantization of the output."""
    inputs = read.input_quantization(operator)
    sums = convolution_sums(read.value(operator), filters.filters, inputs.zero_point)
    return _requantized(read, operator, sums, filters.scales, 2, activation)


def transpose_conv(read: TfliteReader, operator: FileOperator) -> Value:
    """TRANSPOSE_CONV."""
    options = operator.options(tflite.TransposeConvOptions)
    weights = constant_weights(read, operator, axis=0, position=1)
    sums = sums_of_phases(read, operator, weights, read.input_quantization(operator, 2).zero_point)
    return _requantized(read, operator, sums, weights.scales, 3, options.FusedActivationFunction(), position=2)


def sums_of_phases(read: TfliteReader, operator: FileOperator, weights: Weights, zero_point: int) -> Sums:
    """The sums of TRANSPOSE_CONV."""
    options, output = operator.options(tflite.TransposeConvOptions), read.output(operator)
    strides = options.StrideH(), options.StrideW()
    # The forward convolution that this one transposes pads the output.
    rows, columns = axes_of(output.shape, weights.values.shape[1:3], strides, (1, 1), options.Padding())
    kernel = weights.without_zero_points.transpose(1, 2, 3, 0)
    before = rows.before, columns.before
    return transposed_sums(read.value(operator, 2), kernel, strides, before, output.shape, zero_point)


def fully_connected(read: TfliteReader, operator: FileOperator) -> Value:
    """FULLY_CONNECTED; weights that the network computes make it a product of two activations."""
    options = operator.options(tflite.FullyConnectedOptions)
    if options.WeightsFormat():
        raise read.error(
            operator, f"has the option WeightsFormat of {options.WeightsFormat()}, which cannot be compiled; only 0 can"
        )
    x, output, activation = read.value(operator), read.output(operator), options.FusedActivationFunction()
    if read.constant(operator, 1) is None:
        weights = read.value(operator, 1)
        rows = reshaped(x, (-1, weights.shape[-1]))
        if read.has(operator, 2):
            return reshaped(_biased_product(read, operator, rows, weights, activation), output.shape)
        product = _product(read, operator, one_matrix(rows), one_matrix(weights), activation)
        return reshaped(product, output.shape)
    weights = constant_weights(read, operator, axis=0)
    depth = weights.values.shape[1]
    if int(np.prod(x.shape)) % depth:
        raise read.error(operator, f"has weights of {depth} columns for an input of {list(x.shape)}; export it again")
    return reshaped(_dense(read, operator, weights, activation), output.shape)


def batch_matmul(read: TfliteReader, operator: FileOperator) -> Value:
    """BATCH_MATMUL: with a constant matrix a dense layer, else a product of two activations."""
    options = operator.options(tflite.BatchMatMulOptions)
    right, output = read.tensor(operator, 1), read.output(operator)
    for operand in (read.tensor(operator), right):
        if operand.data is not None and len(operand.scales) > 1:
            problem = "a scale for each channel, where TFLite Micro's kernel takes the first scale for all channels"
            raise read.error(operator, f"has the constant {operand.what} with {problem}; quantize it with one scale")
    constant = right.data is not None and int(np.prod(right.shape[:-2])) == 1
    if constant and right.data is not None and not options.AdjX() and np.all(right.zero_points == 0):
        matrix = right.data.reshape(right.shape[-2:])
        values = np.ascontiguousarray(matrix if options.AdjY() else matrix.T)
        weights = Weights(values, right.scales[:1], right.zero_points[:1])
        return reshaped(_dense(read, operator, weights, 0, bias=False), output.shape)
    return reshaped(_product(read, operator, *operands(read, operator), 0), output.shape)


def operands(read: TfliteReader, operator: FileOperator) -> tuple[Value, Value]:
    """Both operands of BATCH_MATMUL as matrices (batches, rows, depth) and (batches, columns, depth)."""
    options = operator.options(tflite.BatchMatMulOptions)
    x, y = (_matrices(read, operator, position) for position in (0, 1))
    return transposed(x, (0, 2, 1)) if options.AdjX() else x, y if options.AdjY() else transposed(y, (0, 2, 1))


def _matrices(read: TfliteReader, operator: FileOperator, position: int) -> Value:
    """An operand as (batches, rows, columns), with the batches of the output."""
    x, output = read.value(operator, position), read.output(operator).shape
    x = broadcast(x, (*output[:-2], *x.shape[-2:]))
    return reshaped(x, (int(np.prod(output[:-2])), *x.shape[-2:]))


def one_matrix(x: Value) -> Value:
    """Rows as the only matrix of a batch."""
    return reshaped(x, (1, *x.shape))


def constant_weights(read: TfliteReader, operator: FileOperator, axis: int, position: int = 1) -> Weights:
    """The weights, whose output channels lie along `axis`."""
    tensor = read.tensor(operator, position)
    if tensor.data is None:
        raise read.error(operator, "has weights that the network computes; only constant ones are supported")
    if str(tensor.data.dtype) not in ("int8", "uint8"):
        read.output_quantization(operator)  # a float network has a sentence of its own
        raise read.error(operator, f"has weights of type {tensor.dtype}; quantize them to int8")
    channels = tensor.shape[axis] if tensor.data.ndim > axis else 0
    if len(tensor.scales) not in (1, channels) or (len(tensor.scales) > 1 and tensor.axis != axis):
        raise read.error(operator, f"has weights with {len(tensor.scales)} scales; one or one per channel is supported")
    if operator.name != "FULLY_CONNECTED" or len(tensor.scales) > 1:
        read.check_symmetric(operator, tensor)
    wrong = tensor.scales[~(np.isfinite(tensor.scales) & (tensor.scales >= 0))]
    if wrong.size:
        raise read.error(operator, f"has {tensor.what} with the scale {wrong[0]}; quantize it again")
    return Weights(tensor.data, tensor.scales, tensor.zero_points, axis)


def _dense(
    read: TfliteReader, operator: FileOperator, weights: Weights, activation: int, *, bias: bool = True
) -> Value:
    """The rows of the input times the rows of a matrix."""
    read.input_quantization(operator)
    x = reshaped(read.value(operator), (-1, weights.values.shape[1]))
    sums = dense_sums(x, weights.without_zero_points)
    return _requantized(read, operator, sums, weights.scales, 2 if bias else None, activation)


def _requantized(
    read: TfliteReader,
    operator: FileOperator,
    sums: Sums,
    scales: npt.NDArray[np.float32],
    bias: int | None,
    activation: int,
    *,
    position: int = 0,
) -> Value:
    """Sums plus a bias, in the output's quantization, clipped to the fused activation."""
    inputs, output = read.input_quantization(operator, position), read.output_quantization(operator)
    values = np.zeros(read.output(operator).shape[-1], np.int64)
    if bias is not None and read.has(operator, bias):
        given = read.constant(operator, bias)
        if given is None:
            raise read.error(operator, "has a bias that the network computes; only constant ones are supported")
        read.check_bias(operator, bias)
        values = given.reshape(-1).astype(np.int64)
    clip = integers.clip_of(read, operator, activation, output)
    line = TfliteArithmetic().linear(sums.accumulator(inputs, scales, values), output, clip)
    return sums.requantized(line, output.dtype)


def _product(read: TfliteReader, operator: FileOperator, x: Value, y: Value, activation: int) -> Value:
    """The rows of x times the rows of y, both activations, (batches, rows, depth)."""
    first, second = read.input_quantization(operator), read.input_quantization(operator, 1)
    output = read.output_quantization(operator)
    clip = integers.clip_of(read, operator, activation, output)
    matrices = matrices_of(x.shape[2], (first, second), output, clip, TfliteArithmetic())
    return computed(matrices, x, y)


def _biased_product(read: TfliteReader, operator: FileOperator, x: Value, y: Value, activation: int) -> Value:
    """The same of two matrices, with a bias."""
    first, second = read.input_quantization(operator), read.input_quantization(operator, 1)
    output = read.output_quantization(operator)
    read.check_bias(operator, 2)
    matrices = BiasedMatrices(
        zero_points=(first.zero_point, second.zero_point),
        scale=integers.scale(np.float64(first.scale) * np.float64(second.scale) / np.float64(output.scale)),
        zero=output.zero_point,
        clip=integers.clip_of(read, operator, activation, output),
        dtype=output.dtype,
    )
    return computed(matrices, x, y, read.value(operator, 2))


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "CONV_2D": conv2d,
        "DEPTHWISE_CONV_2D": depthwise_conv2d,
        "TRANSPOSE_CONV": transpose_conv,
        "FULLY_CONNECTED": fully_connected,
        "BATCH_MATMUL": batch_matmul,
    }
