"""Any function of two 8-bit tensors, element by element: a line for each value of one of them, or all pairs."""

from __future__ import annotations

from match.arithmetic.plane_fit import fit_lines
from match.ir.dtypes import levels
from match.ir.requantization import Int64Array
from match.relay import integer_form, relay


def function_of_pairs(
    a: relay.Expr,
    b: relay.Expr,
    outputs: Int64Array,
    dtypes: tuple[str, str],
    clip: tuple[int, int],
    dtype: str,
    *,
    real: bool = False,
) -> relay.Expr:
    """The function as lines of one tensor that the other one chooses, if lines give all outputs, else as 65536 values.

    One tensor may be broadcast.

    Args:
        a: the first tensor.
        b: the second one.
        outputs: for every pair of levels, shape (256, 256).
        dtypes: of the two tensors.
        clip: what outputs are clipped to.
        dtype: of the outputs.
        real: the outputs may themselves be a step off the reference's (`match.relay.integer_form.real_sums`).
    """
    for x, of, other, table in ((a, 0, b, outputs), (b, 1, a, outputs.T)):
        lines = fit_lines(table, levels(dtypes[of]), clip)
        if lines is not None:
            return integer_form.lookup_line(x, other, (dtypes[of], dtypes[1 - of]), lines, clip, dtype, real=real)
    return integer_form.lookup_pair(a, b, outputs, dtypes, dtype, real=real)
