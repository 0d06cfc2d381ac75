"""Layers with weights, as the QNN Relay that `match.passes` brings to integers: CONV_2D and its kin, products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import tflite

from match.arithmetic.interface import QuantizedType
from match.frontend.tflite import integers
from match.frontend.tflite.file import Array, FileOperator
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.frontend.tflite.windows import WindowAxis, axes_of
from match.relay import integer_form, relay


@dataclass(frozen=True, eq=False)
class Weights:
    """Constant weights with their scales, one or one per output channel, and zero points alike."""

    values: Array
    scales: npt.NDArray[np.float32]
    zero_points: npt.NDArray[np.int64]

    @property
    def relay_scale(self) -> relay.Expr:
        """The scales as QNN operators read them."""
        return relay.const(self.scales if self.scales.size > 1 else self.scales[0])

    @property
    def relay_zero_point(self) -> relay.Expr:
        """The zero points, in the same way."""
        zeros = self.zero_points.astype(np.int32)
        return relay.const(zeros if np.any(zeros != zeros[0]) else zeros[0])


@dataclass(frozen=True, eq=False)
class Filters:
    """What a convolution slides over a map: `kernel` has the weights in `layout`, "HWIO" or "HWOI"; `count` filters.

    window: rows and columns of windows.
    """

    weights: Weights
    kernel: Array
    layout: integer_form.KernelLayout
    window: Sequence[WindowAxis]
    groups: int
    count: int


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


def filters_of(read: TfliteReader, operator: FileOperator) -> Filters:
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
    kernel = weights.values.transpose(1, 2, 3, 0)
    if groups > 1 and channels == 1:
        shape = rows, columns, depth, filters // depth
        return Filters(weights, kernel.reshape(shape), "HWOI", window, groups, filters)
    return Filters(weights, kernel, "HWIO", window, groups, filters)


def depthwise_filters_of(read: TfliteReader, operator: FileOperator) -> Filters:
    """The filters of DEPTHWISE_CONV_2D: the outputs of an input channel lie side by side."""
    options = operator.options(tflite.DepthwiseConv2DOptions)
    weights = constant_weights(read, operator, axis=3)
    _, rows, columns, filters = weights.values.shape
    window = _window(read, operator, (rows, columns), options)
    depth = read.tensor(operator).shape[3]
    if depth == 1:
        return Filters(weights, weights.values.reshape(rows, columns, 1, filters), "HWIO", window, depth, filters)
    kernel = weights.values.reshape(rows, columns, depth, filters // depth)
    return Filters(weights, kernel, "HWOI", window, depth, filters)


def conv2d(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """CONV_2D."""
    filters, options = filters_of(read, operator), operator.options(tflite.Conv2DOptions)
    return convolved(read, operator, filters, options.FusedActivationFunction())


def depthwise_conv2d(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """DEPTHWISE_CONV_2D."""
    filters, options = depthwise_filters_of(read, operator), operator.options(tflite.DepthwiseConv2DOptions)
    return convolved(read, operator, filters, options.FusedActivationFunction())


def convolved(read: TfliteReader, operator: FileOperator, filters: Filters, activation: int) -> relay.Expr:
    """What filters make of the first input, in the quantization of the output."""
    return _requantized(read, operator, _convolution(read, operator, filters), filters.weights, 2, activation)


def transpose_conv(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """TRANSPOSE_CONV."""
    options = operator.options(tflite.TransposeConvOptions)
    weights, output = constant_weights(read, operator, axis=0, position=1), read.output(operator)
    filters, *size, _ = weights.values.shape
    strides = options.StrideH(), options.StrideW()
    inputs = read.input_quantization(operator, 2)
    # The forward convolution that this one transposes pads the output.
    rows, columns = axes_of(output.shape, size, strides, (1, 1), options.Padding())
    extents = zip(read.tensor(operator, 2).shape[1:3], output.shape[1:3], (rows, columns), strict=True)
    behind = [(extent - 1) * one.stride + one.window - one.before - outputs for extent, outputs, one in extents]
    sums = relay.qnn.op.conv2d_transpose(
        read.expr(operator, 2),
        relay.const(weights.values),
        relay.const(inputs.zero_point, "int32"),
        weights.relay_zero_point,
        relay.const(inputs.scale),
        weights.relay_scale,
        strides=strides,
        padding=(rows.before, columns.before, *(max(0, cut) for cut in behind)),
        output_padding=tuple(max(0, -cut) for cut in behind),
        channels=filters,
        kernel_size=tuple(size),
        data_layout="NHWC",
        kernel_layout="OHWI",
    )
    return _requantized(read, operator, sums, weights, 3, options.FusedActivationFunction(), position=2)


def fully_connected(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """FULLY_CONNECTED; weights that the network computes make it a product of two activations."""
    options = operator.options(tflite.FullyConnectedOptions)
    if options.WeightsFormat():
        raise read.error(
            operator, f"has the option WeightsFormat of {options.WeightsFormat()}, which cannot be compiled; only 0 can"
        )
    x, output = read.tensor(operator), read.output(operator)
    activation = options.FusedActivationFunction()
    if read.constant(operator, 1) is None:
        depth = read.tensor(operator, 1).shape[-1]
        left = relay.reshape(read.expr(operator), (-1, depth))
        return _activations_product(read, operator, left, read.expr(operator, 1), activation, bias=2)
    weights = constant_weights(read, operator, axis=0)
    units, depth = weights.values.shape
    if int(np.prod(x.shape)) % depth:
        raise read.error(operator, f"has weights of {depth} columns for an input of {list(x.shape)}; export it again")
    result = _dense(read, operator, weights, depth, activation)
    return result if output.shape == (int(np.prod(x.shape)) // depth, units) else relay.reshape(result, output.shape)


def batch_matmul(read: TfliteReader, operator: FileOperator) -> relay.Expr:
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
        return relay.reshape(_dense(read, operator, weights, values.shape[1], 0, bias=False), output.shape)
    x, y = (matrices(read, operator, position, output.shape) for position in (0, 1))
    if options.AdjX():
        x = relay.transpose(x, (0, 2, 1))
    if not options.AdjY():
        y = relay.transpose(y, (0, 2, 1))
    return relay.reshape(_activations_product(read, operator, x, y, 0), output.shape)


def matrices(read: TfliteReader, operator: FileOperator, position: int, output: Sequence[int]) -> relay.Expr:
    """An operand as (batches, rows, columns), with the batches of the output."""
    tensor, x = read.tensor(operator, position), read.expr(operator, position)
    if len(output) == 2:
        return relay.expand_dims(x, 0)
    batches, matrix = tuple(output[:-2]), tensor.shape[-2:]
    if (1,) * (len(output) - len(tensor.shape)) + tensor.shape[:-2] != batches:
        x = relay.broadcast_to(x, (*batches, *matrix))
    return relay.reshape(x, (int(np.prod(batches)), *matrix))


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
    return Weights(tensor.data, tensor.scales, tensor.zero_points)


def _convolution(read: TfliteReader, operator: FileOperator, filters: Filters) -> relay.Expr:
    """int32 sums of a map and filters."""
    inputs = read.input_quantization(operator)
    rows, columns = filters.window
    return relay.qnn.op.conv2d(
        read.expr(operator),
        relay.const(np.ascontiguousarray(filters.kernel)),
        relay.const(inputs.zero_point, "int32"),
        filters.weights.relay_zero_point,
        relay.const(inputs.scale),
        filters.weights.relay_scale,
        kernel_size=(rows.window, columns.window),
        channels=filters.count,
        strides=(rows.stride, columns.stride),
        padding=(rows.before, columns.before, rows.behind, columns.behind),
        dilation=(rows.dilation, columns.dilation),
        groups=filters.groups,
        data_layout="NHWC",
        kernel_layout=filters.layout,
    )


def _dense(
    read: TfliteReader, operator: FileOperator, weights: Weights, depth: int, activation: int, *, bias: bool = True
) -> relay.Expr:
    """The rows of the input, of `depth` elements each, times the rows of a matrix."""
    inputs, x = read.input_quantization(operator), read.expr(operator)
    if len(read.tensor(operator).shape) != 2 or read.tensor(operator).shape[1] != depth:
        x = relay.reshape(x, (-1, depth))
    sums = relay.qnn.op.dense(
        x,
        relay.const(weights.values),
        relay.const(inputs.zero_point, "int32"),
        weights.relay_zero_point,
        relay.const(inputs.scale),
        weights.relay_scale,
        units=len(weights.values),
    )
    return _requantized(read, operator, sums, weights, 2 if bias else None, activation)


def _requantized(
    read: TfliteReader,
    operator: FileOperator,
    sums: relay.Expr,
    weights: Weights,
    bias: int | None,
    activation: int,
    *,
    position: int = 0,
) -> relay.Expr:
    """Sums plus a bias, in the output's quantization, clipped to the fused activation."""
    inputs, output = read.input_quantization(operator, position), read.output_quantization(operator)
    axis = len(read.output(operator).shape) - 1 if sums.op.name != "qnn.dense" else 1
    if bias is not None and read.has(operator, bias):
        values = read.constant(operator, bias)
        if values is None:
            raise read.error(operator, "has a bias that the network computes; only constant ones are supported")
        read.check_bias(operator, bias)
        sums = relay.nn.bias_add(sums, relay.const(values), axis=axis)
    scale = inputs.scale * weights.scales
    result = relay.qnn.op.requantize(
        sums,
        relay.const(scale if scale.size > 1 else scale[0]),
        relay.const(0, "int32"),
        relay.const(output.scale),
        relay.const(output.zero_point, "int32"),
        axis=axis,
        out_dtype=output.dtype,
    )
    return _clipped(read, operator, result, activation, output)


