"""What handlers share: factors between scales, clips, and changes of scale of more than 8 bits."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import tflite

from match.arithmetic.interface import QuantizedType
from match.arithmetic.tflite import quantize_multiplier, scaling
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import TfliteReader
from match.graph.elements import Requantize
from match.graph.fixed_point import Rescale
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array, Requantization

_MOST_LEFT = 30
"""Bits by which numbers of 32 bits may be shifted left."""


def scale(factor: npt.ArrayLike) -> Int64Array:
    """A factor as mantissa and exponent, shape (2,), or several, shape (2, n).

    Raises:
        ValueError: TFLite Micro would shift a number by more than it has bits.
    """
    mantissa, exponent = quantize_multiplier(factor)
    if np.any(exponent > _MOST_LEFT):
        raise ValueError(f"a factor of {np.max(factor):.3g} between its scales")
    return np.stack([mantissa, exponent])


def slope_below_zero(read: TfliteReader, operator: FileOperator) -> np.float32:
    """The factor of LEAKY_RELU below 0."""
    alpha = np.float32(operator.options(tflite.LeakyReluOptions).Alpha())
    if not np.isfinite(alpha):
        raise read.error(operator, f"has an Alpha of {alpha}; it must be a finite number")
    return alpha


def line(factor: np.float64, clip: tuple[int, int]) -> Requantization:
    """``clip(x * factor)`` as one channel."""
    mantissa, exponent = scale(factor)
    return scaling(np.array([mantissa]), np.array([exponent]), np.zeros(1, np.int64), clip)


def requantized(x: Value, factor: np.float64, clip: tuple[int, int]) -> Value:
    """``clip(x * factor)`` of numbers of 16 bits, as int16 with zero point 0. TFLite Micro rounds so, twice."""
    return computed(Requantize(requantization=line(factor, clip), dtype="int16"), x)


def clipped(x: Value, clip: tuple[int, int]) -> Value:
    """A tensor of int16 clipped to fewer values: a change of scale by 1."""
    return requantized(x, np.float64(1), clip)


def rescaled(x: Value, zero_point: int, factor: np.float64, output: QuantizedType) -> Value:
    """Integers less their zero point, in the scale of an output."""
    operator = Rescale(
        zero_point=zero_point,
        scale=scale(factor),
        zero=output.zero_point,
        clip=value_range(output.dtype),
        dtype=output.dtype,
    )
    return computed(operator, x)


def clip_of(read: TfliteReader, operator: FileOperator, activation: int, output: QuantizedType) -> tuple[int, int]:
    """The values that a fused activation leaves."""
    kind = tflite.ActivationFunctionType
    bounds = {
        kind.NONE: (-math.inf, math.inf),
        kind.RELU: (0.0, math.inf),
        kind.RELU6: (0.0, 6.0),
        kind.RELU_N1_TO_1: (-1.0, 1.0),
    }
    if activation not in bounds:
        raise read.error(operator, f"has the fused activation {activation}, which integer kernels lack; remove it")
    return levels_between(*bounds[activation], output)


def levels_between(lowest: float, highest: float, output: QuantizedType) -> tuple[int, int]:
    """The levels of two bounds, each over the scale in float32, rounded half away from zero."""
    least, largest = value_range(output.dtype)

    def level(bound: float) -> int:
        if math.isinf(bound):
            return least if bound < 0 else largest
        quotient = float(np.float32(bound) / output.scale)
        rounded = int(math.copysign(math.floor(abs(quotient) + 0.5), quotient))
        return min(max(rounded + output.zero_point, least), largest)

    return level(lowest), level(highest)
