"""Functions of rows, along the last axis: softmax, its logarithm, normalization."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from match.arithmetic.fixed_point import ONE, RECIPROCAL_START, RECIPROCAL_STEPS, product
from match.arithmetic.interface import Float32Array
from match.arithmetic.tflite import multiply_by
from match.arithmetic.tflite_functions import exponentials_of_16_bits, reciprocals_of_16_bits
from match.graph.elements import OfElements
from match.graph.layers import element_wise, fitting_words, without_idle_parts
from match.graph.operator import Array, Described, Known, Operator, Refused, Requantized, Stored
from match.graph.work import Work
from match.ir import constants
from match.ir.constants import LayerConstants, Structure
from match.ir.dtypes import value_range
from match.ir.graph import Tensor
from match.ir.layer import Op
from match.ir.requantization import Int64Array

LONGEST_ROW = 4095
"""Elements of a softmax whose exponentials, all 1, still have a sum of 12 integer bits."""

LONGEST_REAL_ROW = 4000
"""Elements of a row with which a softmax or its logarithm of any scale is within one step of floating point."""

SUM_FRACTION = 19
"""Bits after the point of a softmax's sum of exponentials; 12 are in front of it."""

OUTPUT_BITS = 8
"""A probability is in steps of ``2**-OUTPUT_BITS``, where it has no scale of its own."""

FACTOR_ONE = 1 << 30
"""The factor of a `ProbabilityScale` that changes nothing."""

SHIFT = 31 - OUTPUT_BITS - 1
"""How far a probability is shifted, but for the last bit, if its row's sum is below 2."""

LOG_OF_2 = 1488522236
"""With 31 bits after the point, as the numbers of the next line."""

LOG_SERIES = (
    *(870729680, 715827885, -119304196, 26512007, -6631610),
    *(1768563, -481174, 137299, -51572, 15361),
)
"""Polynomial of u from -1 to 1, lowest power first, for ``log(3 / 2 + u / 2)``.

It meets the logarithm at the ten Chebyshev nodes, and is off by less than 2**-27 between them.
"""

MOST_LOG_FRACTION = 26
"""The most bits after the point of a `LogSoftmax`."""

SPREAD_FRACTION = 8
"""Bits after the point of a normalization's spread."""

DEVIATION_FRACTION = 12
"""Bits after the point of a normalized element before it is multiplied by its gain."""

UPPER_FRACTION = 33 + 30 - 32 - SPREAD_FRACTION // 2 - DEVIATION_FRACTION
"""Bits to take off the upper word of a distance times half an inverse root, and the root's own bits."""

MOST_POWERS = 23
"""Powers of 4 below any spread: (255 / 2 * 2048)**2 / 4 with 8 bits after the point."""

ROOT_START = (round(1.1033 * (1 << 30)), -round(2 / 3 * (1 << 30)))
"""The line ``1.1033 - 2 / 3 * x`` near half the inverse root of x, with 30 bits after the point: at most 13 % off."""

ROOT_STEPS = 3
"""Steps of Newton and Raphson. Each squares the relative error, times 1.5: 2**-19 in the end."""

_LEAST, _LARGEST = value_range("int16")


@dataclass(frozen=True)
class ProbabilityScale:
    """The scale of probabilities: a probability of 1 is ``256 * factor / 2**30 * 2**exponent`` steps.

    `factor` is from 2**29 to 2**30; `exponent` is at most 8.
    """

    factor: int
    exponent: int

    @classmethod
    def of(cls, levels: float) -> ProbabilityScale | None:
        """The scale in which a probability of 1 is `levels` steps; None if that is no step, or 2**16 or more."""
        fraction, exponent = math.frexp(levels / (1 << OUTPUT_BITS))
        return cls(int(fraction * FACTOR_ONE), exponent) if 0 < levels < 1 << 16 else None


