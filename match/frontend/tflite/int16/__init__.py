"""Operators on activations of 16 bits, with TFLite Micro's arithmetic for them: int16 beside weights of int8.

Zero points of int16 are 0. Operators that
only move data, and QUANTIZE and DEQUANTIZE, are read as those of 8 bits are.
"""

from __future__ import annotations

from collections.abc import Mapping

from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.int16 import elementwise, functions, layers, reductions
from match.frontend.tflite.reader import Handler, TfliteReader

__all__ = ["handlers", "has_int16"]


def has_int16(read: TfliteReader, operator: FileOperator) -> bool:
    """Whether an operator reads or writes activations of 16 bits."""
    tensors = (read.file.tensors[number] for number in (*operator.inputs, *operator.outputs) if number >= 0)
    return any(tensor.dtype == "int16" and tensor.data is None for tensor in tensors)


def handlers() -> Mapping[str, Handler]:
    """Readers of operators, by their names in TFLite's schema."""
    parts = elementwise.handlers(), functions.handlers(), layers.handlers(), reductions.handlers()
    return {name: handler for part in parts for name, handler in part.items()}
