"""Layers with weights of 8 bits on activations of 16 bits, and products of two activations of 16 bits.

A sum is multiplied by a number of 15 bits, shifted, and rounded once. A layer whose bias has 32 bits scales its sums as
an 8-bit layer does: it multiplies by a number of 31 bits and rounds twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import tflite

from match.arithmetic.tflite import quantize_multiplier, reduced_multiplier, scaling
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.int16.quantization import LEAST_UNSCALED, of_input, of_output
from match.frontend.tflite.layers import (
    ScaledFilters,
    constant_weights,
    depthwise_filters_of,
    filters_of,
    operands,
    sums_of_phases,
)
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.graph.make import reshaped
from match.graph.pairs import Matrices
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.ir.requantization import Requantization
from match.quantized.layers import Sums, convolution_sums, dense_sums

_WORD, _MULTIPLIER_BITS = 32, 15


def conv2d(read: TfliteReader, operator: FileOperator) -> Value:
    """CONV_2D, also in groups."""
    options = operator.options(tflite.Conv2DOptions)
    single = options.QuantizedBiasType() == tflite.TensorType.INT32
    filters = filters_of(read, operator)
    return _convolved(read, operator, filters, options.FusedActivationFunction(), ("int64", "int32"), single=single)


def depthwise_conv2d(read: TfliteReader, operator: FileOperator) -> Value:
    """DEPTHWISE_CONV_2D."""
    options = operator.options(tflite.DepthwiseConv2DOptions)
    filters = depthwise_filters_of(read, operator)
    return _convolved(read, operator, filters, options.FusedActivationFunction(), ("int64",))


def _convolved(
    read: TfliteReader,
    operator: FileOperator,
    filters: ScaledFilters,
    activation: int,
    biases: Sequence[str],
    *,
    single: bool = False,
) -> Value:
    """The map and filters convolved; `single` says that without a bias sums have 32 bits."""
    sums = convolution_sums(read.value(operator), filters.filters, 0)
    return _requantized(read, operator, sums, filters.scales, activation, 2, biases, single=single)


def transpose_conv(read: TfliteReader, operator: FileOperator) -> Value:
    """TRANSPOSE_CONV: a convolution whose outputs are laid out side by side."""
    options = operator.options(tflite.TransposeConvOptions)
    weights = constant_weights(read, operator, axis=0, position=1)
    sums = sums_of_phases(read, operator, weights, 0)
    activation, biases = options.FusedActivationFunction(), ("int64", "int16")
    return _requantized(read, operator, sums, weights.scales, activation, 3, biases, position=2)


def fully_connected(read: TfliteReader, operator: FileOperator) -> Value:
    """FULLY_CONNECTED."""
    options, output = operator.options(tflite.FullyConnectedOptions), read.output(operator)
    if options.WeightsFormat():
        raise read.error(
            operator, f"has the option WeightsFormat of {options.WeightsFormat()}, which cannot be compiled; only 0 can"
        )
    weights = constant_weights(read, operator, axis=0)
    read.check_symmetric(operator, read.tensor(operator, 1))
    sums = dense_sums(reshaped(read.value(operator), (-1, weights.values.shape[1])), weights.without_zero_points)
    single = options.QuantizedBiasType() == tflite.TensorType.INT32
    activation, biases = options.FusedActivationFunction(), ("int64", "int32")
    result = _requantized(read, operator, sums, weights.scales, activation, 2, biases, single=single)
    return reshaped(result, output.shape)


def batch_matmul(read: TfliteReader, operator: FileOperator) -> Value:
    """BATCH_MATMUL of two activations."""
    first, second, output = of_input(read, operator), of_input(read, operator, 1), of_output(read, operator)
    factor = np.float64(first.scale) * np.float64(second.scale) / np.float64(output.scale)
    line = _line(read, operator, np.array([factor]), np.zeros(1, np.int64), value_range("int16"))
    matrices = Matrices(zero_points=(0, 0), requantization=line, dtype="int16")
    return reshaped(computed(matrices, *operands(read, operator)), read.output(operator).shape)


def _requantized(
    read: TfliteReader,
    operator: FileOperator,
    sums: Sums,
    scales: npt.NDArray[np.float32],
    activation: int,
    bias: int,
    biases: Sequence[str],
    *,
    position: int = 0,
    single: bool = False,
) -> Value:
    """Sums plus a bias, in the output's quantization, clipped to the fused activation.

    `bias` is the bias's place among the inputs, `biases` are the types that it may have.
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
    factors = np.float64(inputs.scale) * np.broadcast_to(scales.astype(np.float64), channels) / np.float64(output.scale)
    factors, values = sums.for_each(factors), sums.for_each(values)
    if single:
        line = scaling(*quantize_multiplier(factors), values, clip)
    else:
        line = _line(read, operator, factors, values, clip)
        line = line if sums.operator.has_wide_sums("int16") else _by_words(line)
    return sums.requantized(line, output.dtype)


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
