"""Quantizations of whole tensors and of each place along an axis, in any type of integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import Float32Array
from match.graph.elements import Dequantize, Quantize
from match.graph.make import arithmetic, array_of, cast, constant
from match.graph.real_functions import real
from match.graph.reals import REAL, Levels, RealClip, RealFunction
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.ir.float_border import FloatQuantization
from match.ir.requantization import Int64Array

_NARROW = "int8", "uint8"
_LEVELS = *_NARROW, "int32"
"""Types of constants that layers read as they are."""

_STORED = *_NARROW, "int16"
"""Types that real numbers are quantized to in one operator."""


@dataclass(frozen=True, eq=False)
class Scales:
    """What integers stand for: ``scale * (integer - zero point)``, one of each, or one for each place along an axis.

    scales, zero_points: both of shape (1,) or (n,).
    """

    scales: Float32Array
    zero_points: Int64Array
    axis: int

    def along(self, numbers: npt.NDArray[Any], rank: int) -> npt.NDArray[Any]:
        """Scales or zero points in a shape that broadcasts with a tensor of so many axes."""
        return numbers.reshape([-1 if axis == self.axis else 1 for axis in range(rank)] if numbers.size > 1 else ())

    def quantized(self, x: Value, dtype: str) -> Value:
        """Real numbers as integers of a type, halves rounded to the even one.

        With several scales, numbers are divided by these first, and quantized with a scale of 1. Zero points of their
        own are added to the quotients, so that halves may go to the other of two integers.
        """
        if self.scales.size == 1 and dtype in _STORED:
            return _quantized(x, self.scales[0], int(self.zero_points[0]), dtype)
        if dtype not in _NARROW:
            return self._rounded(x, dtype)
        if self._common is not None:
            return _quantized(self._divided(x, dtype), np.float32(1), self._common, dtype)
        quotients = real("divide", x, constant(self.along(self.scales, len(x.shape))))
        added = constant(self.along(self.zero_points, len(x.shape)).astype(np.float32))
        return _quantized(real("add", quotients, added, exact=False), np.float32(1), 0, dtype)

    def steps(self, x: Value) -> Value:
        """Integers less their zero points, in 32 bits."""
        wide = cast(x, "int32")
        if not self.zero_points.any():
            return wide
        return arithmetic("subtract", wide, constant(self.along(self.zero_points, len(x.shape)), "int32"))

    def dequantized(self, x: Value) -> Value:
        """Integers as real numbers, constant or not."""
        levels = array_of(x)
        if levels is not None and levels.dtype.name in _LEVELS:
            return computed(Levels(levels=levels, scales=self.scales, zero_points=self.zero_points, axis=self.axis))
        if levels is not None:
            steps = levels.astype(np.int64) - self.along(self.zero_points, levels.ndim)
            return constant(steps.astype(np.float32) * self.along(self.scales, levels.ndim))
        rank, common = len(x.shape), self._common
        scales = constant(self.along(self.scales, rank))
        if x.dtype not in _NARROW:
            return real("multiply", computed(RealFunction(function="cast", dtype=REAL), self.steps(x)), scales)
        if self.scales.size == 1:
            return computed(Dequantize(scale=np.float32(self.scales[0]), zero_point=int(self.zero_points[0])), x)
        steps = computed(Dequantize(scale=np.float32(1), zero_point=common or 0), x)
        if common is None:
            steps = real("subtract", steps, constant(self.along(self.zero_points, rank).astype(np.float32)))
        return real("multiply", steps, scales)

    @property
    def _common(self) -> int | None:
        """The zero point of all places; None if these differ."""
        return int(self.zero_points[0]) if len(np.unique(self.zero_points)) == 1 else None

    def _divided(self, x: Value, dtype: str) -> Value:
        """Real numbers over the scales of their places. What only cuts off negative numbers does so with quotients."""
        clip = x.operator
        if isinstance(clip, RealClip) and clip.low == 0 and self._reaches(clip.high, dtype):
            return computed(RealClip(low=0.0, high=np.inf), self._divided(x.inputs[0], dtype))
        return real("divide", x, constant(self.along(self.scales, len(x.shape))))

    def _reaches(self, number: float, dtype: str) -> bool:
        """Whether a number is beyond the largest integer of each place, or becomes that."""
        levels = np.rint(np.float32(number) / self.scales) + self.zero_points
        return bool(np.all(levels >= value_range(dtype)[1]))

    def _rounded(self, x: Value, dtype: str) -> Value:
        """Integers of other types, step by step."""
        rank, limits = len(x.shape), np.iinfo(dtype)
        levels = real("round_half_to_even", real("divide", x, constant(self.along(self.scales, rank))))
        zeros = constant(self.along(self.zero_points, rank).astype(np.float32))
        levels = computed(RealClip(low=float(limits.min), high=float(limits.max)), real("add", levels, zeros))
        return computed(RealFunction(function="cast", dtype=dtype), levels)


def _quantized(x: Value, scale: np.float32, zero_point: int, dtype: str) -> Value:
    return computed(Quantize(function=FloatQuantization(scale, zero_point, dtype, half_to_even=True)), x)
