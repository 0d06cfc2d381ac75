"""float32 where a network begins and ends in it: the step function that makes 8 bits of a real number."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from match.ir.dtypes import value_range

_REACH = 100

_BITS = np.int64(0x7FFFFFFF)
_INFINITE = np.int64(0x7F800000)


def can_be_packed(scale: float) -> bool:
    """Whether a positive scale is so far from the ends of float32 that all steps between outputs are normal numbers."""
    return scale > 0 and -_REACH < math.frexp(scale)[1] < _REACH


@dataclass(frozen=True, eq=False)
class FloatQuantization:
    """``clip(round(x / scale) + zero_point)``, the quotient in float32, clipped to `dtype`.

    Halves are rounded to the even integer or, where not `half_to_even`, away from 0. With `zero_first` the zero point
    is added before rounding, in float32. The outputs for numbers in ascending order ascend, so that 255 steps say all
    about them.
    """

    scale: np.float32
    zero_point: int
    dtype: str
    half_to_even: bool
    zero_first: bool = False

    @property
    def lowest(self) -> int:
        """The smallest output."""
        return value_range(self.dtype)[0]

    def __call__(self, x: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
        """Outputs for numbers, infinite ones among them."""
        first = self.zero_point if self.zero_first else 0
        behind = self.zero_point - first
        low, high = (end - behind for end in value_range(self.dtype))
        with np.errstate(over="ignore"):
            quotient = np.clip(x / self.scale + np.float32(first), np.float32(low), np.float32(high))
        away = np.trunc(quotient + np.copysign(np.float32(0.5), quotient).astype(np.float64))
        rounded = np.rint(quotient) if self.half_to_even else away
        return rounded.astype(np.int64) + behind

    @cached_property
    def steps(self) -> npt.NDArray[np.int32]:
        """For each output but the largest the `order` of the last number that has it or a smaller one; shape (255,)."""
        wanted = np.arange(1, 256) + self.lowest
        low, high = np.full(255, -_INFINITE - 1), np.full(255, _INFINITE)
        while np.any(high - low > 1):
            middle = (low + high) >> 1
            reached = self(ordered(middle)) >= wanted
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return low.astype(np.int32)


def order(x: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Their places among all numbers: the bits as an integer, those of negative numbers but the sign turned over."""
    bits = x.view(np.int32).astype(np.int64)
    return np.where(bits < 0, bits ^ _BITS, bits)


def ordered(places: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """The numbers at these places."""
    return np.where(places < 0, places ^ _BITS, places).astype(np.int32).view(np.float32)
