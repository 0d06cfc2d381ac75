"""A function of real numbers, rounded to 8 bits, from one or two 8-bit tensors of these numbers, within one step.

The numbers between which the function changes are 256 levels, or two times 256: one tensor clips them from below at
the point where the parts meet, the other one from above. The function is a table of the one, or of both the sum of what
each part adds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.interface import QuantizedType
from match.ir.constants import LOOKUP_SUM_FRACTION
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.passes.element_functions import ElementFunction
from match.relay import integer_form, relay

Reals = npt.NDArray[np.float64]
Steps = Callable[[Reals], Reals]
"""A function of real numbers, in steps of 8 bits that are not rounded, but clipped."""

LEVELS = 256
UNCHANGED = 1 / 16
"""Steps that the function may change by outside of the parts."""

_OFF = 0.5 + 1 / 8
"""Levels that a tensor is off by: it is rounded, and its source off by at most 1/8 (`match.relay.normalization`)."""

_MOST_OFF = 1 - 1 / 8
"""Steps that the function of a tensor's levels may be off by, so that outputs are within one step."""

_SAMPLES, _SHARES, _AROUND = 1 << 14, 16, 17


@dataclass(frozen=True)
class Levels:
    """Levels of real numbers: the first one, and the distance from each to the next."""

    low: float
    step: float

    @property
    def numbers(self) -> Reals:
        """All of them, shape (256,)."""
        return self.low + self.step * np.arange(LEVELS, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class InParts:
    """A function of real numbers that is quantized, as the sum of what each part adds.

    parts: one or two, side by side. tables: what a part adds, by level, shape (parts, 256), in steps of the output with
    `LOOKUP_SUM_FRACTION` bits behind the point. output: quantization of the function's results.
    """

    parts: Sequence[Levels]
    tables: Int64Array
    output: QuantizedType

    def of(self, maps: Sequence[relay.Expr], dtype: str) -> relay.Expr:
        """The function of tensors of 8 bits, of a type: each has the levels of a part, in ascending order."""
        clip, own = value_range(self.output.dtype), self.output.dtype
        if len(maps) == 1:
            outputs = (self.tables[0] >> LOOKUP_SUM_FRACTION).clip(*clip)
            return integer_form.lookup(maps[0], outputs, dtype, own, real=True)
        return integer_form.lookup_sum(maps[0], maps[1], (dtype, dtype), self.tables, clip, own, real=True)


def in_parts(function: Steps, output: QuantizedType, reach: float) -> InParts | None:
    """A function in steps of an output, of numbers of at most a magnitude; None where no parts are fine enough."""
    parts = parts_of(function, reach)
    if parts is None:
        return None
    tables = tables_of(function, parts)
    tables[0] += 0.5
    return InParts(parts, np.rint(np.ldexp(tables, LOOKUP_SUM_FRACTION)).astype(np.int64), output)


def in_steps(function: ElementFunction, output: QuantizedType) -> Steps:
    """A function of one number in steps of what its results are quantized to."""

    def steps(numbers: Reals) -> Reals:
        values = function(numbers.reshape(-1).astype(np.float32)).astype(np.float64).reshape(numbers.shape)
        return (values / float(output.scale) + output.zero_point).clip(*value_range(output.dtype))

    return steps


def parts_of(function: Steps, reach: float) -> Sequence[Levels] | None:
    """One part or two that lie side by side, for numbers of at most a magnitude; None where these are too coarse."""
    samples = np.linspace(-reach, reach, _SAMPLES)
    steps = function(samples)
    if not np.isfinite(steps).all():
        return None
    below, above = (np.flatnonzero(np.abs(steps - end) > UNCHANGED) for end in (steps[0], steps[-1]))
    if not below.size:
        return None
    low, high = (float(samples[place]) for place in (max(below[0] - 1, 0), min(above[-1] + 1, _SAMPLES - 1)))
    meets = [low + (high - low) * share / _SHARES for share in range(1, _SHARES)]
    if low < 0 < high:  # where most activation functions bend
        meets.append(0)
    borders = [(low, high), *((low, place, high) for place in meets)]
    for ends in (borders[:1], borders[1:]):
        off, *_, best = min((_off(function, one), place, one) for place, one in enumerate(ends))
        if off < _MOST_OFF:
            return [Levels(start, (end - start) / (LEVELS - 1)) for start, end in itertools.pairwise(best)]
    return None


def _off(function: Steps, borders: Sequence[float]) -> float:
    """By how many steps the function differs at most between a level and what is rounded to it.

    What is beyond the end of a part, another one tells, or the function does not change there.
    """
    most = 0.0
    for start, end in itertools.pairwise(borders):
        part = Levels(start, (end - start) / (LEVELS - 1))
        near = (part.numbers[:, None] + part.step * np.linspace(-_OFF, _OFF, _AROUND)).clip(start, end)
        most = max(most, float(np.abs(function(near) - function(part.numbers)[:, None]).max()))
    return most


def tables_of(function: Steps, parts: Sequence[Levels]) -> Reals:
    """What each part adds to the function, by level, shape (parts, 256)."""
    values = np.stack([function(part.numbers) for part in parts])
    values[1:] -= values[1:, :1]
    return values
