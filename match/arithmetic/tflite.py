"""The integers of TFLite Micro: gemmlowp's fixed-point multiplication with two roundings.

A real factor becomes ``m * 2**(e - 31)`` with m of 31 bits. The product ``acc * m`` is rounded at bit 31, half up, then
shifted right by -e and rounded again, half away from zero. Both roundings are one floor: ``(acc * m + 2**30 + 2**(S -
1)) >> S`` with ``S = 31 - e``, and ``2**31`` less in the sum where the first result is negative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from match.arithmetic.fixed_point import shifted_right
from match.arithmetic.interface import Accumulator, QuantizedType, product_range, sum_range
from match.arithmetic.line_fit import fit_line, with_channels
from match.ir.requantization import UNREACHED, Int64Array, Requantization
from match.ir.step_function import StepFunction, step_function

_SMALLEST_EXPONENT = -31
_WIDEST_SHIFT = 52
_SMALLEST_FACTOR = 2.0**-60
ADD_LEFT_SHIFT = 20
"""Bits by which both addends of an addition are shifted left before they are scaled."""


@dataclass(frozen=True)
class TfliteArithmetic:
    """`match.arithmetic.interface.Arithmetic` as TFLite Micro's reference kernels compute."""

    def linear(self, accumulator: Accumulator, output: QuantizedType, clip: tuple[int, int]) -> Requantization:
        """One fixed-point multiplication of the sum; the factor is computed from the scales in double precision."""
        product = np.float64(accumulator.input_scale) * accumulator.weight_scale.astype(np.float64)
        factor = product / np.float64(output.scale)
        multiplier = quantize_multiplier(np.broadcast_to(factor, accumulator.offset.shape))
        return _scaled(multiplier, accumulator.offset, output.zero_point, clip, (accumulator.low, accumulator.high))

    def average(self, dtype: str, count: int, clip: tuple[int, int]) -> Requantization:
        """The sum divided by the count, half away from zero."""
        low, high = sum_range(dtype, count)
        levels = np.arange(clip[0] + 1, clip[1] + 1, dtype=np.int64)
        # The smallest sum that rounds to a level: level - 1/2 and above for positive ones, above level - 1/2 otherwise.
        first = levels * count - np.where(levels > 0, count // 2, (count - 1) // 2)
        thresholds = np.clip(first[None, :], low[:, None], high[:, None] + 1)
        steps = StepFunction(low, high, clip, thresholds, np.array([False]))
        return fit_line(steps, np.array([1 / count]))

    def mean(self, x: QuantizedType, count: int, output: QuantizedType, clip: tuple[int, int]) -> Requantization:
        """One fixed-point multiplication of the sum, its mantissa divided by the count."""
        divided = mean_multiplier(np.array([np.float64(x.scale) / np.float64(output.scale)]), count)
        offset = np.array([-x.zero_point * count])
        return _scaled(divided, offset, output.zero_point, clip, sum_range(x.dtype, count))

    def add(
        self, a: QuantizedType, b: QuantizedType, output: QuantizedType, clip: tuple[int, int], sign: int
    ) -> Int64Array:
        """Both addends, shifted left by 20 bits, are scaled to twice the larger scale, added, scaled to the output."""
        first, second, last = addition_factors(a.scale, b.scale, output.scale)
        total = np.zeros((256, 256), np.int64)
        for operand, factor, axis, counts in ((a, first, (256, 1), 1), (b, second, (1, 256), sign)):
            shifted = (operand.levels - operand.zero_point) << ADD_LEFT_SHIFT
            total = total + counts * multiply(shifted, factor).reshape(axis)
        return np.clip(multiply(total, last) + output.zero_point, *clip)

    def multiply(
        self, a: QuantizedType, b: QuantizedType, output: QuantizedType, clip: tuple[int, int]
    ) -> Requantization:
        """One fixed-point multiplication of the product."""
        factor = np.float64(a.scale) * np.float64(b.scale) / np.float64(output.scale)
        return self.scaled(factor, output, clip, product_range(a, b))

    def scaled(
        self, factor: np.float64, output: QuantizedType, clip: tuple[int, int], reachable: tuple[Int64Array, Int64Array]
    ) -> Requantization:
        """One fixed-point multiplication of a number between the smallest and the largest, arrays (1,)."""
        multiplier = quantize_multiplier(np.array([factor]))
        return _scaled(multiplier, np.zeros(1, np.int64), output.zero_point, clip, reachable)

    def requantize(self, x: QuantizedType, output: QuantizedType, clip: tuple[int, int]) -> Int64Array:
        """One fixed-point multiplication."""
        factor = np.float64(x.scale) / np.float64(output.scale)
        return np.clip(multiply(x.levels - x.zero_point, factor) + output.zero_point, *clip)


def addition_factors(a: np.float32, b: np.float32, output: np.float32) -> tuple[np.float64, np.float64, np.float64]:
    """The factors of both operands of an addition or subtraction and of their sum, from scales."""
    twice = 2 * np.float64(max(a, b))
    last = twice / (np.float64(1 << ADD_LEFT_SHIFT) * np.float64(output))
    return np.float64(a) / twice, np.float64(b) / twice, last


def quantize_multiplier(factor: npt.ArrayLike) -> tuple[Int64Array, Int64Array]:
    """Mantissa m (31 bits, at least 2**30, or 0) and exponent e with ``factor`` about ``m * 2**(e - 31)``."""
    fraction, exponent = np.frexp(np.asarray(factor, np.float64))
    mantissa = np.floor(fraction * (1 << 31) + 0.5).astype(np.int64)
    exponent = exponent.astype(np.int64)
    carried = mantissa == 1 << 31
    mantissa, exponent = np.where(carried, mantissa >> 1, mantissa), np.where(carried, exponent + 1, exponent)
    vanished = (exponent < _SMALLEST_EXPONENT) | (mantissa == 0)
    return np.where(vanished, 0, mantissa), np.where(vanished, 0, exponent)


def reduced_multiplier(factor: npt.ArrayLike) -> tuple[Int64Array, Int64Array]:
    """Mantissa m of 15 bits and shift S with ``factor`` about ``m * 2**-S``, by which sums of 64 bits are scaled.

    TFLite Micro rounds the product at once: ``(acc * m + 2**(S - 1)) >> S``. S is less than 1 for factors of 2**14 on,
    for which its kernels are not made.
    """
    return reduced(*quantize_multiplier(factor))


def reduced(mantissa: Int64Array, exponent: Int64Array) -> tuple[Int64Array, Int64Array]:
    """`reduced_multiplier` of the factor ``mantissa * 2**(exponent - 31)``."""
    return np.minimum((mantissa + (1 << 15)) >> 16, (1 << 15) - 1), 15 - exponent


def mean_multiplier(factor: npt.ArrayLike, count: int) -> tuple[Int64Array, Int64Array]:
    """Mantissa and exponent for a sum of `count` values whose mean is multiplied by a factor."""
    mantissa, exponent = quantize_multiplier(factor)
    shift = np.minimum(min(count.bit_length() - 1, 32), 31 + exponent)
    return (mantissa << shift) // count, exponent - shift


def multiply(value: npt.NDArray[np.int64], factor: np.float64) -> Int64Array:
    """`value` (int32 range) times `factor`, with both roundings."""
    return multiply_by(value, *quantize_multiplier(factor))


def multiply_by(value: Int64Array, mantissa: Int64Array, exponent: Int64Array) -> Int64Array:
    """`value` (int32 range) times ``mantissa * 2**(exponent - 31)``, with both roundings."""
    high = ((value << np.maximum(exponent, 0)) * mantissa + (1 << 30)) >> 31
    return shifted_right(high, np.maximum(-exponent, 0))


def _scaled(
    multiplier: tuple[Int64Array, Int64Array],
    offset: Int64Array,
    zero_point: int,
    clip: tuple[int, int],
    reachable: tuple[Int64Array, Int64Array],
) -> Requantization:
    """``clip(multiply(acc + offset) + zero_point)`` per channel, for the reachable accumulators.

    `multiplier` is mantissa and exponent, `reachable` the smallest and largest accumulator, arrays (channels,). No sign
    is corrected where everything below the zero point is clamped away.
    """
    relative = clip[0] - zero_point, clip[1] - zero_point
    return with_zero_point(replace(scaling(*multiplier, offset, relative), clip=clip), zero_point, reachable)


def scaling(mantissa: Int64Array, exponent: Int64Array, offset: Int64Array, clip: tuple[int, int]) -> Requantization:
    """``clip(multiply(acc + offset))`` per channel; no sign is corrected where no output is below 0."""
    shift = 31 - exponent
    rounding = np.where(exponent < 0, (1 << 30) + (np.int64(1) << (shift - 1)), np.int64(1) << np.maximum(shift - 1, 0))
    # Below this sum the first rounding gives a negative number.
    negative = -((1 << 30) // np.maximum(mantissa, 1))
    corrected = (exponent < 0) & (clip[0] < 0)
    line = Requantization(mantissa, offset * mantissa + rounding, shift, clip)
    if not corrected.any():
        return line
    below = np.where(corrected, np.clip(negative - offset, UNREACHED, np.iinfo(np.int32).max), UNREACHED)
    return replace(line, negative_below=below, negative_step=np.full_like(below, 1 << 31))


def division(count: int, clip: tuple[int, int]) -> Requantization:
    """A sum of `count` values of 16 bits divided by `count`, half away from zero, and clipped.

    Rounded, a sum is ``floor((sum + half) / count)``; below 0 an even `count` has one less than its half. A dividend n,
    with ``2**15 * count`` added not negative, is divided by a product: ``n * m >> S`` is ``n // count`` if m is
    ``2**S / count`` rounded up and n times the excess ``m * count - 2**S`` is less than 2**S (Granlund and Montgomery,
    "Division by invariant integers using multiplication", 1994).
    """
    lowest, half = 1 << 15, count // 2
    # From 32 on, where the multiplier has 31 bits then: a shift of words takes their upper ones alone.
    shifts = range(32 if count > 2 else 0, 64)
    shift = next(s for s in shifts if (-(1 << s) % count) * (2 * lowest * count) < 1 << s)
    multiplier = -(-(1 << shift) // count)
    bias = (half + lowest * count) * multiplier - (lowest << shift)
    one = np.ones(1, np.int64)
    line = Requantization(one * multiplier, one * bias, one * shift, clip)
    if count % 2 or clip[0] >= 0:
        return line
    return replace(line, negative_below=0 * one, negative_step=one * multiplier)


def with_zero_point(line: Requantization, zero_point: int, reachable: tuple[Int64Array, Int64Array]) -> Requantization:
    """`line` before a zero point is added and the sum is clipped to `line.clip`, and with both.

    `reachable` is the smallest and largest accumulator, arrays (channels,). Proven constant channels get multiplier 0,
    and a sign correction that no reachable accumulator needs is left out.
    """
    low, high = reachable
    below, clip, shift = line.negative_below, line.clip, line.shift
    relative = replace(line, clip=(clip[0] - zero_point, clip[1] - zero_point))
    if below is not None:
        relative = replace(relative, negative_below=np.where(below > low, below, UNREACHED))
    steps = replace(step_function(relative, low, high), clip=clip)
    result = replace(
        relative, bias=relative.bias + (np.int64(zero_point) << np.minimum(shift, _WIDEST_SHIFT)), clip=clip
    )
    refitted = np.flatnonzero(steps.constant | (shift > _WIDEST_SHIFT))
    if len(refitted):
        slope = line.multiplier[refitted] * np.exp2(-shift[refitted].astype(np.float64))
        fitted = fit_line(steps.take(refitted), np.maximum(slope, _SMALLEST_FACTOR))
        result = with_channels(result, refitted, fitted)
    if result.negative_below is not None and np.all(result.negative_below == UNREACHED):
        result = replace(result, negative_below=None, negative_step=None)
    return result
