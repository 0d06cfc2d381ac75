"""Constants, also real numbers that integers stand for (`match.graph.reals.Levels`): their numbers, and moved."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from match.graph.make import array_of, constant, reshaped, taken, transposed
from match.graph.moves import Move
from match.graph.opaque import Constant
from match.graph.operator import Array
from match.graph.reals import Levels
from match.graph.value import Value, computed


def is_constant(x: Value) -> bool:
    """Whether a tensor is one of constants."""
    return isinstance(x.operator, Constant | Levels)


def numbers_of(x: Value) -> Array | None:
    """The elements of a constant; None for other tensors."""
    return x.operator.compute() if isinstance(x.operator, Levels) else array_of(x)


def transposed_constant(x: Value, axes: Sequence[int]) -> Value:
    """A constant with its axes in another order."""
    own = x.operator
    if not isinstance(own, Levels):
        return constant(np.ascontiguousarray(_array(x).transpose(axes)))
    levels = np.ascontiguousarray(own.levels.transpose(axes))
    return replace(computed(replace(own, levels=levels, axis=list(axes).index(own.axis))), source=x.source)


def reshaped_constant(x: Value, shape: Sequence[int]) -> Value:
    """All elements of a constant in their order: real numbers if that tears the axis of several scales apart."""
    own = x.operator
    if not isinstance(own, Levels):
        return constant(_array(x).reshape(tuple(shape)))
    levels = own.levels.reshape(tuple(shape))
    if own.scales.size == 1:
        return computed(replace(own, levels=levels, axis=0))
    before = math.prod(own.levels.shape[: own.axis])
    for axis, extent in enumerate(levels.shape):
        if extent == own.scales.size and math.prod(levels.shape[:axis]) == before:
            return computed(replace(own, levels=levels, axis=axis))
    return replace(constant(own.compute().reshape(levels.shape)), source=x.source)


def taken_constant(x: Value, axis: int, indices: Sequence[int]) -> Value:
    """A constant at some indices along an axis."""
    own = x.operator
    if not isinstance(own, Levels):
        return constant(_array(x).take(indices, axis))
    along = own.scales.size > 1 and own.axis == axis
    scales, zeros = (each.take(indices) if along else each for each in (own.scales, own.zero_points))
    return computed(replace(own, levels=own.levels.take(indices, axis), scales=scales, zero_points=zeros))


def in_order(x: Value, axes: Sequence[int]) -> Value:
    """A tensor, constant or not, with its axes in another order."""
    return transposed_constant(x, axes) if is_constant(x) else transposed(x, axes)


def in_shape(x: Value, shape: Sequence[int]) -> Value:
    """All elements of a tensor, constant or not, in their order."""
    return reshaped_constant(x, shape) if is_constant(x) else reshaped(x, shape)


def at_indices(x: Value, axis: int, indices: npt.NDArray[np.integer[Any]]) -> Value:
    """A tensor, constant or not, at some indices along an axis."""
    return taken_constant(x, axis, indices.tolist()) if is_constant(x) else taken(x, axis, indices)


def spread_constant(x: Value, steps: Sequence[int]) -> Value:
    """A constant whose elements are so far apart along each axis, with zeros between them."""
    own = x.operator
    if all(step == 1 for step in steps):
        return x
    extents = [(extent - 1) * step + 1 for extent, step in zip(x.shape, steps, strict=True)]
    elements = tuple(slice(None, None, step) for step in steps)
    numbers = own.levels if isinstance(own, Levels) else _array(x)
    spread = np.zeros(extents, numbers.dtype)
    if isinstance(own, Levels):
        spread[...] = own.along(own.zero_points)
    spread[elements] = numbers
    return computed(replace(own, levels=spread)) if isinstance(own, Levels) else constant(spread)


def moved_constant(x: Value) -> Value | None:
    """A constant, or what moves make of one, as a constant; None of other tensors."""
    if is_constant(x):
        return x
    move, source = x.operator, moved_constant(x.inputs[0]) if isinstance(x.operator, Move) else None
    if source is None or not isinstance(move, Move) or any(columns is not None for columns in move.columns):
        return None
    return reshaped_constant(transposed_constant(reshaped_constant(source, move.split), move.axes), move.shape)


def multiplied_constant(x: Value, factor: float) -> Value:
    """A constant times a number."""
    if factor == 1:
        return x
    own = x.operator
    if not isinstance(own, Levels):
        return constant(_array(x) * np.float32(factor))
    return computed(replace(own, scales=own.scales * np.float32(factor)))


def _array(x: Value) -> Array:
    array = array_of(x)
    assert array is not None, "which is asked before"
    return array
