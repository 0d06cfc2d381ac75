"""gemmlowp's fixed-point functions, as TFLite Micro's kernels call them, on int64 arrays.

A number with i integer bits stands for ``raw / 2**(31 - i)``; raws are in the range of int32. Products are rounded half
up at bit 31, right shifts half away from zero. Constants are the nearest raws of their real values, and series and
iterations are gemmlowp's (`fixedpoint.h`), since every rounding counts.
"""

from __future__ import annotations

import math

import numpy as np

from match.ir.requantization import Int64Array

ONE = (1 << 31) - 1
"""1 without integer bits, which is the largest raw."""

RECIPROCAL_START = round(48 / 17 * (1 << 29)), -round(32 / 17 * (1 << 29))
"""The line ``48/17 - 32/17 * d``, 2 integer bits, from which the reciprocal of d in [1/2, 1] is approached."""

RECIPROCAL_STEPS = 3
"""Newton-Raphson steps of the reciprocal."""

_LEAST, _LARGEST = -(1 << 31), (1 << 31) - 1
_QUARTER = -2
_THIRD = round((1 << 31) / 3)
_HALF_SQUARE_ROOT_OF_TWO = round(math.sqrt(2) / 2 * (1 << 31))
_EXP_OF_MINUS_EIGHTH = round(math.exp(-1 / 8) * (1 << 31))


def product(a: Int64Array, b: Int64Array | int) -> Int64Array:
    """The product of two raws; its integer bits are those of both together."""
    return (a * b + (1 << 30)) >> 31


def shifted_right(x: Int64Array, bits: int | Int64Array) -> Int64Array:
    """``x / 2**bits``, rounded half away from zero."""
    half = np.left_shift(np.int64(1), bits) >> 1
    return (x + np.where(x < 0, np.maximum(half - 1, 0), half)) >> bits


def exp(x: Int64Array, integer_bits: int) -> Int64Array:
    """The exponential, without integer bits, of numbers <= 0: a series on a quarter, times constants for the rest."""
    fractional_bits = 31 - integer_bits
    quarter = 1 << (fractional_bits + _QUARTER)
    within = (x & (quarter - 1)) - quarter
    result = _exp_of_last_quarter(within << integer_bits)
    rest = within - x
    for power in range(_QUARTER, integer_bits):
        factor = round(math.exp(-(2.0**power)) * (1 << 31))
        result = np.where(rest & (1 << (fractional_bits + power)), product(result, factor), result)
    return np.where(x == 0, ONE, result)


def logistic(x: Int64Array, integer_bits: int) -> Int64Array:
    """``1 / (1 + exp(-x))`` without integer bits."""
    positive = reciprocal_of_one_plus(exp(-np.abs(x), integer_bits))
    return np.where(x == 0, 1 << 30, np.where(x > 0, positive, ONE - positive))


def reciprocal_of_one_plus(x: Int64Array) -> Int64Array:
    """``1 / (1 + x)`` without integer bits, of numbers x from 0 to 1 without integer bits."""
    return _saturated(_reciprocal_of_half(_half_of_one_plus(x)) << 1)


def tanh(x: Int64Array, integer_bits: int) -> Int64Array:
    """The hyperbolic tangent without integer bits: ``(1 - y) / (1 + y)`` of ``y = exp(-2 * abs(x))``, with x's sign."""
    reciprocal = _reciprocal_of_half(_half_of_one_plus(exp(-np.abs(x), integer_bits + 1)))
    return np.sign(x) * _saturated((reciprocal - (1 << 29)) << 2)


def inverse_square_root(x: Int64Array) -> tuple[Int64Array, Int64Array]:
    """A multiplier and right shift with ``1 / sqrt(x)`` about ``multiplier * 2**(-31 - shift)``, of integers from 1 on.

    TFLite Micro brings x between 1/4 and 1 with 3 integer bits by an even shift and starts Newton's iteration at 1.
    """
    shift = np.full_like(x, 11)
    wide = x.copy()
    for _ in range(2):  # from 2**29 on, a quarter at a time, rounded down
        large = wide >= 1 << 29
        wide, shift = np.where(large, wide >> 2, wide), shift + large
    pairs = (30 - np.floor(np.log2(np.maximum(wide, 1))).astype(np.int64)) // 2 - 1
    fraction = (wide << (2 * pairs)) >> 1
    shift = shift - pairs
    half = shifted_right(fraction, 1)
    result = np.full_like(x, 1 << 28)
    for _ in range(5):
        cube = _saturated(product(product(result, result), result) << 6)
        result = _saturated((product(result, 3 << 27) - product(half, cube)) << 3)
    multiplier = product(result, _HALF_SQUARE_ROOT_OF_TWO)
    multiplier, shift = np.where(shift < 0, multiplier << np.maximum(-shift, 0), multiplier), np.maximum(shift, 0)
    return np.where(x <= 1, ONE, multiplier), np.where(x <= 1, 0, shift)


def logarithm(x: Int64Array) -> Int64Array:
    """The natural logarithm, with 5 integer bits, of numbers from 1 on with 12.

    TFLite Micro brings x to a power of two times r near 2**(-1/4), in two ways that overlap, and takes a quotient of
    polynomials of r.
    """
    quarter, fraction = 1 << (31 - 5 - 1 - 2), 31 - 5 - 1
    leading = 32 - _bits(x)
    first = _saturated(product(_saturated(x << (leading - 1)), round(2**30.5)) << 1)
    room = 31 - _bits(product(x, round(2**30.5)))
    second = _saturated(x << room)
    powers = ((12 - leading) << fraction) + quarter, ((12 - room) << fraction) - quarter
    r, power = np.minimum(first, second), np.maximum(*(_saturated(one) for one in powers))
    fourth_root, up = round(2**30.75), 2**0.25
    p, q = (r + fourth_root + 1) >> 1, (r - fourth_root) * 2
    square = product(q, q)
    a, b, c, d = (round(number * 2**31) for number in (11 / 240 * up, up / 20, 2 / up - up, up / 4))
    numerator = product(q, r) + product(product(q, square), a)
    rest = product(p, c + q + product(square, b)) + product(q, d)
    part = product(shifted_right(numerator, 5 + 1), reciprocal_of_one_plus(rest))
    return _saturated((product(power, round(math.log(2) * 2**31)) + part) * 2)


def _bits(x: Int64Array) -> Int64Array:
    """How many bits positive numbers have."""
    return np.frexp(x.astype(np.float64))[1].astype(np.int64)


def _exp_of_last_quarter(x: Int64Array) -> Int64Array:
    """The exponential on [-1/4, 0), no integer bits on either side: four terms of Taylor's series around -1/8."""
    x = x + (1 << 28)
    square = product(x, x)
    cube, fourth = product(square, x), product(square, square)
    higher = shifted_right(product(shifted_right(fourth, 2) + cube, _THIRD) + square, 1)
    return _EXP_OF_MINUS_EIGHTH + product(x + higher, _EXP_OF_MINUS_EIGHTH)


def _half_of_one_plus(x: Int64Array) -> Int64Array:
    return (x + ONE + 1) >> 1


def _reciprocal_of_half(divisor: Int64Array) -> Int64Array:
    """1 / divisor with 2 integer bits, of divisors in [1/2, 1] without integer bits, by Newton and Raphson."""
    constant, slope = RECIPROCAL_START
    result = constant + product(divisor, slope)
    for _ in range(RECIPROCAL_STEPS):
        result = result + (product(result, (1 << 29) - product(divisor, result)) << 2)
    return result


def _saturated(x: Int64Array) -> Int64Array:
    return np.clip(x, _LEAST, _LARGEST)
