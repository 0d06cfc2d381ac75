"""Scales of 16-bit tensors."""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.frontend.tflite.file import FileOperator, FileTensor
from match.frontend.tflite.reader import TfliteReader

LEAST_UNSCALED = 1 << 14
"""Factors of sums from here on are none of 16-bit kernels (`match.arithmetic.tflite.reduced_multiplier`)."""


def of_input(read: TfliteReader, operator: FileOperator, position: int = 0) -> QuantizedType:
    """The quantization of an input of 16 bits."""
    return _symmetric(read, operator, read.tensor(operator, position))


def of_output(read: TfliteReader, operator: FileOperator) -> QuantizedType:
    """The quantization of the operator's output, of 16 bits."""
    return _symmetric(read, operator, read.output(operator))


def ratio(read: TfliteReader, operator: FileOperator) -> np.float64:
    """The scale of the first input over that of the output."""
    return np.float64(of_input(read, operator).scale) / np.float64(of_output(read, operator).scale)


def _symmetric(read: TfliteReader, operator: FileOperator, tensor: FileTensor) -> QuantizedType:
    if tensor.dtype != "int16":
        problem = f"has {tensor.what} of type {tensor.dtype} beside int16, for which TFLite Micro has no kernel"
        raise read.error(operator, f"{problem}; quantize all to int16, or put a QUANTIZE between")
    found = read.quantization(operator, tensor)
    if found.zero_point:
        problem = f"has {tensor.what} with the zero point {found.zero_point}, which 16-bit kernels take for 0"
        raise read.error(operator, f"{problem}; quantize it symmetrically")
    return found
