"""Tensors of 8 bits in another type of 8 bits."""

from __future__ import annotations

import numpy as np

from match.arithmetic.interface import QuantizedType
from match.graph.make import array_of, constant, lookup
from match.graph.value import Value
from match.ir.dtypes import value_range


def as_type(x: Value, own: QuantizedType, dtype: str) -> tuple[Value, QuantizedType]:
    """The same real numbers in a type, which may be that of the tensor, and their quantization there."""
    if own.dtype == dtype:
        return x, own
    more = value_range(dtype)[0] - value_range(own.dtype)[0]
    other, array = QuantizedType(own.scale, own.zero_point + more, dtype), array_of(x)
    if array is not None:
        return constant((array.astype(np.int16) + more).astype(dtype)), other
    return lookup(x, (own.levels + more).astype(dtype)), other
