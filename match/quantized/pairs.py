"""Any function of two 8-bit tensors, element by element: a line for each value of one of them, or all pairs."""

from __future__ import annotations

from match.arithmetic.plane_fit import fit_lines
from match.graph.make import lookup_pair
from match.graph.pairs import LookupLine
from match.graph.value import Value, computed
from match.ir.dtypes import levels
from match.ir.requantization import Int64Array


def function_of_pairs(
    a: Value, b: Value, outputs: Int64Array, clip: tuple[int, int], dtype: str, *, exact: bool = True
) -> Value:
    """The function as lines of one tensor that the other one chooses, if lines give all outputs, else as 65536 values.

    One tensor may be broadcast.

    Args:
        a: the first tensor.
        b: the second one.
        outputs: for every pair of levels, shape (256, 256).
        clip: what outputs are clipped to.
        dtype: of the outputs.
        exact: False: the outputs may be a step off the reference's.
    """
    for x, other, table in ((a, b, outputs), (b, a, outputs.T)):
        lines = fit_lines(table, levels(x.dtype), clip)
        if lines is not None:
            return computed(LookupLine(lines=lines, clip=clip, dtype=dtype), x, other, exact=exact)
    return lookup_pair(a, b, outputs, dtype, exact=exact)
