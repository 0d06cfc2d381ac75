"""The parts of a tensor at constant points, taken out of it or replaced."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from match.graph.constants import at_indices, in_shape
from match.graph.make import chosen, concatenated, reshaped, taken
from match.graph.value import Value

_Indices = npt.NDArray[Any]


def at_points(x: Value, points: _Indices) -> Value:
    """The parts of a tensor at points within it: along the last axis are indices of the tensor's first axes.

    Points that are all of a grid of indices are taken along each axis.
    """
    count, rest = points.shape[-1], x.shape[points.shape[-1] :]
    columns = _grid(points)
    if columns is None:
        columns = [np.ravel_multi_index(tuple(np.moveaxis(points, -1, 0)), x.shape[:count]).reshape(-1)]
        x = reshaped(x, (-1, *rest))
    chosen_parts = chosen(x, [*columns, *[None] * len(rest)])
    return reshaped(chosen_parts, (*points.shape[:-1], *rest))


def _grid(points: _Indices) -> list[_Indices] | None:
    """The indices along each axis of a tensor whose points are all combinations of these, in order; else None."""
    first, columns = 0, list[_Indices]()
    for own in np.moveaxis(points, -1, 0):
        varies = [axis for axis in range(own.ndim) if not np.all(own == own.take([0], axis))]
        last = max([first, *(axis + 1 for axis in varies)])
        if varies and varies[0] < first:
            return None
        columns.append(own[tuple(slice(None) if first <= axis < last else 0 for axis in range(own.ndim))].reshape(-1))
        first = last
    whole = np.stack(np.meshgrid(*columns, indexing="ij"), axis=-1)
    return columns if np.array_equal(whole.reshape(-1), points.reshape(-1)) else None


def with_parts(x: Value, points: _Indices, parts: Value) -> Value:
    """A tensor with other parts at points within it, in their order: of several at one point the last one.

    At points that are all of a grid parts are replaced along each axis.
    """
    count, rest = points.shape[-1], x.shape[points.shape[-1] :]
    columns = _grid(points)
    if columns is not None and all(len(np.unique(own)) == len(own) for own in columns):
        return _replaced(x, columns, in_shape(parts, (*map(len, columns), *rest)))
    flat = np.ravel_multi_index(tuple(np.moveaxis(points, -1, 0)), x.shape[:count]).reshape(-1)
    rows = in_shape(x, (math.prod(x.shape[:count]), *rest))
    return in_shape(_chosen(rows, 0, flat, in_shape(parts, (flat.size, *rest))), x.shape)


def _replaced(x: Value, columns: Sequence[_Indices], parts: Value, axis: int = 0) -> Value:
    """A tensor with other parts at all combinations of indices of its axes, from one on: those of `columns`."""
    if not columns:
        return parts
    own, extent = np.sort(columns[0]), x.shape[axis]
    parts = at_indices(parts, axis, np.argsort(columns[0]))
    if len(own) == extent:
        return _replaced(x, columns[1:], parts, axis + 1)
    parts = _replaced(at_indices(x, axis, own), columns[1:], parts, axis + 1)
    begin, end = int(own[0]), int(own[-1]) + 1
    if end - begin > len(own):
        return _chosen(x, axis, own, parts)
    sides = (0, begin), (end, extent)
    before, behind = ([at_indices(x, axis, np.arange(*side))] if side[0] < side[1] else [] for side in sides)
    return concatenated([*before, parts, *behind], axis)


def _chosen(x: Value, axis: int, own: _Indices, parts: Value) -> Value:
    """A tensor with other parts at indices of an axis: elements chosen of both."""
    places = np.arange(x.shape[axis])
    places[own] = x.shape[axis] + np.arange(len(own))
    return taken(concatenated([x, parts], axis), axis, places)
