"""Helpers of operators that describe themselves as layers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.arithmetic.tflite import scaling
from match.ir.dtypes import value_range
from match.ir.layer import Layer, Op, Padding
from match.ir.requantization import Int64Array, Requantization

UNSCALED = "its output's scale is too fine for the input's"
"""Why no kernel changes the scale of integers so."""

NO_PADDING = Padding()

_WORD = 32


def element_wise(op: Op, shape: Sequence[int], x_dtype: str, dtype: str) -> Layer:
    """A channelwise layer between tensors of one shape: the last axis is K, the one before OX, all others OY."""
    *outer, ox, k = (1, 1, *shape)
    oy = math.prod(outer)
    return Layer(
        name=op.value,
        op=op,
        k=k,
        c=1,
        oy=oy,
        ox=ox,
        iy=oy,
        ix=ox,
        input_dtype=x_dtype,
        weight_dtype="",
        output_dtype=dtype,
        clip=value_range(dtype) if dtype in ("int8", "uint8") else (0, 0),
    )


def without_idle_parts(requantization: Requantization, low: Int64Array, high: Int64Array) -> Requantization:
    """The requantization without corrections and exceptions that no accumulator from `low` to `high` meets."""
    below, exceptions = requantization.negative_below, requantization.exceptions
    if below is not None and not np.any(low < below):
        requantization = replace(requantization, negative_below=None, negative_step=None)
    if exceptions is not None and not np.any((exceptions >= low[:, None]) & (exceptions <= high[:, None])):
        requantization = replace(requantization, exceptions=None)
    return requantization


def scaling_words(mantissa: npt.ArrayLike, exponent: npt.ArrayLike, shift: npt.ArrayLike = 0) -> npt.NDArray[np.int32]:
    """match_scaling_t (match_tile.h) of ``mantissa * 2**(exponent + shift - 31)``, along a last axis of 4 words.

    `shift` is a shift to the left before the product; an exponent below 0 shifts right after it.
    """
    exponents = np.asarray(exponent, np.int64)
    left, right = 1 + np.asarray(shift) + np.maximum(exponents, 0), np.maximum(-exponents, 0)
    return np.stack([np.asarray(mantissa, np.int64), left, right, (1 << right) >> 1], axis=-1).astype(np.int32)


def fitting_words(mantissa: int, exponent: int, bits: int) -> npt.NDArray[np.int32] | None:
    """`scaling_words` of one scaling, if numbers of so many bits fit 32 bits when they are shifted left; else None."""
    words = scaling_words(mantissa, exponent)
    return words if bits + words[1] <= _WORD else None


def words_of_line(line: Requantization, bits: int) -> npt.NDArray[np.int32] | None:
    """`fitting_words` of a line of one channel.

    None also for a line that `match.arithmetic.tflite.scaling` does not make of an offset of 0.
    """
    exponent = 31 - line.shift
    expected = scaling(line.multiplier, exponent, np.zeros(1, np.int64), line.clip)
    parts = (line.bias, expected.bias), (line.negative_below, expected.negative_below)
    if any((one is None) != (other is None) or np.any(one != other) for one, other in parts):
        return None
    return fitting_words(int(line.multiplier[0]), int(exponent[0]), bits)
