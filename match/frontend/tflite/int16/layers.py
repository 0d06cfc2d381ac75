"""Layers with weights of 8 bits on activations of 16 bits, and products of two activations of 16 bits.

A sum is multiplied by a number of 15 bits, shifted, and rounded once. A layer whose bias has 32 bits scales its sums as
an 8-bit layer does: it multiplies by a number of 31 bits and rounds twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import tflite

from match.arithmetic.tflite import quantize_multiplier, reduced_multiplier, scaling
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.int16.quantization import LEAST_UNSCALED, of_input, of_output
from match.frontend.tflite.layers import Filters, Weights, constant_weights, depthwise_filters_of, filters_of, matrices
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.frontend.tflite.windows import axes_of
from match.ir.dtypes import value_range
from match.ir.layer import Padding
from match.ir.requantization import Requantization
from match.relay import integer_form, relay
from match.relay.convolution_phases import Phases, phases_of

_LARGEST = 1 << 15
"""The largest magnitude of an activation."""

_WORD, _MULTIPLIER_BITS = 32, 15


def conv2d(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """CONV_2D, also in groups."""
    options = operator.options(tflite.Conv2DOptions)
    single = options.QuantizedBiasType() == tflite.TensorType.INT32
    filters = filters_of(read, operator)
    return _convolved(read, operator, filters, options.FusedActivationFunction(), ("int64", "int32"), single=single)


def depthwise_conv2d(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """DEPTHWISE_CONV_2D."""
    options = operator.options(tflite.DepthwiseConv2DOptions)
    filters = depthwise_filters_of(read, operator)
    return _convolved(read, operator, filters, options.FusedActivationFunction(), ("int64",))


def _convolved(
    read: TfliteReader,
    operator: FileOperator,
    filters: Filters,
    activation: int,
    biases: Sequence[str],
    *,
    single: bool = False,
) -> relay.Expr:
    """The map and filters convolved; `single` says that without a bias sums have 32 bits."""
    rows, columns = filters.window
    sums = integer_form.convolution(
        read.expr(operator),
        np.ascontiguousarray(filters.kernel).astype(np.int16),
        x_dtype="int16",
        strides=(rows.stride, columns.stride),
        padding=Padding(rows.before, columns.before, rows.behind, columns.behind),
        dilation=(rows.dilation, columns.dilation),
        groups=filters.groups,
        kernel_layout=filters.layout,
        sums=_sums(filters.kernel.reshape(-1, filters.count)),
    )
    return _requantized(read, operator, sums, filters.weights, activation, 2, biases, single=single)


def transpose_conv(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """TRANSPOSE_CONV: a convolution whose outputs are laid out side by side."""
    options = operator.options(tflite.TransposeConvOptions)
    weights, given = constant_weights(read, operator, axis=0, position=1), read.tensor(operator, 2)
    batch, height, width, channels = read.output(operator).shape
    strides = options.StrideH(), options.StrideW()
    rows, columns = axes_of(read.output(operator).shape, weights.values.shape[1:3], strides, (1, 1), options.Padding())
    phases = phases_of(
        weights.values.transpose(1, 2, 3, 0), given.shape, (height, width), strides, (rows.before, columns.before)
    )
    sums = integer_form.convolution(
        phases.seen_of(read.expr(operator, 2), given.shape),
        phases.kernel.astype(np.int16),
        x_dtype="int16",
        padding=phases.padding,
        sums=_sums(phases.kernel.reshape(-1, np.prod(strides) * channels)),
    )
    activation, biases = options.FusedActivationFunction(), ("int64", "int16")
    result = _requantized(read, operator, sums, weights, activation, 3, biases, position=2, phases=phases)
    return phases.side_by_side(result, batch, channels)


def fully_connected(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """FULLY_CONNECTED."""
    options, output = operator.options(tflite.FullyConnectedOptions), read.output(operator)
    if options.WeightsFormat():
        raise read.error(
            operator, f"has the option WeightsFormat of {options.WeightsFormat()}, which cannot be compiled; only 0 can"
        )
    weights = constant_weights(read, operator, axis=0)
    read.check_symmetric(operator, read.tensor(operator, 1))
    x = relay.reshape(read.expr(operator), (-1, weights.values.shape[1]))
    sums = integer_form.product(x, weights.values.astype(np.int16), _sums(weights.values.T))
    single = options.QuantizedBiasType() == tflite.TensorType.INT32
    activation, biases = options.FusedActivationFunction(), ("int64", "int32")
    result = _requantized(read, operator, sums, weights, activation, 2, biases, single=single)
    return relay.reshape(result, output.shape)


def batch_matmul(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """BATCH_MATMUL of two activations."""
    options = operator.options(tflite.BatchMatMulOptions)
    first, second, output = of_input(read, operator), of_input(read, operator, 1), of_output(read, operator)
    shape = read.output(operator).shape
    x, y = (relay.cast(matrices(read, operator, position, shape), "int64") for position in (0, 1))
    if options.AdjX():
        x = relay.transpose(x, (0, 2, 1))
    if not options.AdjY():
        y = relay.transpose(y, (0, 2, 1))
    factor = np.float64(first.scale) * np.float64(second.scale) / np.float64(output.scale)
    sums = relay.nn.batch_matmul(x, y, out_dtype="int64")
    line = _line(read, operator, np.array([factor]), np.zeros(1, np.int64), value_range("int16"))
    return relay.reshape(integer_form.requantize(sums, line, "int16"), shape)


def _sums(weights: npt.NDArray[np.integer]) -> Literal["int32", "int64"]:
    """The type that holds all sums of activations times weights (products, outputs)."""
    largest = int(np.abs(weights.astype(np.int64)).sum(axis=0).max()) * _LARGEST
    return "int32" if largest < 1 << 31 else "int64"


def _requantized(
    read: TfliteReader,
    operator: FileOperator,
    sums: relay.Expr,
    weights: Weights,
    activation: int,
    bias: int,
    biases: Sequence[str],
    *,
    position: int = 0,
    single: bool = False,
    phases: Phases | None = None,
) -> relay.Expr:
    """Sums plus a bias, in the output's quantization, clipped to the fused activation.

    `bias` is the bias's place among the inputs, `biases` are the types that it may have. Where there are `phases`, sums
    are those of all of them.
    """
    inputs, output = of_input(read, operator, position), of_output(read, operator)
    clip = integers.clip_of(read, operator, activation, output)
    channels = read.output(operator).shape[-1]
    values = np.zeros(channels, np.int64)
    if read.has(operator, bias):
        given, kind = read.constant(operator, bias), read.tensor(operator, bias).dtype
        if given is None:
            raise read.error(operator, "has a bias that the network computes; only constant ones are supported")
        if kind not in biases:
            raise read.error(operator, f"has a bias of type {kind}; quantize it to {' or '.join(biases)}")
        values, single = given.astype(np.int64), kind == "int32"
    scales = np.broadcast_to(weights.scales.astype(np.float64), channels)
    factors = np.float64(inputs.scale) * scales / np.float64(output.scale)
    if phases is not None:
        factors, values = phases.repeated(factors), phases.repeated(values)
    narrow = str(sums.attrs.out_dtype) == "int32"
    if single and not narrow:
        total = relay.add(integers.wide(sums), integers.int64(values))
        return integers.narrowed(integers.scaled(total, factors), output, clip)
    if single:
        line = scaling(*quantize_multiplier(factors), values, clip)
    else:
        line = _line(read, operator, factors, values, clip)
        line = _by_words(line) if narrow else line
    return integer_form.requantize(sums, line, output.dtype)


def _line(
    read: TfliteReader,
    operator: FileOperator,
    factors: npt.NDArray[np.float64],
    biases: npt.NDArray[np.int64],
    clip: tuple[int, int],
) -> Requantization:
    """Sums plus biases, scaled and clipped, by channel."""
    multiplier, shift = reduced_multiplier(factors)
    if np.any(shift < 1):
        problem = f"scales sums by {factors.max():.3g}, and 16-bit kernels scale by less than {LEAST_UNSCALED}"
        raise read.error(operator, f"{problem}; quantize its output again")
    return Requantization(multiplier, biases * multiplier + (np.int64(1) << (shift - 1)), shift, clip)


def _by_words(line: Requantization) -> Requantization:
    """The same line for sums of 32 bits, with shifts of 32 and more where the multiplier then still has 32 bits.

    A machine of 32 bits computes the upper half of a product in one instruction, and such a shift needs no other half.
    The scaled bias fits 64 bits: before the clip an output has at most 32 bits.
    """
    more = np.clip(_WORD - line.shift, 0, _WORD - 1 - _MULTIPLIER_BITS)
    return replace(line, multiplier=line.multiplier << more, bias=line.bias << more, shift=line.shift + more)


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "CONV_2D": conv2d,
        "DEPTHWISE_CONV_2D": depthwise_conv2d,
        "TRANSPOSE_CONV": transpose_conv,
        "FULLY_CONNECTED": fully_connected,
        "BATCH_MATMUL": batch_matmul,
    }
