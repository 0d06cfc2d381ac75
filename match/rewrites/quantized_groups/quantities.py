"""Tensors of 8 bits and the real numbers that they stand for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.graph.elements import Dequantize, Quantize
from match.graph.make import constant
from match.graph.reals import Levels
from match.graph.value import Value
from match.quantized import bytes as bytes_

_NARROW = "int8", "uint8"


@dataclass(frozen=True, eq=False)
class Dequantized:
    """Integers of 8 bits, and their quantization."""

    value: Value
    quantization: QuantizedType


def dequantized(real: Value) -> Dequantized | None:
    """The integers of 8 bits, constant or not, that real numbers are dequantized from; None for other real numbers."""
    own = real.operator
    if isinstance(own, Levels) and own.levels.dtype.name in _NARROW and own.scales.size == 1:
        quantization = QuantizedType(np.float32(own.scales[0]), int(own.zero_points[0]), own.levels.dtype.name)
        return Dequantized(constant(own.levels), quantization)
    if not isinstance(real.operator, Dequantize) or real.inputs[0].dtype not in _NARROW:
        return None
    (x,) = real.inputs
    return Dequantized(x, QuantizedType(real.operator.scale, real.operator.zero_point, x.dtype))


def quantization_of(quantize: Quantize) -> QuantizedType | None:
    """What a quantize makes of real numbers; None for other integers than those of 8 bits."""
    own = quantize.function
    return QuantizedType(own.scale, own.zero_point, own.dtype) if own.dtype in _NARROW else None


def as_type(x: Dequantized, dtype: str) -> Dequantized:
    """Integers with the same real numbers in another type of 8 bits, or in the one that they have."""
    return Dequantized(*bytes_.as_type(x.value, x.quantization, dtype))
