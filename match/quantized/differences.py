"""Functions of the difference of two 8-bit tensors, such as comparisons: an addition and a table.

The difference is clipped to -128 .. 127, which leaves it its sign.
"""

from __future__ import annotations

import numpy as np

from match.graph.make import lookup
from match.graph.pairs import Addition
from match.graph.value import Value, computed
from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array

_SHIFT = 14
"""The least shift of additions that modules take."""


def clipped_differences() -> Int64Array:
    """Each entry of an ascending table less each entry of another one, clipped, shape (256, 256)."""
    return np.subtract.outer(np.arange(256), np.arange(256)).clip(-128, 127)


def of_difference(a: Value, b: Value, outputs: Int64Array, dtype: str, *, exact: bool = True) -> Value:
    """A function of a less b: `outputs` (256,) for differences from -128 to 127, clipped to these.

    Values count from the lowest of their type. Not `exact`: the outputs may be a step off the reference's.
    """
    lowest_first, lowest_second = (value_range(each.dtype)[0] for each in (a, b))
    bias = (128 - lowest_first + lowest_second) << _SHIFT
    one = 1 << _SHIFT
    addition = Addition(multipliers=(one, -one), bias=bias, shift=_SHIFT, clip=(0, 255), dtype="uint8")
    return lookup(computed(addition, a, b), outputs.astype(dtype), exact=exact)
