"""Convolutions and products with constant weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from match.arithmetic import real_numbers
from match.arithmetic.biases import LARGEST_INPUT, fraction_bits
from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.onnxruntime import OnnxruntimeArithmetic, counts_in_steps
from match.graph.constants import reshaped_constant
from match.graph.make import array_of, reshaped
from match.graph.moves import Move
from match.graph.opaque import Constant
from match.graph.real_functions import is_function
from match.graph.reals import Levels, RealConvolution, RealProduct, RealTransposed
from match.graph.sums import Weights
from match.graph.value import Value
from match.ir.dtypes import value_range
from match.quantized.layers import Filters, Sums, convolution_sums, dense_sums, transposed_sums
from match.quantized.scaled import scaled
from match.rewrites.quantized_groups.quantities import Dequantized, dequantized

_NARROW = "int8", "uint8"
_INT32 = 2.0**31
_EXACT_IN_FLOAT32 = 1 << 24
"""All integers below are float32 numbers."""


def layer(real: Value, output: QuantizedType, clip: tuple[int, int]) -> Value | None:
    """The outputs of a convolution or a product of rows, maybe in another shape, in 8 bits; None for other weights."""
    if isinstance(real.operator, Move) and real.operator.keeps_order:
        rows = layer(real.inputs[0], output, clip)
        return None if rows is None else reshaped(rows, real.shape)
    found = integer_layer(real)
    if found is None:
        return None
    bias, scales = found.bias, found.scales
    exact = real.exact and bias.exact
    exact = exact or (not bias.bits and _rounds_nothing(found, output))
    accumulator = found.sums.accumulator(found.inputs.quantization, scales, bias.integers, bias.bits)
    arithmetic = OnnxruntimeArithmetic() if exact else real_numbers
    return scaled(found.sums, accumulator, output, clip, arithmetic, exact=exact)


@dataclass(frozen=True, eq=False)
class Bias:
    """A bias: int64 of shape (channels,), in units of ``2**-bits`` of a sum.

    exact: the reference adds it to the sums in integers. whole: it is just the numbers that the model has.
    """

    integers: npt.NDArray[np.int64]
    bits: int
    exact: bool
    whole: bool


@dataclass(frozen=True, eq=False)
class IntegerLayer:
    """A layer on integers of 8 bits.

    sums: its int32 sums. inputs: what these are of. scales: of its weights, one or one for each channel.
    kernel: its weights, zero points taken off, channels along `axis`. by_output: those of each output, (channels, ...).
    """

    sums: Sums
    inputs: Dequantized
    scales: Float32Array
    kernel: npt.NDArray[np.int64]
    axis: int
    by_output: npt.NDArray[np.int64]
    bias: Bias

    @property
    def steps(self) -> Float32Array:
        """What a sum of 1 stands for, one number or one for each channel."""
        return np.float32(self.inputs.quantization.scale) * self.scales


def integer_layer(real: Value) -> IntegerLayer | None:
    """A layer with constant weights of 8 bits as one on integers; None for others, and if int32 lacks its bias."""
    x, weights, *biases = real.inputs
    source, own = dequantized(x), weights.operator
    if source is None or not isinstance(own, Levels) or own.levels.dtype.name not in _NARROW or not x.inputs:
        return None
    axis = 0 if isinstance(real.operator, RealConvolution) else 1
    if own.scales.size > 1 and own.axis != axis:
        return None
    kernel = own.levels.astype(np.int64) - own.along(own.zero_points)
    scales, by_output = own.scales, np.moveaxis(kernel, axis, 0).reshape(kernel.shape[axis], -1)
    if isinstance(real.operator, RealTransposed):
        scales, by_output = _of_groups(real.operator, kernel, scales)
    bias = _bias(biases[0] if biases else None, np.float32(source.quantization.scale) * scales, by_output)
    if bias is None:
        return None
    return IntegerLayer(sums_of(real, source, kernel), source, scales, kernel, axis, by_output, bias)


def biased_layer(real: Value) -> Value | None:
    """A layer to which a constant is added, one number for each output, as one operator; else None."""
    if not is_function(real, "add"):
        return None
    for product, bias in (real.inputs, real.inputs[::-1]):
        rows = product
        while isinstance(rows.operator, Move) and rows.operator.keeps_order:
            (rows,) = rows.inputs
        plain = isinstance(rows.operator, RealConvolution | RealTransposed | RealProduct) and len(rows.inputs) == 2
        known = isinstance(bias.operator, Constant | Levels) and _is_by_output(bias.shape, rows.shape[-1])
        if plain and known and product.shape == real.shape and product.shape[-1:] == rows.shape[-1:]:
            flat = reshaped_constant(bias, rows.shape[-1:])
            return reshaped(replace(rows, inputs=(*rows.inputs, flat)), real.shape)
    return None


def _is_by_output(shape: tuple[int, ...], outputs: int) -> bool:
    """Whether a constant of a shape has one number for each output, along the last axis."""
    return shape[-1:] == (outputs,) and math.prod(shape) == outputs


def _of_groups(
    operator: RealTransposed, kernel: npt.NDArray[np.int64], scales: Float32Array
) -> tuple[Float32Array, npt.NDArray[np.int64]]:
    """The scales of a transposed convolution's filters and the weights of each output.

    Filters have the outputs of one group, whose scales all groups share.
    """
    groups, outputs = operator.groups, kernel.shape[1]
    by_group = kernel.reshape(groups, -1, *kernel.shape[1:])  # (groups, C / groups, K / groups, FY, FX)
    by_output = np.moveaxis(by_group, 2, 1).reshape(groups * outputs, -1)
    return np.tile(scales, groups) if scales.size > 1 else scales, by_output


def sums_of(real: Value, x: Dequantized, weights: npt.NDArray[np.int64]) -> Sums:
    """The int32 sums of a layer with other weights, from which zero points are taken off."""
    operator, kernel = real.operator, _narrow(weights)
    if isinstance(operator, RealTransposed):
        before, zero_point = (operator.padding.top, operator.padding.left), x.quantization.zero_point
        hwio = kernel.transpose(2, 3, 0, 1)
        return transposed_sums(x.value, hwio, operator.strides, before, real.shape, zero_point, operator.groups)
    if not isinstance(operator, RealConvolution):
        sums = dense_sums(reshaped(x.value, (-1, x.value.shape[-1])), np.ascontiguousarray(kernel.T))
        return sums if len(real.shape) == 2 else replace(sums, shape=real.shape)
    groups = operator.groups
    depthwise = 1 < groups == x.value.shape[3]
    turned = kernel.transpose((2, 3, 0, 1) if depthwise else (2, 3, 1, 0))
    filters = Filters(
        kernel=turned.reshape(*turned.shape[:2], groups, -1) if depthwise else turned,
        layout="HWOI" if depthwise else "HWIO",
        strides=operator.strides,
        padding=operator.padding,
        dilation=operator.dilation,
        groups=groups,
    )
    return convolution_sums(x.value, filters, x.quantization.zero_point)


def _narrow(kernel: npt.NDArray[np.int64]) -> Weights:
    """Weights as int8 where all fit (as uint8 weights around 128 do), else as int16."""
    low, high = value_range("int8")
    fits = low <= kernel.min() and kernel.max() <= high
    return kernel.astype(np.int8) if fits else kernel.astype(np.int16)


def _bias(bias: Value | None, steps: Float32Array, by_output: npt.NDArray[np.int64]) -> Bias | None:
    """The bias of sums with these steps; None if int32 does not hold it.

    Real numbers are rounded to whole steps, as onnxruntime does. Integers with a scale or zero point of their own are
    not: onnxruntime computes their layer in floating point.
    """
    channels = len(by_output)
    if bias is None:
        return Bias(np.zeros(channels, np.int64), 0, True, True)
    own = bias.operator
    if not isinstance(own, Levels):
        numbers = array_of(bias)
        if numbers is None or numbers.size != channels:
            return None
        whole = np.rint(numbers.reshape(-1) / steps)
        same = np.array_equal(whole.astype(np.int64) * steps, numbers.reshape(-1))
        return Bias(whole.astype(np.int64), 0, True, same) if np.all(np.abs(whole) < _INT32) else None
    if own.levels.size != channels:
        return None
    if own.levels.dtype == np.int32 and counts_in_steps(own.scales, own.zero_points, steps):
        integers = own.levels.reshape(-1).astype(np.int64)
        return Bias(integers, 0, True, np.array_equal(integers * steps, own.compute().reshape(-1)))
    offset = own.compute().reshape(-1).astype(np.float64) / steps
    reach = LARGEST_INPUT * np.abs(by_output).sum(axis=1).max()
    bits = fraction_bits(float((reach + np.abs(offset)).max()))
    if bits is None:
        return None
    whole = np.array_equal(offset, np.rint(offset))
    bits = 0 if whole else bits
    return Bias(np.rint(np.ldexp(offset, bits)).astype(np.int64), bits, False, whole)


def _rounds_nothing(layer: IntegerLayer, output: QuantizedType) -> bool:
    """Whether float32 has room for all sums of a layer, in any order, and no scale rounds them.

    Then a reference that computes in floating point rounds nothing but the outputs. All scales are powers of two, and
    the bias is a multiple of the sums' step.
    """
    inputs, bias = layer.inputs.quantization, layer.bias
    if np.any(np.frexp([inputs.scale, output.scale, *layer.scales.flat])[0] != 0.5) or not bias.whole:
        return False
    reach = np.abs(layer.by_output).sum(axis=1).max()
    largest = max(abs(int(end) - inputs.zero_point) for end in (inputs.levels[0], inputs.levels[-1]))
    return bool(reach * largest + np.abs(bias.integers).max(initial=0) < _EXACT_IN_FLOAT32)
