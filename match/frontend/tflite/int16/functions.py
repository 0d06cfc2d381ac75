"""Functions of one tensor of 16 bits, and SOFTMAX of rows."""

from __future__ import annotations

import numpy as np
import tflite

from match.arithmetic.tflite import quantize_multiplier
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.int16.quantization import of_input, of_output, ratio
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.frontend.tflite.tables import inverse_roots
from match.graph.elements import Function, Gate, LeakyRelu
from match.graph.fixed_point import Prelu
from match.graph.integers import Entries
from match.graph.make import arithmetic, cast
from match.graph.recurrent import FUNCTION_POWER, GATE_POWER
from match.graph.rows import Softmax16
from match.graph.value import Value, computed
from match.ir.dtypes import value_range

_MOST_DOUBLINGS = 31
"""How often TFLite Micro doubles the factor of a gate's input at most."""


def logistic(read: TfliteReader, operator: FileOperator) -> Value:
    """LOGISTIC."""
    return _gate(read, operator, "logistic", 0)


def tanh(read: TfliteReader, operator: FileOperator) -> Value:
    """TANH."""
    return _gate(read, operator, "tanh", 1)


def _gate(read: TfliteReader, operator: FileOperator, function: Function, most: int) -> Value:
    """A function interpolated in a table.

    The factor to the table's steps has 15 bits. TFLite Micro takes scales near 2**-12, and up to 2**(most - 12), for
    these powers.
    """
    scale = of_input(read, operator).scale
    _check_scale(read, operator)
    x, power = read.value(operator), _power_near(scale)
    if power is not None and 0 <= power - GATE_POWER <= most:
        return computed(Gate(function=function, multiplier=3 << (power - GATE_POWER), shift=0), x)
    factor, doublings = float(scale) * 4096.0 * 3.0, 0
    while factor <= 32767 / 2 and doublings < _MOST_DOUBLINGS:
        factor, doublings = 2 * factor, doublings + 1
    if factor >= 1 << 15:
        raise read.error(
            operator, f"has an input with the scale {scale}, too large for TFLite Micro's table; quantize it again"
        )
    return computed(Gate(function=function, multiplier=int(factor), shift=doublings), x)


def _power_near(scale: np.float32) -> int | None:
    """The exponent of the power of two that a scale is within 0.07 % of, if there is one."""
    power = np.log2(scale)
    return int(np.rint(power)) if abs(power - np.rint(power)) < 1e-3 else None


def _check_scale(read: TfliteReader, operator: FileOperator) -> None:
    if _power_near(of_output(read, operator).scale) != FUNCTION_POWER:
        raise read.error(
            operator, "has an output with another quantization than the kernel's (scale 1/32768); quantize it again"
        )


def softmax(read: TfliteReader, operator: FileOperator) -> Value:
    """SOFTMAX along the last axis: exponentials and the reciprocal of their sum are interpolated in tables."""
    beta = np.float32(operator.options(tflite.SoftmaxOptions).Beta())
    if not 0 < beta < np.inf:
        raise read.error(operator, f"has a Beta of {beta}; it must be positive")
    _check_scale(read, operator)
    factor = np.float64(of_input(read, operator).scale) * np.float64(beta) / (10.0 / 65535.0)
    mantissa, exponent = quantize_multiplier(factor)
    return computed(Softmax16(mantissa=int(mantissa), exponent=int(exponent)), read.value(operator))


def relu(read: TfliteReader, operator: FileOperator) -> Value:
    """RELU: a change of scale."""
    return integers.requantized(read.value(operator), ratio(read, operator), (0, value_range("int16")[1]))


def relu6(read: TfliteReader, operator: FileOperator) -> Value:
    """RELU6, which does not change the scale: whatever the output's is, values are clipped in the input's."""
    inputs = of_input(read, operator)
    clip = integers.clip_of(read, operator, tflite.ActivationFunctionType.RELU6, inputs)
    return integers.clipped(read.value(operator), clip)


def leaky_relu(read: TfliteReader, operator: FileOperator) -> Value:
    """LEAKY_RELU."""
    alpha = integers.slope_below_zero(read, operator)
    inputs, output, x = of_input(read, operator), of_output(read, operator), read.value(operator)
    slope = np.float64(inputs.scale) * np.float64(alpha) / np.float64(output.scale)
    scales = quantize_multiplier([ratio(read, operator), abs(slope)])
    return computed(LeakyRelu(scales=np.stack(scales, axis=1), falls=bool(slope < 0)), x)


def prelu(read: TfliteReader, operator: FileOperator) -> Value:
    """PRELU, with slopes of int8."""
    slopes, output = read.tensor(operator, 1), of_output(read, operator)
    if slopes.dtype != "int8":
        raise read.error(operator, f"has slopes of type {slopes.dtype}; quantize them to int8")
    inputs, of_slopes = of_input(read, operator), read.quantization(operator, slopes)
    factor = np.float64(inputs.scale) * np.float64(of_slopes.scale) / np.float64(output.scale)
    function = Prelu(
        zero_points=(0, of_slopes.zero_point),
        above=integers.scale(ratio(read, operator)),
        below=integers.scale(factor),
        zero=0,
        clip=value_range(output.dtype),
        dtype=output.dtype,
    )
    return computed(function, read.value(operator), read.value(operator, 1))


def absolute(read: TfliteReader, operator: FileOperator) -> Value:
    """ABS."""
    output = of_output(read, operator)
    magnitudes = arithmetic("abs", cast(read.value(operator), "int32"))
    alike = of_input(read, operator).scale == output.scale
    return integers.rescaled(magnitudes, 0, np.float64(1) if alike else ratio(read, operator), output)


def inverse_root(read: TfliteReader, operator: FileOperator) -> Value:
    """RSQRT, a table of the numbers from 0 on: TFLite Micro stops at one below."""
    output = of_output(read, operator)
    least, most = value_range(output.dtype)
    outputs = inverse_roots(np.arange(most + 1, dtype=np.int64), of_input(read, operator), output).clip(least, most)
    return computed(Entries(table=outputs.astype(output.dtype)), cast(read.value(operator), "int32"))


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "LOGISTIC": logistic,
        "TANH": tanh,
        "SOFTMAX": softmax,
        "RELU": relu,
        "RELU6": relu6,
        "LEAKY_RELU": leaky_relu,
        "PRELU": prelu,
        "ABS": absolute,
        "RSQRT": inverse_root,
    }
