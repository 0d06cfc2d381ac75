"""The rounding that a `qnn.requantize` names: TVM's fixed-point multiplication, which rounds once.

A real factor becomes ``m * 2**(e - 31)`` with m of 31 bits, as in TFLite Micro. The product ``acc * m`` is rounded at
bit ``S = 31 - e``: ``(acc * m + 2**(S - 1)) >> S`` where halves go up, and with one less for negative sums where they
go away from zero.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from match.arithmetic.interface import Accumulator, Float32Array, QuantizedType
from match.arithmetic.tflite import quantize_multiplier, with_zero_point
from match.ir.requantization import UNREACHED, Int64Array, Requantization


class Ties(enum.StrEnum):
    """Where halves go; the values are those of the operator's attribute."""

    UP = "UPWARD"
    AWAY_FROM_ZERO = "TONEAREST"


@dataclass(frozen=True, eq=False)
class NamedRounding:
    """What `match.arithmetic.interface.Arithmetic` says of layers and of changes of scale.

    scale: that of what is requantized, as the operator has it; shape (1,) or (channels,).
    """

    ties: Ties
    scale: Float32Array

    def linear(self, accumulator: Accumulator, output: QuantizedType, clip: tuple[int, int]) -> Requantization:
        """One fixed-point multiplication of the sum; the factor is computed from the scales in double precision."""
        scale = self.scale.astype(np.float64)
        offset = accumulator.offset
        mantissa, exponent = quantize_multiplier(np.broadcast_to(scale / np.float64(output.scale), offset.shape))
        shift = 31 - exponent
        away = self.ties == Ties.AWAY_FROM_ZERO
        below = np.clip(-offset, UNREACHED, np.iinfo(np.int32).max) if away else np.full_like(offset, UNREACHED)
        line = Requantization(
            mantissa, offset * mantissa + (np.int64(1) << (shift - 1)), shift, clip, below, np.ones_like(offset)
        )
        return with_zero_point(line, output.zero_point, (accumulator.low, accumulator.high))

    def requantize(self, x: QuantizedType, output: QuantizedType, clip: tuple[int, int]) -> Int64Array:
        """One fixed-point multiplication of every value of x, shape (256,)."""
        mantissa, exponent = quantize_multiplier(np.float64(x.scale) / np.float64(output.scale))
        values = x.levels - x.zero_point
        half = (np.int64(1) << (30 - exponent)) - (values < 0) * int(self.ties == Ties.AWAY_FROM_ZERO)
        return np.clip(((values * mantissa + half) >> (31 - exponent)) + output.zero_point, *clip)
