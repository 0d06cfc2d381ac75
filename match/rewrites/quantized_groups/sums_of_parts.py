"""Functions of real numbers that are tensors of 8 bits in several parts (`match.arithmetic.parts_of_functions`)."""

from __future__ import annotations

from collections.abc import Sequence

from match.arithmetic.parts_of_functions import InParts
from match.graph.make import lookup
from match.graph.pairs import LookupSum
from match.graph.value import Value, computed


def sum_of_parts(parted: InParts, maps: Sequence[Value], clip: tuple[int, int]) -> Value:
    """The function of tensors of 8 bits: each has the levels of a part, in ascending order."""
    dtype, (x, *others) = parted.output.dtype, maps
    if not others:
        return lookup(x, parted.tables[0].astype(dtype), exact=False)
    for part, tables in zip(others, parted.tables, strict=True):
        x = computed(LookupSum(tables=tables, clip=clip, dtype=dtype), x, part, exact=False)
    return x
