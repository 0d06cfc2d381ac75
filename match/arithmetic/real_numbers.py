"""Requantization of layers that a reference computes in floating point.

Outputs are the exact real numbers, rounded once to the nearest integer. The reference also rounds on the way; its
outputs are within one step of these.
"""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import Accumulator, QuantizedType
from match.ir.requantization import Requantization

_MULTIPLIER_BITS = 30
_SUM_BITS = 60
_WIDEST_SHIFT = 52


def linear(accumulator: Accumulator, output: QuantizedType, clip: tuple[int, int]) -> Requantization:
    """From ``sum(x * w)`` to the output of a convolution or dense layer; halves go up."""
    factor = np.float64(accumulator.input_scale) * accumulator.weight_scale.astype(np.float64) / output.scale
    factor = np.broadcast_to(factor, accumulator.offset.shape)
    constant = np.ldexp(accumulator.offset.astype(np.float64), -accumulator.bits) * factor + output.zero_point + 0.5
    slope = np.maximum(np.abs(factor), 2.0**-_SUM_BITS)
    largest = np.maximum(np.abs(accumulator.low), np.abs(accumulator.high)) * slope + np.abs(constant) + 1
    shift = np.minimum(_MULTIPLIER_BITS - np.log2(slope), _SUM_BITS - np.log2(largest))
    shift = np.clip(np.floor(shift), 0, _WIDEST_SHIFT).astype(np.int64)
    multiplier, bias = (np.rint(np.ldexp(number, shift)).astype(np.int64) for number in (factor, constant))
    return Requantization(multiplier, bias, shift, clip)
