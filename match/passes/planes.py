"""An element-wise function of two 8-bit tensors: an addition, if its outputs are those of a plane, else a table."""

from __future__ import annotations

from match.arithmetic.interface import QuantizedType
from match.arithmetic.plane_fit import close_plane, fit_plane
from match.ir.requantization import Int64Array
from match.relay import integer_form, relay


def plane_of(
    a: relay.Expr,
    b: relay.Expr,
    outputs: Int64Array,
    types: tuple[QuantizedType, QuantizedType],
    slopes: tuple[float, float],
    clip: tuple[int, int],
    dtype: str,
    *,
    exact: bool = True,
    real: bool = False,
) -> relay.Expr:
    """The function as an addition if a plane gives all its outputs, else as a table of 65536 values.

    Args:
        a: the first tensor.
        b: the second one.
        outputs: for every pair of levels, shape (256, 256).
        types: of the two tensors.
        slopes: see `match.arithmetic.plane_fit.fit_plane`.
        clip: what outputs are clipped to.
        dtype: of the outputs.
        exact: False takes a plane within one step where there is one, before a table.
        real: the outputs may themselves be a step off the reference's (`match.relay.integer_form.real_sums`).
    """
    levels = types[0].levels, types[1].levels
    plane = fit_plane(outputs, *levels, slopes, clip)
    close = None if exact or plane is not None else close_plane(outputs, *levels, slopes, clip)
    found = plane or close
    if found is None:
        return integer_form.lookup_pair(a, b, outputs, (types[0].dtype, types[1].dtype), dtype, real=real)
    real = real or close is not None
    return integer_form.add(a, b, found.multipliers, found.bias, found.shift, clip, dtype, real=real)
