"""Rows of 8 bits, normalized in integers: the constants of the operator (`match.graph.rows.Normalization`).

The reference computes in floating point. Before they are rounded, outputs are off by no more than 255 * 2**-14 steps
for the gain's own rounding and 2**-13 of the steps that one deviation has; `_MOST_STEPS` keeps that below 1/8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import QuantizedType
from match.graph.rows import DEVIATION_FRACTION, SPREAD_FRACTION, Normalization
from match.ir import constants
from match.ir.requantization import Requantization

Reals = npt.NDArray[np.float64]

SHORTEST_ROW, LONGEST_ROW = 8, 2048
"""Elements of a row: below, variances are so coarse that epsilon needs more bits; above, sums do not fit."""

GAIN_ONE = 1 << 13
"""The largest gain: times a distance from the mean, int32 holds it."""

_MOST_STEPS = 1 << 10
"""Steps of the output that a deviation times the largest gain may have."""

_MOST_SPREAD = 1 << 44
"""The largest spread that epsilon makes (`match.ir.constants.Normalization`); 2**44 is about the largest variance."""

_FAR = 1 << 16
"""Steps of an output beyond which a bias alone clips it."""

_MOST_SHIFT = 40


@dataclass(frozen=True)
class Steps:
    """8 bits of a type, of real numbers ``(level - zero) * scale``, clipped to a closed range."""

    scale: float
    zero: float
    clip: tuple[int, int]
    dtype: str


@dataclass(frozen=True, eq=False)
class NormalizedRow:
    """``(x - mean) / deviation`` of rows, or if not `centred` ``x / root mean square``, times a gain, plus a bias.

    epsilon: what is added to the variance, or to the mean of the squares. gain, bias: shape (width,).
    """

    epsilon: float
    centred: bool
    gain: Reals
    bias: Reals

    def of(self, x: QuantizedType, steps: Steps) -> Normalization | None:
        """The operator on integers with a quantization; None where these are not fine enough, or have no room."""
        width, largest = len(self.gain), np.abs(self.gain).max() or 1.0
        if not SHORTEST_ROW <= width <= LONGEST_ROW or largest > _MOST_STEPS * steps.scale:
            return None
        spread = max(1, round(self.epsilon * (width / float(x.scale)) ** 2 * (1 << SPREAD_FRACTION)))
        if spread > _MOST_SPREAD:
            return None
        gains = np.rint(self.gain / largest * GAIN_ONE).astype(np.int16)
        factor = largest / (steps.scale * GAIN_ONE * (1 << DEVIATION_FRACTION))
        return Normalization(
            normalization=constants.Normalization(spread, gains, None if self.centred else x.zero_point),
            requantization=_line(factor, self.bias / steps.scale + steps.zero, steps.clip),
            dtype=steps.dtype,
        )


def _line(factor: float, offsets: Reals, clip: tuple[int, int]) -> Requantization:
    """``sum * factor + offset`` of each channel, rounded half up, with 24 bits of the factor.

    A factor that is so small that biases would not fit 64 bits has fewer; then sums of 31 bits move outputs by less
    than 2**-9 steps.
    """
    shift = min(24 - math.frexp(factor)[1], _MOST_SHIFT)
    ones = np.ones(len(offsets), np.int64)
    bias = np.rint(np.ldexp(offsets.clip(-_FAR, _FAR) + 0.5, shift)).astype(np.int64)
    return Requantization(ones * round(math.ldexp(factor, shift)), bias, ones * shift, clip)
