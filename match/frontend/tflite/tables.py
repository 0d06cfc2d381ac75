"""Functions of one tensor of 8 bits: tables of what TFLite Micro's kernels compute for each of the 256 values."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import tflite

from match.arithmetic import tflite_functions
from match.arithmetic.fixed_point import inverse_square_root
from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.tflite import multiply, multiply_by, quantize_multiplier
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import Handler, Handlers, TfliteReader
from match.graph.elements import ChannelLookup
from match.graph.fixed_point import Prelu
from match.graph.integers import Clip
from match.graph.make import lookup
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array

_RSQRT_SHIFT = 20


def _table(
    read: TfliteReader,
    operator: FileOperator,
    function: Callable[[Int64Array, QuantizedType, QuantizedType], Int64Array],
) -> Value:
    """The table of a function of the values less their zero point, to outputs less theirs."""
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    outputs = function(inputs.levels - inputs.zero_point, inputs, output) + output.zero_point
    return lookup(read.value(operator), _saturated(outputs, output))


def _saturated(outputs: Int64Array, output: QuantizedType) -> npt.NDArray[np.number]:
    return np.clip(outputs, *value_range(output.dtype)).astype(output.dtype)


def fixed_point(
    function: Callable[[QuantizedType, QuantizedType], Int64Array | None], demand: str
) -> Callable[[TfliteReader, FileOperator], Value]:
    """A reader of LOGISTIC, TANH or HARD_SWISH, which demand something of their output's quantization."""

    def handler(read: TfliteReader, operator: FileOperator) -> Value:
        inputs, output = read.input_quantization(operator), read.output_quantization(operator)
        outputs = function(inputs, output)
        if outputs is None:
            raise read.error(operator, f"has an output with another quantization than the kernel's ({demand})")
        return lookup(read.value(operator), outputs.astype(output.dtype))

    return handler


logistic = fixed_point(tflite_functions.logistic, "scale 1/256 and the type's lowest zero point")
tanh = fixed_point(tflite_functions.tanh, "scale 1/128 and the zero point in the middle")
hard_swish = fixed_point(tflite_functions.hard_swish, "a scale not much finer than the input's")


def relu(read: TfliteReader, operator: FileOperator) -> Value:
    """RELU: a clip where the scale stays, else a change of scale."""
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    if inputs == output:
        limits = max(inputs.zero_point, value_range(inputs.dtype)[0]), _largest(inputs)
        return computed(Clip(limits=limits, dtype=inputs.dtype), read.value(operator))
    return _table(read, operator, lambda x, a, b: np.maximum(multiply(x, _ratio(a, b)), 0))


def relu6(read: TfliteReader, operator: FileOperator) -> Value:
    """RELU6, which does not change the scale: whatever the output's is, values are clipped in the input's."""
    inputs = read.input_quantization(operator)
    limits = integers.clip_of(read, operator, tflite.ActivationFunctionType.RELU6, inputs)
    return computed(Clip(limits=limits, dtype=inputs.dtype), read.value(operator))


def bounded(lowest: float, highest: float) -> Handler:
    """RELU_0_TO_1 and RELU_N1_TO_1, which TFLite clips in the output's scale. TFLite Micro has no kernels of them."""

    def handler(read: TfliteReader, operator: FileOperator) -> Value:
        def function(x: Int64Array, inputs: QuantizedType, output: QuantizedType) -> Int64Array:
            low, high = (each - output.zero_point for each in integers.levels_between(lowest, highest, output))
            return np.clip(multiply(x, _ratio(inputs, output)), low, high)

        return _table(read, operator, function)

    return handler


def _largest(values: QuantizedType) -> int:
    return value_range(values.dtype)[1]


def _ratio(inputs: QuantizedType, output: QuantizedType) -> np.float64:
    return np.float64(inputs.scale) / np.float64(output.scale)


def leaky_relu(read: TfliteReader, operator: FileOperator) -> Value:
    """LEAKY_RELU."""
    alpha = integers.slope_below_zero(read, operator)

    def function(x: Int64Array, inputs: QuantizedType, output: QuantizedType) -> Int64Array:
        slope = np.float64(inputs.scale) * np.float64(alpha) / np.float64(output.scale)
        below = np.sign(slope).astype(np.int64) * multiply(x, np.abs(slope))
        return np.where(x >= 0, multiply(x, _ratio(inputs, output)), below)

    return _table(read, operator, function)


