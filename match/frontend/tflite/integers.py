"""TFLite Micro's integer arithmetic as Relay on int64 tensors, for what no pass of `match.passes` has a form for.

Scaled numbers fit int32, as they do in TFLite Micro; results are saturated in that type, where no pass takes them for a
requantization.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import tflite

from match.arithmetic.interface import QuantizedType
from match.arithmetic.tflite import quantize_multiplier, scaling
from match.frontend.tflite.file import FileOperator
from match.frontend.tflite.reader import TfliteReader
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.relay import fixed_point, integer_form, relay
from match.relay.fixed_point import alone
from match.relay.integer_form import int64

_MOST_LEFT = 30
"""Bits by which numbers of 32 bits may be shifted left."""


def wide(x: relay.Expr, zero_point: int = 0) -> relay.Expr:
    """An integer tensor as int64, less its zero point."""
    x = relay.cast(x, "int64")
    return relay.subtract(x, int64(zero_point)) if zero_point else x


def scaled(x: relay.Expr, factor: npt.ArrayLike) -> relay.Expr:
    """``x * factor`` as TFLite Micro's MultiplyByQuantizedMultiplier rounds it: half up, then half away from zero.

    x is int64 in the range of int32, `factor` one number or an array that is broadcast.
    """
    return fixed_point.scaled(x, *multiplier(factor))


def multiplier(factor: npt.ArrayLike) -> tuple[Int64Array, Int64Array]:
    """Mantissa and exponent of a factor, or of each in an array.

    Raises:
        ValueError: TFLite Micro would shift a number by more than it has bits.
    """
    mantissa, exponent = quantize_multiplier(factor)
    if np.any(exponent > _MOST_LEFT):
        raise ValueError(f"a factor of {np.max(factor):.3g} between its scales")
    return mantissa, exponent


def slope_below_zero(read: TfliteReader, operator: FileOperator) -> np.float32:
    """The factor of LEAKY_RELU below 0."""
    alpha = np.float32(operator.options(tflite.LeakyReluOptions).Alpha())
    if not np.isfinite(alpha):
        raise read.error(operator, f"has an Alpha of {alpha}; it must be a finite number")
    return alpha


def product(a: relay.Expr, b: relay.Expr) -> relay.Expr:
    """`match.arithmetic.fixed_point.product` of int64 tensors."""
    return relay.right_shift(relay.add(relay.multiply(a, b), int64(1 << 30)), int64(31))


def doubled(x: relay.Expr, times: int) -> relay.Expr:
    """``x * 2**times`` of int64 tensors, which may be negative: C has no left shift of such numbers."""
    return relay.multiply(x, int64(1 << times))


def saturated(x: relay.Expr) -> relay.Expr:
    """int64 numbers clipped to the range of int32."""
    return relay.minimum(relay.maximum(x, int64(-(1 << 31))), int64((1 << 31) - 1))


def requantized(x: relay.Expr, factor: np.float64, clip: tuple[int, int]) -> relay.Expr:
    """``clip(x * factor)`` of int32 numbers, as int16 with zero point 0. TFLite Micro rounds so, twice."""
    line = scaling(*multiplier(np.array([factor])), np.zeros(1, np.int64), clip)
    return integer_form.requantize(x, line, "int16")


def clipped(x: relay.Expr, clip: tuple[int, int]) -> relay.Expr:
    """A tensor of int16 clipped to fewer values: a change of scale by 1."""
    return requantized(relay.cast(x, "int32"), np.float64(1), clip)


def narrowed(x: relay.Expr, output: QuantizedType, clip: tuple[int, int] | None = None) -> relay.Expr:
    """An int64 tensor plus the output's zero point, clipped to the type's values or to fewer; computed once."""
    if output.zero_point:
        x = relay.add(x, int64(output.zero_point))
    return alone(integer_form.saturate(relay.cast(x, "int32"), clip or value_range(output.dtype), output.dtype))


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
