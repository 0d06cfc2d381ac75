"""What forms of all kinds need to make layers of expressions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from match.ir.dtypes import value_range
from match.ir.layer import Layer, Op
from match.relay import relay
from match.relay.operators import Lookup
from match.relay.rewrite import operands


def covered(root: relay.Expr, inputs: tuple[relay.Expr, ...]) -> tuple[relay.Expr, ...]:
    """The calls and tuples from `inputs` to `root`, which the form is known to lie between; the root first."""
    found: dict[relay.Expr, None] = {}
    pending = [root]
    while pending:
        expr = pending.pop()
        if isinstance(expr, (relay.Call, relay.Tuple)) and expr not in inputs and expr not in found:
            found[expr] = None
            pending += operands(expr)
    return tuple(found)


def element_wise(op: Op, shape: Sequence[int], x_dtype: str, dtype: str) -> Layer:
    """A channelwise layer between tensors of one shape: the last axis is K, the one before OX, all others OY."""
    *outer, ox, k = (1, 1, *shape)
    oy = math.prod(outer)
    return Layer(
        name=op.value,
        op=op,
        k=k,
        c=1,
        oy=oy,
        ox=ox,
        iy=oy,
        ix=ox,
        input_dtype=x_dtype,
        weight_dtype="",
        output_dtype=dtype,
        clip=value_range(dtype) if dtype in ("int8", "uint8") else (0, 0),
    )


def byte_table(lookup: Lookup) -> npt.NDArray[np.uint8]:
    """The output's byte for each input byte, both as unsigned numbers."""
    table = lookup.outputs.astype(lookup.dtype).view(np.uint8)
    # From the order of the values, -128 first, to that of their bytes, 0 first.
    return np.roll(table, 128) if lookup.x_dtype == "int8" else table
