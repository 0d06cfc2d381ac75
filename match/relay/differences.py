"""Functions of the difference of two 8-bit tensors, such as comparisons: an addition and a table.

The difference is clipped to -128 .. 127, which leaves it its sign.
"""

from __future__ import annotations

import numpy as np

from match.ir.dtypes import value_range
from match.ir.requantization import Int64Array
from match.relay import integer_form, relay

_SHIFT = 14
"""The least shift of additions that modules take."""


def clipped_differences() -> Int64Array:
    """Each entry of an ascending table less each entry of another one, clipped, shape (256, 256)."""
    return np.subtract.outer(np.arange(256), np.arange(256)).clip(-128, 127)


def of_difference(
    a: relay.Expr, b: relay.Expr, outputs: Int64Array, dtypes: tuple[str, str], dtype: str, *, real: bool = False
) -> relay.Expr:
    """A function of a less b: `outputs` (256,) for differences from -128 to 127, clipped to these.

    Values count from the lowest of their type. `real`: see `match.relay.integer_form.real_sums`.
    """
    lowest_first, lowest_second = (value_range(each)[0] for each in dtypes)
    bias = (128 - lowest_first + lowest_second) << _SHIFT
    one = 1 << _SHIFT
    difference = integer_form.add(a, b, (one, -one), bias, _SHIFT, (0, 255), "uint8")
    return integer_form.lookup(difference, outputs, "uint8", dtype, real=real)
