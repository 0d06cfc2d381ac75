"""SOFTMAX and LOG_SOFTMAX, in fixed point or of real numbers in float32."""

from __future__ import annotations

import numpy as np
import tflite

from match.arithmetic import tflite_functions
from match.arithmetic.fixed_point import shifted_right
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.graph.elements import Dequantize, Quantize
from match.graph.fixed_point import LogarithmOfSoftmax
from match.graph.make import arithmetic, constant
from match.graph.rows import LONGEST_ROW, RealSoftmax, Softmax
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.ir.float_border import FloatQuantization


def softmax(read: TfliteReader, operator: FileOperator) -> Value:
    """SOFTMAX along the last axis, in steps of 1/256 or in float32."""
    beta = np.float32(operator.options(tflite.SoftmaxOptions).Beta())
    if not 0 < beta < np.inf:
        raise read.error(operator, f"has a Beta of {beta}; it must be positive")
    x = read.value(operator)
    if x.dtype == "float32":
        return _of_real_numbers(x, beta)
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    if (output.scale, output.zero_point) != (np.float32(1 / 256), value_range(output.dtype)[0]):
        raise read.error(
            operator,
            "has an output with another quantization than the kernel's (scale 1/256, lowest zero point)",
        )
    if x.shape[-1] > LONGEST_ROW:  # in floating point, since integers of 32 bits do not hold the sums of all rows
        scores = computed(Dequantize(scale=inputs.scale, zero_point=inputs.zero_point), x)
        function = FloatQuantization(output.scale, output.zero_point, output.dtype, half_to_even=False)
        return computed(Quantize(function=function), _of_real_numbers(scores, beta))
    exponentials = tflite_functions.exponentials(inputs.scale, beta)
    return computed(Softmax(exponentials=exponentials, zero=output.zero_point, scale=None, dtype=output.dtype), x)


def _of_real_numbers(scores: Value, beta: np.float32) -> Value:
    scaled = scores if beta == 1 else arithmetic("multiply", scores, constant(beta), dtype="float32")
    return computed(RealSoftmax(), scaled, exact=False)


_SUM_BITS = 12
"""Integer bits of a row's sum."""


def log_softmax(read: TfliteReader, operator: FileOperator) -> Value:
    """LOG_SOFTMAX along the last axis, in steps of 1/16 or in float32."""
    x = read.value(operator)
    if x.dtype == "float32":
        return computed(RealSoftmax(logarithm=True), x, exact=False)
    inputs, output = read.input_quantization(operator), read.output_quantization(operator)
    highest = value_range(output.dtype)[1]
    if (output.scale, output.zero_point) != (np.float32(1 / 16), highest):
        raise read.error(
            operator, "has an output with another quantization than the kernel's (scale 1/16, highest zero point)"
        )
    if x.shape[-1] > LONGEST_ROW:
        raise read.error(operator, f"has rows of {x.shape[-1]} elements; integer kernels hold sums of {LONGEST_ROW}")
    distances, inside = tflite_functions.scaled_distances(inputs.scale, np.float32(1))
    logarithm = LogarithmOfSoftmax(
        exponentials=shifted_right(tflite_functions.exponentials(inputs.scale, np.float32(1)), _SUM_BITS),
        distances=distances,
        least=-int(inside.sum()),
        divisor=integers.scale(tflite_functions.distance_divisor(inputs.scale)),
        dtype=output.dtype,
    )
    return computed(logarithm, x)


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "SOFTMAX": softmax,
        "LOG_SOFTMAX": log_softmax,
    }
