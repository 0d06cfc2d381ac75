"""Padding in front of a convolution becomes the convolution's own, where it pads with the input's zero point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from match.graph import moves
from match.graph.make import named
from match.graph.moves import FILL, Columns, Move
from match.graph.rewrite import rewrite
from match.graph.sums import Convolution
from match.graph.value import Graph, Value, computed
from match.ir.layer import Axis, Dim, Padding

_ROWS, _COLUMNS = 1, 2


def with_padding_inside(graph: Graph) -> Graph:
    """The graph with padding as a part of convolutions, also where axes of one element are added after it."""
    return rewrite(graph, _rule)


def _rule(value: Value, original: Value) -> Value:
    del original
    convolution = value.operator
    if not isinstance(convolution, Convolution):
        return value
    found = _padded(value.inputs[0])
    while found is not None:
        fill, own, x = found
        sides = [one + other for one, other in zip(convolution.padding, own, strict=True)]
        whole = replace(convolution, padding=Padding(*sides), pad_value=fill)
        alike = not any(convolution.padding) or convolution.pad_value == fill
        if not alike or not _sees_the_map(whole, x, value.shape):
            return value
        convolution, value = whole, replace(value, operator=whole, inputs=(x,))
        found = _padded(x)
    return value


def _sees_the_map(convolution: Convolution, x: Value, shape: Sequence[int]) -> bool:
    """Whether each window has an element of the map."""
    for place, dim in enumerate((Dim.OY, Dim.OX)):
        window = (convolution.weights.shape[place] - 1) * convolution.dilation[place] + 1
        axis = Axis(dim, x.shape[1 + place], convolution.strides[place], window, convolution.padding[place])
        if not axis.windows_see(shape[1 + place]):
            return False
    return True


def _padded(map_: Value) -> tuple[int, Padding, Value] | None:
    """The padding of a map: the number that it consists of, its rows and columns, and the map without it."""
    reshape, pad = None, map_
    if isinstance(map_.operator, Move) and map_.operator.keeps_order:
        reshape, pad = map_, map_.inputs[0]
    move = pad.operator
    if not isinstance(move, Move) or move.turns or move.split != pad.inputs[0].shape or move.shape != move.taken:
        return None
    fill = move.padding_value
    if fill is None:
        return None
    widths = [_widths(columns, extent) for columns, extent in zip(move.columns, move.split, strict=True)]
    places = _places(pad.shape, map_.shape) if reshape is not None else tuple(range(len(pad.shape)))
    if places is None or len(map_.shape) != 4 or any(width is None for width in widths):
        return None
    sides, extents = [(0, 0)] * 4, [1] * 4
    for place, width, extent in zip(places, widths, move.split, strict=True):
        sides[place], extents[place] = width or (0, 0), extent
    if any(sides[0]) or any(sides[3]):
        return None
    x = pad.inputs[0]
    if reshape is not None:
        x = named(computed(moves.reshape(x.tensor, tuple(extents)), x, exact=reshape.exact), reshape.source)
    (top, bottom), (left, right) = sides[_ROWS], sides[_COLUMNS]
    return fill, Padding(top, left, bottom, right), x


def _widths(columns: Columns | None, extent: int) -> tuple[int, int] | None:
    """How many elements are filled before and after all of an axis; None where it is not all of it, in order."""
    if columns is None:
        return 0, 0
    inside = np.flatnonzero(columns != FILL)
    if len(inside) != extent or not np.array_equal(columns[inside], np.arange(extent)):
        return None
    if inside[-1] - inside[0] + 1 != extent:
        return None
    return int(inside[0]), int(len(columns) - 1 - inside[-1])


def _places(before: Sequence[int], after: Sequence[int]) -> tuple[int, ...] | None:
    """Which axis after a reshape each axis in front of it is; None if it does more than to add axes of one element."""
    places: list[int] = []
    for axis, extent in enumerate(after):
        if len(places) < len(before) and extent == before[len(places)]:
            places.append(axis)
        elif extent != 1:
            return None
    return tuple(places) if len(places) == len(before) else None
