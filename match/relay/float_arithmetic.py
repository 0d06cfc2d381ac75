"""float32 in Relay with the bits it should have: divisions, rounding, and sums that are scaled in floating point."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array
from match.ir.dtypes import value_range
from match.ir.float_border import FloatQuantization
from match.relay import relay

_LAST_BIT_IS_ONE = 1.5 * 2**23


def divided(x: relay.Expr, scale: np.float32) -> relay.Expr:
    """``x / scale`` in float32.

    The scale is a tensor of one element: TVM multiplies by the reciprocal of a constant scalar, which rounds otherwise.
    """
    return relay.divide(x, relay.const(np.array([scale], np.float32)))


def half_to_even(x: relay.Expr) -> relay.Expr:
    """Nearest integer to a float32 of magnitude below 2**22, halves to the even one.

    Added to a number whose last bit is worth 1, x is rounded there. Both steps read the number from a tensor of their
    own, or TVM would take them for nothing. One chain of operators becomes one loop without buffers in between.
    """
    added, taken = (relay.const(np.array([_LAST_BIT_IS_ONE], np.float32)) for _ in range(2))
    return relay.subtract(relay.add(x, added), taken)


def quantized(x: relay.Expr, function: FloatQuantization) -> relay.Expr:
    """float32 numbers as 8 or 16 bits, with the reference's rounding."""
    low, high = value_range(function.dtype)
    # Clipped first: rounding has a short range, and the conversion is undefined for what int32 cannot hold. Of the
    # opposite number TVM's C clips what is not a number to the largest, so that it becomes the lowest value, as in
    # onnxruntime and in the kernels.
    bounded = relay.clip(divided(x, -function.scale), function.zero_point - high, function.zero_point - low)
    rounded = half_to_even(bounded) if function.half_to_even else relay.round(bounded)
    shifted = relay.subtract(relay.const(function.zero_point, "int32"), relay.cast(rounded, "int32"))
    return relay.cast(shifted, function.dtype)


def requantize(
    accumulator: relay.Expr,
    offset: npt.NDArray[np.int32],
    factor: Float32Array,
    zero_point: int,
    clip: tuple[int, int],
    dtype: str,
) -> relay.Expr:
    """``clip(rint(float32(accumulator + offset) * factor) + zero_point)`` per channel.

    For layers that no line describes; being of no pattern it runs where TVM's own code does.
    """
    total = relay.add(accumulator, relay.const(offset))
    product = relay.multiply(relay.cast(total, "float32"), relay.const(factor))
    bounded = relay.clip(product, clip[0] - zero_point, clip[1] - zero_point)
    return relay.cast(relay.add(relay.cast(half_to_even(bounded), "int32"), relay.const(zero_point, "int32")), dtype)
