"""An element-wise function of two 8-bit tensors: an addition, a sum of lookups, a table of differences, or a line."""

from __future__ import annotations

import numpy as np

from match.arithmetic.plane_fit import close_plane, fit_plane, fit_tables
from match.ir.dtypes import levels
from match.ir.requantization import Int64Array
from match.relay import integer_form, relay
from match.relay.differences import clipped_differences, of_difference
from match.relay.pairs import function_of_pairs


def function_of_two(
    a: relay.Expr,
    b: relay.Expr,
    outputs: Int64Array,
    dtypes: tuple[str, str],
    slopes: tuple[float, float],
    clip: tuple[int, int],
    dtype: str,
    *,
    exact: bool = True,
    real: bool = False,
) -> relay.Expr:
    """The function as an addition if a plane gives all its outputs, as a sum of lookups, or as a table of differences.

    Differences tell the outputs of comparisons. Other functions are as in `function_of_pairs`.

    Args:
        a: the first tensor.
        b: the second one.
        outputs: for every pair of levels, shape (256, 256).
        dtypes: of the two tensors.
        slopes: see `match.arithmetic.plane_fit.fit_plane`.
        clip: what outputs are clipped to.
        dtype: of the outputs.
        exact: False takes a plane within one step where there is one, before tables.
        real: the outputs may themselves be a step off the reference's (`match.relay.integer_form.real_sums`).
    """
    first, second = (levels(each) for each in dtypes)
    plane = fit_plane(outputs, first, second, slopes, clip)
    close = None if exact or plane is not None else close_plane(outputs, first, second, slopes, clip)
    found = plane or close
    if found is not None:
        real = real or close is not None
        factors, ties = found.multipliers, found.ties_to_even
        return integer_form.add(a, b, factors, found.bias, found.shift, clip, dtype, ties_to_even=ties, real=real)
    tables = fit_tables(outputs, first, second, slopes, clip)
    if tables is not None:
        return integer_form.lookup_sum(a, b, dtypes, tables, clip, dtype, real=real)
    differences = _of_differences(outputs)
    if differences is not None:
        return of_difference(a, b, differences, dtypes, dtype, real=real)
    return function_of_pairs(a, b, outputs, dtypes, clip, dtype, real=real)


def _of_differences(outputs: Int64Array) -> Int64Array | None:
    """The outputs for clipped differences (256,) if all outputs are functions of these (comparisons); else None."""
    places = clipped_differences() + 128
    each = np.zeros(256, np.int64)
    each[places] = outputs
    return each if np.array_equal(each[places], outputs) else None
