"""An element-wise function of two 8-bit tensors: an addition, a sum of lookups, a table of differences, or a line."""

from __future__ import annotations

import numpy as np

from match.arithmetic.plane_fit import close_plane, fit_plane, fit_tables
from match.graph.pairs import Addition, LookupSum
from match.graph.value import Value, computed
from match.ir.dtypes import levels
from match.ir.requantization import Int64Array
from match.quantized.differences import clipped_differences, of_difference
from match.quantized.pairs import function_of_pairs


def function_of_two(
    a: Value,
    b: Value,
    outputs: Int64Array,
    slopes: tuple[float, float],
    clip: tuple[int, int],
    dtype: str,
    *,
    close: bool = False,
    exact: bool = True,
) -> Value:
    """The function as an addition if a plane gives all its outputs, as a sum of lookups, or as a table of differences.

    Differences tell the outputs of comparisons. Other functions are as in `function_of_pairs`.

    Args:
        a: the first tensor.
        b: the second one.
        outputs: for every pair of levels, shape (256, 256).
        slopes: see `match.arithmetic.plane_fit.fit_plane`.
        clip: what outputs are clipped to.
        dtype: of the outputs.
        close: True takes a plane within one step where there is one, before tables.
        exact: False: the outputs themselves may be a step off the reference's.
    """
    first, second = levels(a.dtype), levels(b.dtype)
    plane = fit_plane(outputs, first, second, slopes, clip)
    near = close_plane(outputs, first, second, slopes, clip) if close and plane is None else None
    found = plane or near
    if found is not None:
        addition = Addition(
            multipliers=found.multipliers,
            bias=found.bias,
            shift=found.shift,
            clip=clip,
            dtype=dtype,
            ties_to_even=found.ties_to_even,
        )
        return computed(addition, a, b, exact=exact and near is None)
    tables = fit_tables(outputs, first, second, slopes, clip)
    if tables is not None:
        return computed(LookupSum(tables=tables, clip=clip, dtype=dtype), a, b, exact=exact)
    differences = _of_differences(outputs)
    if differences is not None:
        return of_difference(a, b, differences, dtype, exact=exact)
    return function_of_pairs(a, b, outputs, clip, dtype, exact=exact)


def _of_differences(outputs: Int64Array) -> Int64Array | None:
    """The outputs for clipped differences (256,) if all outputs are functions of these (comparisons); else None."""
    places = clipped_differences() + 128
    each = np.zeros(256, np.int64)
    each[places] = outputs
    return each if np.array_equal(each[places], outputs) else None
