"""A function of real numbers, rounded to 8 bits, from a few 8-bit tensors of these numbers, within one step.

The numbers between which the function changes are cut into parts of 256 levels. The tensor of a part clips them at the
ends of the part. The function is a table of one tensor, or of several the sum of what each part adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from match.arithmetic.element_functions import ElementFunction
from match.arithmetic.interface import QuantizedType
from match.ir.constants import LOOKUP_SUM_FRACTION
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array

Reals = npt.NDArray[np.float64]
Steps = Callable[[Reals], Reals]
"""A function of real numbers, in steps of 8 bits that are not rounded, but clipped."""

LEVELS = 256
_UNCHANGED = 1 / 16
"""Steps that the function may change by outside of the parts."""

_OFF = 0.5 + 1 / 8
"""Levels that a tensor is off by: it is rounded, and off by at most 1/8 before (`match.quantized.normalized_rows`)."""

_MOST_OFF = 1 - 1 / 8
"""Steps that the function of a tensor's levels may be off by, so that outputs are within one step."""

_MOST_PARTS = 8
"""Each is a layer of its own."""

_BOUNDS = _MOST_OFF, 5 / 8, 3 / 8, 1 / 8
"""Steps that functions may be off by, the most first: parts are as fine as their number allows."""

_LEAST, _LARGEST = -20, 20
"""Powers of two between which it is looked for where a function changes last."""

_SAMPLES, _AROUND, _HALVINGS = 1 << 14, 17, 10


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

    parts: side by side, the lowest first. tables: of one part its outputs, shape (256,); of several for each but the
    first what the tensor of all lower parts and its own tensor add up, by level, shape (2, 256), with
    `LOOKUP_SUM_FRACTION` bits after the point. output: quantization of the function's results.
    """

    parts: Sequence[Levels]
    tables: Sequence[Int64Array]
    output: QuantizedType


def in_parts(function: Steps, output: QuantizedType, reach: float) -> InParts | None:
    """A function in steps of an output, of numbers of at most a magnitude; None where no parts are fine enough."""
    parts = parts_of(function, reach)
    if parts is None:
        return None
    first, *others = (_fixed_point(function(part.numbers) + 0.5) for part in parts)
    if not others:
        return InParts(parts, [first >> LOOKUP_SUM_FRACTION], output)
    tables: list[Int64Array] = []
    below, top = first, int(first[-1])  # what the tensor of lower parts is, and what it is where these end
    for values in others:
        more = values - top  # rounding in between moves no output: it is known where the next part begins
        more[0] = 0  # which float32 may make less, where the parts meet
        tables.append(np.stack([below, more]))
        top = (top + int(more[-1])) >> LOOKUP_SUM_FRACTION << LOOKUP_SUM_FRACTION
        below = _fixed_point(output.levels.astype(np.float64))
    return InParts(parts, tables, output)


def _fixed_point(steps: Reals) -> Int64Array:
    return np.rint(np.ldexp(steps, LOOKUP_SUM_FRACTION)).astype(np.int64)


def in_steps(function: ElementFunction, output: QuantizedType, clip: tuple[int, int] | None = None) -> Steps:
    """A function of one number in steps of what its results are quantized to, and clipped to, else to all it has."""
    ends = clip or value_range(output.dtype)

    def steps(numbers: Reals) -> Reals:
        values = function(numbers.reshape(-1).astype(np.float32)).astype(np.float64).reshape(numbers.shape)
        return (values / float(output.scale) + output.zero_point).clip(*ends)

    return steps


def parts_of(function: Steps, reach: float) -> Sequence[Levels] | None:
    """As few parts as are fine enough for numbers of at most a magnitude; None where `_MOST_PARTS` are too coarse."""
    samples = np.linspace(-reach, reach, _SAMPLES)
    steps = function(samples)
    if not np.isfinite(steps).all():
        return None
    below, above = (np.flatnonzero(np.abs(steps - end) > _UNCHANGED) for end in (steps[0], steps[-1]))
    if not below.size:
        return None
    low, high = (float(samples[place]) for place in (max(below[0] - 1, 0), min(above[-1] + 1, _SAMPLES - 1)))
    found: Sequence[Levels] | None = None
    for most in _BOUNDS:
        parts = _parts(function, low, high, most)
        if parts is None or (found is not None and len(parts) > len(found)):
            break
        found = parts
    return found


def reach_of(function: Steps) -> float | None:
    """The least power of two beyond that a function of numbers does not change; None if it goes on changing."""
    sides = [sign * np.ldexp(np.linspace(0.5, 1, 256), _LARGEST) for sign in (1, -1)]
    ends = [function(side[-1:]) for side in sides]
    for power in range(_LARGEST, _LEAST, -1):
        changed = (np.abs(function(side) - end).max() > _UNCHANGED for side, end in zip(sides, ends, strict=True))
        if any(changed):
            return None if power == _LARGEST else 2.0**power
        sides = [side / 2 for side in sides]
    return None


def _parts(function: Steps, low: float, high: float, most: float) -> Sequence[Levels] | None:
    """Parts from one number to another, each as long as the function is off by less than `most` steps in it."""
    parts: list[Levels] = []
    while low < high:
        end = _end(function, low, high, most)
        if end == low or len(parts) == _MOST_PARTS:
            return None
        parts.append(Levels(low, (end - low) / (LEVELS - 1)))
        low = end
    return parts


def _end(function: Steps, low: float, high: float, most: float) -> float:
    """The number up to which one part that begins at `low` is fine enough, as far as bisection finds it."""
    if _off(function, low, high) < most:
        return high
    near, far = low, high
    for _ in range(_HALVINGS):
        middle = (near + far) / 2
        near, far = (middle, far) if _off(function, low, middle) < most else (near, middle)
    return near


def _off(function: Steps, start: float, end: float) -> float:
    """By how many steps the function differs at most between a level of one part and what is rounded to it.

    What is beyond the end of a part, another one tells, or the function does not change there.
    """
    part = Levels(start, (end - start) / (LEVELS - 1))
    near = (part.numbers[:, None] + part.step * np.linspace(-_OFF, _OFF, _AROUND)).clip(start, end)
    return float(np.abs(function(near) - function(part.numbers)[:, None]).max())
