"""QUANTIZE and DEQUANTIZE: between real numbers and integers, and between integers."""

from __future__ import annotations

import numpy as np

from match.arithmetic.tflite import multiply
from match.frontend.tflite import integers, tables
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import Handlers, TfliteReader
from match.frontend.tflite.real import real_numbers
from match.frontend.tflite.reals import dequantized, quantized
from match.ir.dtypes import value_range
from match.relay import relay


def quantize(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """QUANTIZE: of real numbers, or a change of scale; one that changes nothing is left out."""
    x, output = read.tensor(operator), read.quantization(operator, read.output(operator))
    if operator.inputs[0] in read.reals and output.dtype in ("int8", "uint8"):
        return quantized(read.reals[operator.inputs[0]], output)
    if x.dtype == "float32":
        scale, zero_point = relay.const(output.scale), relay.const(output.zero_point, "int32")
        return relay.qnn.op.quantize(read.expr(operator), scale, zero_point, out_dtype=output.dtype)
    inputs = read.quantization(operator, x)
    if inputs == output:
        return read.expr(operator)
    factor = np.float64(inputs.scale) / np.float64(output.scale)
    if inputs.dtype in ("int8", "uint8"):
        outputs = multiply(inputs.levels - inputs.zero_point, factor) + output.zero_point
        table = np.clip(outputs, *value_range(output.dtype)).astype(output.dtype)
        return tables.lookup(read.expr(operator), table, inputs)
    if inputs.dtype == output.dtype == "int16" and not (inputs.zero_point or output.zero_point):
        return integers.requantized(relay.cast(read.expr(operator), "int32"), factor, value_range("int16"))
    wide = integers.wide(read.expr(operator), inputs.zero_point)
    return integers.narrowed(integers.scaled(wide, factor), output)


def dequantize(read: TfliteReader, operator: FileOperator) -> relay.Expr:
    """DEQUANTIZE; of an 8-bit tensor it is also known value by value."""
    inputs = read.quantization(operator, read.tensor(operator))
    if inputs.dtype in ("int8", "uint8"):
        number = operator.inputs[0]
        if number not in read.sources:
            read.sources[number] = dequantized(read.expr(operator), inputs)
        read.reals[operator.outputs[0]] = real_numbers(read.sources[number])
    return relay.qnn.op.dequantize(
        read.expr(operator), relay.const(inputs.scale), relay.const(inputs.zero_point, "int32")
    )


def handlers() -> Handlers:
    """Readers of operators, by their names in TFLite's schema."""
    return {
        "QUANTIZE": quantize,
        "DEQUANTIZE": dequantize,
    }
