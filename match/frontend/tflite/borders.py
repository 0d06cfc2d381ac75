"""QUANTIZE and DEQUANTIZE: between real numbers and integers, and between integers."""

from __future__ import annotations

import numpy as np

from match.arithmetic.tflite import multiply
from match.frontend.tflite import integers
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.frontend.tflite.real import real_numbers
from match.frontend.tflite.reals import dequantized, quantized
from match.graph.elements import Dequantize, Quantize
from match.graph.make import lookup
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.ir.float_border import FloatQuantization


def quantize(read: TfliteReader, operator: FileOperator) -> Value:
    """QUANTIZE: of real numbers, or a change of scale; one that changes nothing is left out."""
    x, output = read.tensor(operator), read.quantization(operator, read.output(operator))
    if operator.inputs[0] in read.reals and output.dtype in ("int8", "uint8"):
        return quantized(read.reals[operator.inputs[0]], output)
    if x.dtype == "float32":
        function = FloatQuantization(output.scale, output.zero_point, output.dtype, half_to_even=False)
        return computed(Quantize(function=function), read.value(operator))
    inputs = read.quantization(operator, x)
    if inputs == output:
        return read.value(operator)
    factor = np.float64(inputs.scale) / np.float64(output.scale)
    if inputs.dtype in ("int8", "uint8"):
        outputs = multiply(inputs.levels - inputs.zero_point, factor) + output.zero_point
        return lookup(read.value(operator), np.clip(outputs, *value_range(output.dtype)).astype(output.dtype))
    if inputs.dtype == output.dtype == "int16" and not (inputs.zero_point or output.zero_point):
        return integers.requantized(read.value(operator), factor, value_range("int16"))
    return integers.rescaled(read.value(operator), inputs.zero_point, factor, output)


def dequantize(read: TfliteReader, operator: FileOperator) -> Value:
    """DEQUANTIZE; of an 8-bit tensor it is also known value by value."""
    inputs = read.quantization(operator, read.tensor(operator))
    if inputs.dtype in ("int8", "uint8"):
        number = operator.inputs[0]
        if number not in read.sources:
            read.sources[number] = dequantized(read.value(operator), inputs)
        read.reals[operator.outputs[0]] = real_numbers(read.sources[number])
    return computed(Dequantize(scale=inputs.scale, zero_point=inputs.zero_point), read.value(operator))


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "QUANTIZE": quantize,
        "DEQUANTIZE": dequantize,
    }
