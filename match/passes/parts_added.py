"""What the parts of a function add up to, in Relay."""

from __future__ import annotations

from collections.abc import Sequence

from match.arithmetic.parts_of_functions import InParts
from match.ir.dtypes import value_range
from match.relay import integer_form, relay


def added(parted: InParts, maps: Sequence[relay.Expr], dtype: str) -> relay.Expr:
    """The function of tensors of 8 bits, of a type: each has the levels of a part, in ascending order."""
    clip, own = value_range(parted.output.dtype), parted.output.dtype
    x, *others = maps
    if not others:
        return integer_form.lookup(x, parted.tables[0], dtype, own, real=True)
    types = dtype, dtype
    for part, tables in zip(others, parted.tables, strict=True):
        x, types = integer_form.lookup_sum(x, part, types, tables, clip, own, real=True), (own, dtype)
    return x