def prelu(read: TfliteReader, operator: FileOperator) -> Value:
    """PRELU: a table for one slope, or for each channel's, else arithmetic."""
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    slopes = read.quantization(operator, read.tensor(operator, 1))
    identity = _ratio(inputs, output)
    factor = np.float64(inputs.scale) * np.float64(slopes.scale) / np.float64(output.scale)
    alpha = read.constant(operator, 1)
    channels = read.tensor(operator).shape[-1]
    if alpha is not None and alpha.size in (1, alpha.shape[-1]) and alpha.size in (1, channels):
        slope = alpha.reshape(-1, 1).astype(np.int64) - slopes.zero_point
        levels = inputs.levels - inputs.zero_point
        relative = np.where(levels >= 0, multiply(levels, identity), multiply(levels * slope, factor))
        outputs = _saturated(relative + output.zero_point, output)
        if alpha.size == 1:
            return lookup(read.value(operator), outputs[0])
        return computed(ChannelLookup(outputs=outputs.astype(np.int64), dtype=output.dtype), read.value(operator))
    function = Prelu(
        zero_points=(inputs.zero_point, slopes.zero_point),
        above=integers.scale(identity),
        below=integers.scale(factor),
        zero=output.zero_point,
        clip=value_range(output.dtype),
        dtype=output.dtype,
    )
    return computed(function, read.value(operator), read.value(operator, 1))


def absolute(read: TfliteReader, operator: FileOperator) -> Value:
    """ABS."""
    return _table(read, operator, lambda x, a, b: multiply(np.abs(x), _ratio(a, b)))


def inverse_root(read: TfliteReader, operator: FileOperator) -> Value:
    """RSQRT: the largest output for 0; below that TFLite Micro stops, and so the value does not matter."""
    return _table(read, operator, inverse_roots)


def inverse_roots(x: Int64Array, inputs: QuantizedType, output: QuantizedType) -> Int64Array:
    """What RSQRT makes of integers less their zero point, also less that of the output."""
    factor = np.float64(1) / np.float64(np.sqrt(inputs.scale) * output.scale)
    mantissa, exponent = quantize_multiplier(factor)
    roots, shifts = inverse_square_root(np.maximum(x, 1))
    fine = multiply_by(np.ones_like(x), roots, _RSQRT_SHIFT - shifts)
    outputs = multiply_by(fine, mantissa, exponent - _RSQRT_SHIFT)
    return np.where(x > 0, outputs, _largest(output) - output.zero_point)


def real(function: Callable[[Float32Array], Float32Array]) -> Callable[[TfliteReader, FileOperator], Value]:
    """A reader of a function that the kernel tabulates in float32, as ELU's does: times one over the output's scale."""

    def of(x: Int64Array, inputs: QuantizedType, output: QuantizedType) -> Int64Array:
        values = function(inputs.scale * x.astype(np.float32))
        wide = (values * (np.float32(1) / output.scale)).astype(np.float64)
        rounded = np.copysign(np.floor(np.abs(wide) + 0.5), wide)
        return np.nan_to_num(np.clip(rounded, -(2**30), 2**30)).astype(np.int64)

    def handler(read: TfliteReader, operator: FileOperator) -> Value:
        return _table(read, operator, of)

    return handler


def _elu(x: Float32Array) -> Float32Array:
    return np.where(x < 0, _exp(np.minimum(x, np.float32(0))) - np.float32(1), x)


def _exp(x: Float32Array) -> Float32Array:
    """The exponential, correctly rounded to float32."""
    return np.exp(x.astype(np.float64)).astype(np.float32)


def _log(x: Float32Array) -> Float32Array:
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(x, 0).astype(np.float64)).astype(np.float32)


def gelu(read: TfliteReader, operator: FileOperator) -> Value:
    """GELU, by the error function or by the hyperbolic tangent."""
    return real(gaussian_error_unit(operator))(read, operator)


def gaussian_error_unit(operator: FileOperator) -> Callable[[Float32Array], Float32Array]:
    """The function of a GELU operator."""
    approximate = bool(operator.options(tflite.GeluOptions).Approximate())

    def function(x: Float32Array) -> Float32Array:
        wide = x.astype(np.float64)
        if approximate:
            gate = np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))
        else:
            gate = np.array([math.erf(value / math.sqrt(2)) for value in wide.reshape(-1)]).reshape(wide.shape)
        return (0.5 * wide * (1 + gate)).astype(np.float32)

    return function


elu = real(_elu)
logarithm = real(_log)
exponential = real(_exp)
negative = real(np.negative)


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "LOGISTIC": logistic,
        "TANH": tanh,
        "HARD_SWISH": hard_swish,
        "RELU": relu,
        "RELU6": relu6,
        "RELU_0_TO_1": bounded(0, 1),
        "RELU_N1_TO_1": bounded(-1, 1),
        "LEAKY_RELU": leaky_relu,
        "PRELU": prelu,
        "ELU": elu,
        "ABS": absolute,
        "RSQRT": inverse_root,
        "EXP": exponential,
        "NEG": negative,
        "LOG": logarithm,
        "GELU": gelu,
    }