@dataclass(frozen=True, eq=False, kw_only=True)
class Softmax(OfElements):
    """Softmax of a tensor of 8 bits, in the integers of TFLite Micro's kernel.

    exponentials: int64, shape (256,), by the distance to the row's largest element, 31 bits after the point.
    zero: the output for a probability of 0.
    scale: of probabilities; None for 1/256, in which the reference computes in these integers, too.
    """

    called: ClassVar[str] = "softmax"
    of_either_type: ClassVar[bool] = True

    exponentials: Int64Array
    zero: int
    scale: ProbabilityScale | None
    dtype: str

    def compute(self, *inputs: Array) -> Array:
        """Exponentials times the reciprocal of their sum, which Newton and Raphson find."""
        x = inputs[0].astype(np.int64)
        values = self.exponentials[x.max(axis=-1, keepdims=True) - x]
        total = _rounded_shift(values, 31 - SUM_FRACTION - 1).sum(axis=-1, keepdims=True)
        width = x.shape[-1]
        powers = (1 << (SUM_FRACTION + bit) for bit in range(1, width.bit_length()))
        doublings = sum(((total >= power).astype(np.int64) for power in powers), np.zeros_like(total))
        half = total << (30 - SUM_FRACTION - doublings)
        constant, slope = RECIPROCAL_START
        result = constant + product(half, slope)
        for _ in range(RECIPROCAL_STEPS):
            result = result + product(result, (1 << 29) - product(half, result)) * 4
        # Doubled, saturating: of a sum of 1 the reciprocal is just below 1.
        inverse, exponent = np.minimum(result, ONE >> 1) + np.minimum(result, 1 << 30), 0
        if self.scale is not None:
            inverse, exponent = (inverse * self.scale.factor + (FACTOR_ONE >> 1)) >> 30, self.scale.exponent
        shift = np.minimum(doublings + SHIFT - exponent, 31)
        levels = _rounded_shift(product(values, inverse), shift) + self.zero
        return levels.clip(*value_range(self.dtype)).astype(self.dtype)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Distances stay; what is added to probabilities grows."""
        del inputs
        return self if more is None else replace(self, zero=self.zero + more, dtype="uint8")

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described:
        """A table of exponentials, and the scale."""
        layer = element_wise(Op.SOFTMAX, result.shape, inputs[0].dtype, result.dtype)
        factor, exponent = (self.scale.factor, self.scale.exponent) if self.scale else (FACTOR_ONE, 0)
        words = np.concatenate([[factor, SHIFT - exponent, self.zero], self.exponentials]).astype(np.int32)
        return Described(layer, LayerConstants(Structure(words, "match_softmax_t")))


@dataclass(frozen=True, eq=False, kw_only=True)
class Softmax16(OfElements):
    """Softmax of a tensor of 16 bits with the integers of TFLite Micro's kernel.

    Each number's distance to the largest one of its row has an exponential, and the sum of these a reciprocal. Both are
    interpolated in tables of 513 entries with 15 bits after the point. Distances times
    ``mantissa * 2**(exponent - 31)`` are steps of the table of exponentials, 10 / 65535 each.
    """

    called: ClassVar[str] = "softmax16"

    mantissa: int
    exponent: int
    dtype: str = "int16"

    def compute(self, *inputs: Array) -> Array:
        """Exponentials times the reciprocal of their sum."""
        x = inputs[0].astype(np.int64)
        distance = x - x.max(axis=-1, keepdims=True)
        place = multiply_by(distance, np.array(self.mantissa), np.array(self.exponent)) + _LARGEST
        exponentials = _interpolated(place.clip(_LEAST, _LARGEST), exponentials_of_16_bits())
        total = exponentials.sum(axis=-1, keepdims=True)
        most = 15 + x.shape[-1].bit_length()
        bits = 15 + sum((total >= 1 << power).astype(np.int64) for power in range(15, most))
        shifted = (total << (31 - bits)) + (1 << 13)
        place = (shifted >> 14) - ((1 << 15) + (1 << 16))
        reciprocal = _interpolated(place.clip(_LEAST, _LARGEST), reciprocals_of_16_bits())
        levels = (exponentials * reciprocal + (np.int64(1) << (bits - 2))) >> (bits - 1)
        return levels.clip(0, _LARGEST).astype(self.dtype)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | Refused:
        """The scaling of distances and both tables."""
        scaling = fitting_words(self.mantissa, self.exponent, 17)
        if scaling is None:
            return Refused(Op.SOFTMAX, "its input's scale is too coarse")
        layer = replace(element_wise(Op.SOFTMAX, inputs[0].shape, "int16", result.dtype), clip=(0, _LARGEST))
        tables = (
            np.append(table, 0).astype("<i2").view("<i4")
            for table in (exponentials_of_16_bits(), reciprocals_of_16_bits())
        )
        words = np.concatenate([scaling, *tables])
        return Described(layer, LayerConstants(Structure(words, "match_softmax_int16_t")))


@dataclass(frozen=True)
class LogTables:
    """Tables (256,) by distance: exponentials, 31 bits after the point, and what distances add, `fraction` bits."""

    exponentials: Int64Array
    distances: Int64Array
    fraction: int


def log_tables(scale: np.float32, exponentials: Int64Array) -> LogTables | None:
    """Tables for values in steps of `scale`; None if distances need all 32 bits in front of the point."""
    largest = 255 * float(scale) + math.log(LONGEST_REAL_ROW)
    fraction = min(MOST_LOG_FRACTION, 30 - math.floor(math.log2(largest)))
    distances = -np.rint(np.ldexp(float(scale) * np.arange(256), fraction)).astype(np.int64)
    return LogTables(exponentials, distances, fraction) if fraction > 0 else None


@dataclass(frozen=True, eq=False, kw_only=True)
class LogSoftmax(OfElements):
    """The logarithm of a softmax of a tensor of 8 bits, float32.

    With x's distance d to the row's largest value it is ``-scale * d - log(sum of exp(-scale * d))``.
    """

    called: ClassVar[str] = "log_softmax"

    tables: LogTables
    dtype: str = "float32"

    def compute(self, *inputs: Array) -> Array:
        """Distances less the logarithm of the sum, brought to a number from 1/2 to 1."""
        x, fraction = inputs[0].astype(np.int64), self.tables.fraction
        distance = x.max(axis=-1, keepdims=True) - x
        total = self.tables.exponentials[distance].sum(axis=-1, keepdims=True)
        powers = (1 << (31 + bit) for bit in range(x.shape[-1].bit_length()))
        halvings = sum(((total >= power).astype(np.int64) for power in powers), np.zeros_like(total))
        place = ((total >> halvings) - (3 << 29)) * 4
        first, *others = reversed(LOG_SERIES)
        series = np.full_like(place, first)
        for term in others:
            series = product(series, place) + term
        wide = (halvings - 1) * LOG_OF_2 + series
        logarithm = (wide + (1 << (30 - fraction))) >> (31 - fraction)
        steps = self.tables.distances[distance] - logarithm
        return steps.astype(np.float32) * np.float32(0.5**fraction)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Itself: distances stay."""
        del inputs, more
        return self

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described:
        """Both tables."""
        layer = element_wise(Op.LOG_SOFTMAX, result.shape, inputs[0].dtype, result.dtype)
        own = self.tables
        words = np.concatenate([[own.fraction], own.exponentials, own.distances]).astype(np.int32)
        return Described(layer, LayerConstants(Structure(words, "match_log_softmax_t")))


