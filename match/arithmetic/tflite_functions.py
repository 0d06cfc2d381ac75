"""Functions of one 8-bit value as TFLite Micro computes them in fixed point: tables of all 256 of them.

The definitions are TFLite Micro's reference kernels for int8 and their preparation (`logistic`, `tanh`, `hard_swish`,
`softmax`). uint8, which they do not have, is taken as the same numbers 128 higher.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from match.arithmetic import fixed_point
from match.arithmetic.interface import Float32Array, QuantizedType
from match.arithmetic.tflite import multiply, quantize_multiplier, reduced_multiplier
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array

Mask = npt.NDArray[np.bool_]

_BITS = 4
"""Integer bits of what the logistic function and the hyperbolic tangent are computed from."""

_EXPONENT_BITS = 5
"""Integer bits of exponents in softmax."""

_HIRES = 7
"""Bits by which hard swish shifts its inputs left."""


_ONE_MORE = (
    *(4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39),
    *(40, 41, 43, 44, 45, 46, 49, 50, 54, 62, 63, 64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255),
)
"""Where `logistic_of_16_bits` is one above the nearest integer."""


def logistic(x: QuantizedType, output: QuantizedType) -> Int64Array | None:
    """Outputs for every value of x, shape (256,); None if the output's quantization is not the one that is defined."""
    lowest, highest = value_range(output.dtype)
    if output.scale != np.float32(1 / 256) or output.zero_point != lowest:
        return None
    values, inside = _fixed(x)
    outputs = fixed_point.shifted_right(fixed_point.logistic(values, _BITS), 31 - 8) + lowest
    return _saturated(x, inside, outputs, (lowest, highest))


def tanh(x: QuantizedType, output: QuantizedType) -> Int64Array | None:
    """As `logistic`."""
    lowest, highest = value_range(output.dtype)
    if output.scale != np.float32(1 / 128) or output.zero_point != lowest + 128:
        return None
    values, inside = _fixed(x)
    outputs = fixed_point.shifted_right(fixed_point.tanh(values, _BITS), 31 - 7) + lowest + 128
    return _saturated(x, inside, outputs, (lowest, highest))


def hard_swish(x: QuantizedType, output: QuantizedType) -> Int64Array | None:
    """``x * min(max(x + 3, 0), 6) / 6`` for every value of x in 16-bit fixed point, shape (256,).

    None if the output's scale is so much smaller than the input's that TFLite Micro refuses the operator.
    """
    hires_scale = np.float32(1 / 128) * x.scale
    # TFLite Micro divides in double precision: in single precision some mantissas are another one.
    factors = np.float64(hires_scale) / np.array([output.scale, np.float32(3) / np.float32(32768)], np.float64)
    (scaled, gate_factor), shifts = reduced_multiplier(factors)
    exponent, gate_exponent = 15 - shifts
    if exponent > 0:
        return None
    hires = (x.levels - x.zero_point) << _HIRES
    gate = hires
    if gate_exponent > 0:
        gate = _saturated16(gate << min(gate_exponent - 1, 31))
    gate = (gate * gate_factor + (1 << 14)) >> 15
    gate = _saturated16(gate << 1) if gate_exponent > 0 else _shifted_right16(gate, -gate_exponent)
    gate = (gate + (1 << 15)) >> 1
    gated = gate * ((hires * scaled + (1 << 14)) >> 15)
    truncated = np.sign(gated) * (np.abs(gated) >> 15)
    return np.clip(_shifted_right16(truncated, -exponent) + output.zero_point, *value_range(output.dtype))


def exponentials(scale: np.float32, beta: np.float32) -> Int64Array:
    """``exp(-beta * scale * d)`` without integer bits for distances d from 0 to 255, 0 where that is below exp(-31)."""
    distances, inside = scaled_distances(scale, beta)
    return np.where(inside, fixed_point.exp(distances, _EXPONENT_BITS), 0)


def scaled_distances(scale: np.float32, beta: np.float32) -> tuple[Int64Array, Mask]:
    """``-beta * scale * d`` with 5 integer bits for distances d from 0 to 255, 0 where it does not fit; what fits."""
    distances = np.arange(256, dtype=np.int64)
    factor = _distance_factor(scale, beta)
    inside = distances <= _radius(factor, _EXPONENT_BITS)
    return multiply(np.where(inside, -distances, 0), factor), inside


