"""Average pooling in float32: how integers tell its outputs (match_float_average_t)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from match.ir.float_border import FloatQuantization

_LARGEST_SHIFT = 22
_FARTHEST = 255
"""Steps between two inputs, or between two outputs, at most."""
_ROUNDING = 2.0**-24
"""What rounding to float32 changes at most, as a share of the number."""


@dataclass(frozen=True, eq=False)
class FloatAverage:
    """The mean of up to `count` values, ``(x - zero) * scale`` in float32, as a function of it says.

    Values and `zero` are counted from the lowest value of the type, as uint8 is.

    The integers' sum tells an output with the line ``(sum - zeros) * factor + bias``, `shift` bits after the point.
    The line is off by less than 256 * count, as the factor is rounded down for each number of values, and by 128 for
    the rounding of `multiplier`. The float32 is off by at most ``(count + 2) * 2**-24`` of the largest mean: that are
    the products' rounding and that of each addition (as in `match.arithmetic.window_means`); two divisions and an
    addition of the zero point round again. Where the line is less than both, `near`, from a border between two outputs,
    float32 decides.
    """

    scale: np.float32
    zero: int
    function: FloatQuantization
    count: int

    @property
    def numbers(self) -> npt.NDArray[np.float32]:
        """What each value stands for, shape (256,)."""
        return np.arange(-self.zero, 256 - self.zero).astype(np.float32) * self.scale

    @property
    def _ratio(self) -> float:
        return float(self.scale) / float(self.function.scale)

    @cached_property
    def shift(self) -> int:
        """As many bits after the point as fit 32 bits together with the farthest number; at least 1."""
        farthest = _FARTHEST * self._ratio + 257
        return max(1, min(_LARGEST_SHIFT, 30 - math.floor(math.log2(farthest))))

    @property
    def multiplier(self) -> int:
        """An input's steps in those of the output; 0 where it does not fit, so that float32 decides everything."""
        return round(math.ldexp(self._ratio, self.shift)) if self._fits else 0

    @property
    def bias(self) -> int:
        """The output of 0, counted from the lowest, and a half."""
        return ((2 * (self.function.zero_point - self.function.lowest) + 1) << self.shift) >> 1

    @property
    def near(self) -> int:
        """How far from a border integers decide; half of the way where that is nowhere."""
        half = 1 << (self.shift - 1)
        if not self._fits:
            return half
        rounded = _ROUNDING * (_FARTHEST * self._ratio * (self.count + 6) + 256)
        return min(half, 256 * self.count + 128 + math.ceil(math.ldexp(rounded, self.shift)) + 1)

    @property
    def _fits(self) -> bool:
        return math.ldexp(_FARTHEST * self._ratio + 257, self.shift) < 1 << 31
