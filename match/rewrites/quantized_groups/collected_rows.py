"""A part of elements that are collected from a tensor, some of them filled, is taken from that tensor.

PyTorch exports adaptive average pooling with windows of several sizes to ONNX this way: as many elements are gathered
for each window as the largest has, zero is put where a window has fewer, and one element of each window after the other
is taken and added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from match.graph import moves
from match.graph.constants import numbers_of
from match.graph.make import array_of, reshaped, transposed
from match.graph.maps import channels_first
from match.graph.moves import FILL, Move
from match.graph.operator import Array
from match.graph.real_functions import is_function
from match.graph.rewrite import rewrite
from match.graph.value import Graph, Value, computed

Places = npt.NDArray[np.int64]


def with_collected_rows(graph: Graph) -> Graph:
    """The graph with rows of tensors in the place of parts of what is collected from these."""
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    del original
    if not isinstance(value.operator, Move) or value.tensor.elements >= value.inputs[0].tensor.elements:
        return value
    steps, x, most = list[_Step](), value, 0
    while (step := _step(x)) is not None:
        steps.insert(0, step)
        x = step.x
        most = max(most, x.tensor.elements)
    fills = {step.fill for step in steps if step.fill is not None}
    if most <= x.tensor.elements or len(fills) > 1:
        return value
    places: Places = np.arange(x.tensor.elements).reshape(x.shape)
    for step in steps:
        places = step.places(places)
    return _rows(x, places, fills.pop() if fills else 0) or value


@dataclass(frozen=True, eq=False)
class _Step:
    """What is done to the places of a tensor's elements, those of what fills being `FILL`; `fill`: this, if any is."""

    x: Value
    places: Callable[[Places], Places]
    fill: float | None


def _step(value: Value) -> _Step | None:
    """A move, or a number in the place of others where a constant mask says so; None of other operators."""
    if isinstance(value.operator, Move):
        fill = None if value.operator.padding_value is None else float(value.operator.fill)
        return _Step(value.inputs[0], replace(value.operator, fill=FILL).compute, fill)
    mask = array_of(value.inputs[0]) if is_function(value, "where") else None
    if mask is None:
        return None
    _, chosen, other = value.inputs
    for x, number, filled in ((other, chosen, mask), (chosen, other, ~mask)):
        fill = numbers_of(number)
        if fill is not None and fill.size == 1 and x.shape == value.shape:
            return _Step(x, partial(_filled, filled), float(fill.item()))
    return None


def _filled(mask: Array, places: Places) -> Places:
    filled = places.copy()
    filled[np.broadcast_to(mask, places.shape)] = FILL
    return filled


def _rows(x: Value, places: Places, fill: int | float) -> Value | None:
    """Elements of a tensor, whose rows, or what fills, lie along an axis of the result; None of others."""
    extents: tuple[int, ...] = places.shape
    for axis, unit in enumerate(extents):
        turned = np.moveaxis(places, axis, -1)
        first = turned[..., :1]
        if unit > 1 and np.array_equal(turned, np.where(first < 0, FILL, first + np.arange(unit))):
            if x.tensor.elements % unit or np.any(first[first >= 0] % unit):
                continue
            seen = reshaped(x, (-1, unit))
            rows = np.where(first < 0, FILL, first // unit).reshape(-1).astype(np.int32)
            taken = computed(moves.take(seen.tensor, [rows, None], fill), seen)
            return reshaped(_with_rows_along(taken, extents, axis), extents)
    return None


def _with_rows_along(rows: Value, shape: Sequence[int], axis: int) -> Value:
    """Rows as a tensor of a shape that has the elements of each along an axis; a map, if it may be one."""
    before, behind = [e for e in shape[:axis] if e > 1], [e for e in shape[axis + 1 :] if e > 1]
    if not before and len(behind) <= 2:
        return channels_first(reshaped(rows, (1, *[1] * (2 - len(behind)), *behind, shape[axis])))
    last = len(before) + len(behind)
    seen = reshaped(rows, (*before, *behind, shape[axis]))
    return transposed(seen, [*range(len(before)), last, *range(len(before), last)])