def distance_divisor(scale: np.float32) -> np.float64:
    """What brings a number with 5 integer bits back to a distance, as the inverse of the factor's mantissa."""
    mantissa, exponent = quantize_multiplier(_distance_factor(scale, np.float32(1)))
    return np.float64(1 << int(31 - exponent)) / np.float64(mantissa)


def _distance_factor(scale: np.float32, beta: np.float32) -> np.float64:
    factor = np.float64(beta) * np.float64(scale) * (1 << (31 - _EXPONENT_BITS))
    return min(factor, np.float64(fixed_point.ONE))


def _fixed(x: QuantizedType) -> tuple[Int64Array, Mask]:
    """Every value of x with `_BITS` integer bits, 0 for those that do not fit, and which of them fit."""
    factor = np.float64(x.scale) * (1 << (31 - _BITS))
    values = x.levels - x.zero_point
    inside = np.abs(values) < _radius(factor, _BITS)
    return multiply(np.where(inside, values, 0), factor), inside


def _radius(factor: np.float64, integer_bits: int) -> int:
    """The largest value that, times `factor`, certainly fits ``31 - integer_bits`` fractional bits."""
    exponent = int(quantize_multiplier(factor)[1])
    return math.floor(math.ldexp(((1 << integer_bits) - 1) << (31 - integer_bits), -exponent))


def _saturated(x: QuantizedType, inside: Mask, outputs: Int64Array, limits: tuple[int, int]) -> Int64Array:
    """Outputs within their limits, one of these where an input did not fit."""
    beyond = np.where(x.levels <= x.zero_point, *limits)
    return np.where(inside, np.clip(outputs, *limits), beyond)


def _saturated16(x: Int64Array) -> Int64Array:
    return np.clip(x, *value_range("int16"))


def _shifted_right16(x: Int64Array, bits: int) -> Int64Array:
    """``x / 2**bits`` of 16-bit numbers, half away from zero as gemmlowp finds it: by a mask that has only 16 bits."""
    mask = ((1 << bits) - 1) if bits < 16 else -1
    threshold = (mask >> 1) + (x < 0)
    return (x >> bits) + ((x & mask) > threshold)


def logistic_of_16_bits() -> Int64Array:
    """The table that the functions of LSTM gates interpolate in: 65536 times the logistic function of i / 24, i < 256.

    It stands in TFLite Micro's sources, most entries rounded to the nearest integer.
    """
    values = np.floor(65536 / (1 + np.exp(-np.arange(256) / 24)) + 0.5).astype(np.int64)
    values[list(_ONE_MORE)] += 1
    return np.minimum(values, 65535)


_STEPS = 512
"""Steps between the entries of a table for 16 bits."""


def exponentials_of_16_bits() -> Int64Array:
    """Entries for numbers from -10 to 0, 0 of them at the last, with 15 bits after the point, shape (513,)."""
    return _interpolation_table(np.float32(10) / np.float32(65535), 32767, lambda x: np.exp(x.astype(np.float64)))


def reciprocals_of_16_bits() -> Int64Array:
    """Entries of ``1 / (1 + x)`` for x from 0 to 1, with 15 bits after the point, shape (513,)."""
    return _interpolation_table(np.float32(1) / np.float32(65535), -32768, lambda x: 1 / (1 + x))


def _interpolation_table(
    scale: np.float32, zero_point: int, function: Callable[[Float32Array], npt.NDArray[np.floating]]
) -> Int64Array:
    """Entries of a table of `_STEPS` steps, so that 16-bit numbers between two entries are off by little.

    TFLite Micro computes in float32 and takes off half of what the middle between two entries is off by.
    """
    low, high = (scale * np.float32(level - zero_point) for level in value_range("int16"))
    step = (high - low) / np.float32(_STEPS)
    inverse = np.float32(65536) / (np.float32(2 / 65535) * np.float32(65535))
    places = low + np.arange(_STEPS + 1, dtype=np.float32) * step
    places[-1] = high
    following = low + np.arange(1, _STEPS + 1, dtype=np.float32) * step

    def levels(x: Float32Array) -> Float32Array:
        return function(x).astype(np.float32) * inverse

    samples = _rounded(levels(places))
    between = _rounded((levels(following) + samples[:-1]) / np.float32(2))
    bias = _rounded((between - _rounded(levels(places[:-1] + step / np.float32(2)))) / np.float32(2))
    entries = np.append(samples[:-1] - bias, samples[-1])
    return np.clip(entries, *value_range("int16")).astype(np.int64)


def _rounded(x: Float32Array) -> Float32Array:
    """To whole numbers, half away from zero."""
    return np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x)