def _clipped(
    read: TfliteReader, operator: FileOperator, result: relay.Expr, activation: int, output: QuantizedType
) -> relay.Expr:
    if activation == tflite.ActivationFunctionType.NONE:
        return result
    return relay.clip(result, *integers.clip_of(read, operator, activation, output))


def _activations_product(
    read: TfliteReader, operator: FileOperator, x: relay.Expr, y: relay.Expr, activation: int, bias: int | None = None
) -> relay.Expr:
    """The rows of x times the rows of y, both activations, (batches, rows, depth) or (rows, depth)."""
    first, second = read.input_quantization(operator), read.input_quantization(operator, 1)
    output = read.output_quantization(operator)
    flat = bias is not None
    if flat:
        x, y = relay.expand_dims(x, 0), relay.expand_dims(y, 0)
    if bias is None or not read.has(operator, bias):
        zeros = (relay.const(values.zero_point, "int32") for values in (first, second))
        scales = relay.const(first.scale), relay.const(second.scale)
        product = relay.qnn.op.batch_matmul(x, y, *zeros, *scales)
        result = relay.qnn.op.requantize(
            product,
            relay.const(first.scale * second.scale),
            relay.const(0, "int32"),
            relay.const(output.scale),
            relay.const(output.zero_point, "int32"),
            axis=2,
            out_dtype=output.dtype,
        )
        result = _clipped(read, operator, result, activation, output)
        return relay.reshape(result, read.output(operator).shape) if flat else result
    read.check_bias(operator, bias)
    left, right = (
        relay.subtract(relay.cast(operand, "int32"), relay.const(values.zero_point, "int32"))
        for operand, values in ((x, first), (y, second))
    )
    sums = relay.squeeze(relay.nn.batch_matmul(left, right, out_dtype="int32"), [0])
    sums = relay.add(sums, read.expr(operator, bias))
    factor = np.float64(first.scale) * np.float64(second.scale) / np.float64(output.scale)
    clip = integers.clip_of(read, operator, activation, output)
    result = integers.narrowed(integers.scaled(integers.wide(sums), factor), output, clip)
    return relay.reshape(result, read.output(operator).shape)


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "CONV_2D": conv2d,
        "DEPTHWISE_CONV_2D": depthwise_conv2d,
        "TRANSPOSE_CONV": transpose_conv,
        "FULLY_CONNECTED": fully_connected,
        "BATCH_MATMUL": batch_matmul,
    }
