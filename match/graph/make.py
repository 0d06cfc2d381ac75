"""Tensors made of others: constants, moves and arithmetic, without what changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from match.graph import moves
from match.graph.elements import Lookup, RealLookup
from match.graph.integers import Elementwise, Entries
from match.graph.moves import Columns, Concatenate
from match.graph.opaque import Constant
from match.graph.operator import Array
from match.graph.value import Value, computed
from match.ir.requantization import Int64Array


def constant(array: npt.ArrayLike, dtype: str | None = None) -> Value:
    """A tensor of constants."""
    return computed(Constant(array=np.asarray(array, dtype)))


def array_of(x: Value) -> Array | None:
    """The elements of a tensor of constants; None for other tensors."""
    return x.operator.array if isinstance(x.operator, Constant) else None


def reshaped(x: Value, shape: Sequence[int]) -> Value:
    """All elements in their order; one extent may be -1, for what is left."""
    extents = np.empty(x.shape, np.int8).reshape(tuple(shape)).shape
    return x if extents == x.shape else computed(moves.reshape(x.tensor, extents), x)


def transposed(x: Value, axes: Sequence[int]) -> Value:
    """The axes in another order."""
    return x if list(axes) == list(range(len(x.shape))) else computed(moves.transpose(x.tensor, tuple(axes)), x)


def chosen(x: Value, indices: Sequence[npt.ArrayLike | None]) -> Value:
    """Some indices along each axis; None for all of them."""
    columns: list[Columns | None] = [None] * len(x.shape)
    for axis, own in enumerate(indices):
        array = None if own is None else np.asarray(own, np.int32)
        if array is not None and not np.array_equal(array, np.arange(x.shape[axis])):
            columns[axis] = array
    return x if all(one is None for one in columns) else computed(moves.take(x.tensor, columns), x)


def taken(x: Value, axis: int, indices: npt.ArrayLike) -> Value:
    """Some indices along an axis."""
    return chosen(x, [indices if own == axis else None for own in range(len(x.shape))])


def sliced(x: Value, begins: Sequence[int], ends: Sequence[int]) -> Value:
    """Along each axis the indices from `begins` to in front of `ends`."""
    return chosen(x, [np.arange(begin, end) for begin, end in zip(begins, ends, strict=True)])


def cut(x: Value, axis: int, begin: int, end: int) -> Value:
    """The indices from `begin` to in front of `end` along an axis."""
    return taken(x, axis, np.arange(begin, end))


def padded(x: Value, widths: Sequence[tuple[int, int]], fill: int | float) -> Value:
    """A number before and after the elements, as often along each axis as `widths` say."""
    if not any(map(any, widths)):
        return x
    columns: list[Columns | None] = [
        np.pad(np.arange(extent, dtype=np.int32), width, constant_values=moves.FILL) if any(width) else None
        for extent, width in zip(x.shape, widths, strict=True)
    ]
    return computed(moves.take(x.tensor, columns, fill), x)


def broadcast(x: Value, shape: Sequence[int]) -> Value:
    """The elements repeated along axes of one element, and along axes that are added in front."""
    x = reshaped(x, (*[1] * (len(shape) - len(x.shape)), *x.shape))
    return repeated(x, [whole // extent for whole, extent in zip(shape, x.shape, strict=True)])


def repeated(x: Value, times: Sequence[int]) -> Value:
    """The elements so many times along each axis."""
    return chosen(x, [np.tile(np.arange(extent), count) for extent, count in zip(x.shape, times, strict=True)])


def concatenated(parts: Sequence[Value], axis: int) -> Value:
    """Tensors side by side along an axis, counted from the first."""
    return parts[0] if len(parts) == 1 else computed(Concatenate(axis=axis), *parts)


def cast(x: Value, dtype: str) -> Value:
    """The numbers in another type."""
    return x if x.dtype == dtype else computed(Elementwise(function="cast", dtype=dtype), x)


def arithmetic(function: str, *operands: Value, dtype: str | None = None) -> Value:
    """A function of `match.graph.integers.FUNCTIONS`, to the type of the last operand or another one."""
    return computed(Elementwise(function=function, dtype=dtype or operands[-1].dtype), *operands)


def places(x: Value) -> Value:
    """The place, int32, of each value of 8 bits among all values of its type, from 0 on."""
    wide = cast(x, "int32")
    return wide if x.dtype == "uint8" else arithmetic("add", wide, constant(128, "int32"))


def lookup(x: Value, outputs: npt.NDArray[Any], *, exact: bool = True) -> Value:
    """A function of each value of 8 bits: `outputs` (256,) of any type, in ascending order of the values."""
    dtype = str(outputs.dtype)
    if dtype in ("int8", "uint8"):
        return computed(Lookup(outputs=outputs.astype(np.int64), dtype=dtype), x, exact=exact)
    if dtype == "float32":
        return computed(RealLookup(numbers=outputs), x, exact=exact)
    return computed(Entries(table=outputs), places(x), exact=exact)


def lookup_pair(a: Value, b: Value, outputs: Int64Array, dtype: str, *, exact: bool = True) -> Value:
    """Any function of two tensors of 8 bits: `outputs` (256, 256), in ascending order of the values of both."""
    row = arithmetic("multiply", places(a), constant(256, "int32"))
    place = arithmetic("add", row, places(b))
    return computed(Entries(table=outputs.astype(dtype).reshape(-1)), place, exact=exact)


def named(x: Value, source: str) -> Value:
    """A tensor with its name in the model, if it has none."""
    return x if x.source or x.operator is None or not source else replace(x, source=source)