@dataclass(frozen=True, eq=False, kw_only=True)
class Normalization(Requantized, OfElements):
    """Rows of a tensor of 8 bits, normalized: each element's distance from the mean in deviations, times a gain.

    The result is requantized like the sums of a convolution: each channel has its own parameters.
    """

    called: ClassVar[str] = "normalize"
    of_either_type: ClassVar[bool] = True

    normalization: constants.Normalization

    def compute(self, *inputs: Array) -> Array:
        """The spread's inverse root, by Newton and Raphson, times the distances."""
        values, own = inputs[0].astype(np.int64), self.normalization
        if own.centre is not None:
            values = values - own.centre
        width = values.shape[-1]
        variance = (values * values).sum(axis=-1, keepdims=True) * width
        distance = values * width
        if own.centre is None:
            total = values.sum(axis=-1, keepdims=True)
            variance, distance = variance - total * total, distance - total
        spread = (variance << SPREAD_FRACTION) + own.spread
        powers = sum((spread >= 1 << 2 * power).astype(np.int64) for power in range(1, MOST_POWERS + 1))
        mantissa = (spread << (60 - 2 * powers)) >> 31
        first, slope = ROOT_START
        inverse = first + product(mantissa, slope)
        for _ in range(ROOT_STEPS):
            inverse = inverse + product(inverse, (1 << 27) - product(mantissa, product(inverse, inverse))) * 8
        root = ((width - 1).bit_length() + 1) // 2  # bits of the farthest distance in deviations
        upper = ((distance << (33 - root - powers)) * inverse) >> 32
        bits = UPPER_FRACTION - root
        deviations = (upper + (1 << bits - 1)) >> bits
        return self.requantization(deviations * own.gains.astype(np.int64)).astype(self.dtype)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Distances from the mean stay; another value that they are from grows with the input."""
        own = self.normalization
        if own.centre is not None:
            own = replace(own, centre=own.centre + inputs[0].more)
        requantization = self.requantization.raised(more or 0)
        dtype = self.dtype if more is None else "uint8"
        return replace(self, normalization=own, requantization=requantization, dtype=dtype)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described:
        """Gains, and the requantization of what they multiply."""
        width = result.shape[-1]
        layer = element_wise(Op.NORMALIZE, result.shape, inputs[0].dtype, result.dtype)
        layer = replace(layer, clip=self.requantization.clip)
        farthest = math.isqrt(width << 2 * DEVIATION_FRACTION) + 1  # from the mean, in deviations
        high = farthest * np.abs(self.normalization.gains.astype(np.int64))
        parameters = without_idle_parts(self.requantization, -high, high)
        return Described(layer, LayerConstants(self.normalization, parameters), (-high, high))


def _rounded_shift(x: Int64Array, bits: int | Int64Array) -> Int64Array:
    """``x / 2**(bits + 1)`` of numbers that are not negative, rounded half up."""
    return ((x >> bits) + 1) >> 1


def _interpolated(x: Int64Array, table: Int64Array) -> Int64Array:
    """Between two of the 513 entries of a table, for numbers of 16 bits: 9 bits are the place, 7 the rest."""
    place, rest = (x >> 7) + 256, x & 127
    return table[:-1][place] + ((np.diff(table)[place] * rest + 64) >> 7)


@dataclass(frozen=True, eq=False, kw_only=True)
class RealSoftmax(OfElements):
    """Softmax of rows of real numbers, float32, or if `logarithm` its logarithm; TVM's C computes it."""

    called: ClassVar[str] = "real_softmax"

    logarithm: bool = False
    dtype: str = "float32"

    def compute(self, *inputs: Array) -> Array:
        """The numbers; the last bits depend on how a machine computes exponentials, and in which order it sums."""
        x = inputs[0].astype(np.float64)
        distance = x - x.max(axis=-1, keepdims=True)
        total = np.exp(distance).sum(axis=-1, keepdims=True)
        result = distance - np.log(total) if self.logarithm else np.exp(distance) / total
        return result.astype(self.dtype)

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Called as Relay calls it."""
        name = "nn.log_softmax" if self.logarithm else "nn.softmax"
        return replace(super().work(result, inputs), name=name)


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxOfLevels(OfElements):
    """Softmax of a tensor of 8 bits in steps of `scale`, as real numbers, float32; TVM's C computes it.

    Exponentials are numbers of a table: each comes to the next float32, which is as near as those that a function of
    the machine computes.
    """

    called: ClassVar[str] = "softmax_of_levels"

    scale: np.float32
    dtype: str = "float32"

    @property
    def exponentials(self) -> Float32Array:
        """By the distance to the row's largest element, shape (256,)."""
        return np.exp(-np.float64(self.scale) * np.arange(256)).astype(np.float32)

    def compute(self, *inputs: Array) -> Array:
        """Exponentials divided by their sum, which is rounded after each of its terms."""
        x = inputs[0].astype(np.int64)
        values = self.exponentials[x.max(axis=-1, keepdims=True) - x]
        return values / values.cumsum(axis=-1, dtype=np.float32)[..., -1:]

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Itself: distances stay."""
        del inputs, more
        return self
