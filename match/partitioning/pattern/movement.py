"""Operators that move values of 8 bits, some through a table on the way, or of 16, as layers.

The bytes of wider values are moved as channels, or as the element of a transposition.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from match.ir.constants import LayerConstants
from match.ir.layer import Op
from match.partitioning.pattern.layers import byte_table, covered, element_wise
from match.partitioning.pattern.types import Match
from match.relay import readers, relay
from match.relay.rewrite import constant, dtype, is_8bit, is_call, is_narrow, permutation, scalar, shape

_IDENTITY = np.arange(256, dtype=np.uint8)

_TRANSPOSED = "float32", "int32"
"""Types that are transposed, beside those that are moved in other ways, too."""


def concatenation(root: relay.Expr, *, tables: bool = True) -> Match | None:
    """A concatenation of two tensors, with the tables in front of it if `tables`.

    Axes behind the concatenated one belong to the channels, and axes before it to the pixels.
    """
    if not is_call(root, "concatenate") or not is_narrow(root) or not isinstance(root.args[0], relay.Tuple):
        return None
    fields = list(root.args[0].fields)
    if len(fields) != 2:
        return None
    lookups = [readers.read_lookup(field) if tables else None for field in fields]
    inputs = tuple(lookup.x if lookup else field for lookup, field in zip(lookups, fields, strict=True))
    axis = int(root.attrs.axis) % len(shape(root))
    outer = shape(root)[:axis]
    first, second = (math.prod(shape(field)[axis:]) * _bytes(root) for field in fields)
    layer = element_wise(Op.CONCATENATE, (*outer, first + second), _moved_as(inputs[0]), _moved_as(root))
    both = np.stack([byte_table(lookup) if lookup else _IDENTITY for lookup in lookups])
    layer = replace(layer, first_channels=first)
    return Match(root, inputs, covered(root, inputs), layer, LayerConstants(None, None, table=both), None)


def slicing(root: relay.Expr) -> Match | None:
    """Some neighbouring indices of one axis."""
    if not is_call(root, "strided_slice") or not is_narrow(root):
        return None
    if any(int(step) != 1 for step in root.attrs.strides):
        return None
    x, after = root.args[0], shape(root)
    before = shape(x)
    cut = [axis for axis, (whole, part) in enumerate(zip(before, after, strict=True)) if whole != part]
    if len(cut) != 1:
        return None
    (axis,) = cut
    axes = (
        range(len(root.attrs.begin)) if root.attrs.axes is None else [int(own) % len(before) for own in root.attrs.axes]
    )
    begin = int(root.attrs.begin[list(axes).index(axis)])
    inner = math.prod(before[axis + 1 :]) * _bytes(root)
    layer = element_wise(Op.SLICE, (*after[:axis], after[axis] * inner), _moved_as(x), _moved_as(root))
    first = (begin if begin >= 0 else begin + before[axis]) * inner
    layer = replace(layer, first_channels=first, source_channels=before[axis] * inner)
    return Match(root, (x,), covered(root, (x,)), layer, LayerConstants(None, None, table=_IDENTITY), None)


def transposition(root: relay.Expr) -> Match | None:
    """A transposition, of values of up to 32 bits, that turns two groups of neighbouring axes.

    Axes in front of both groups stay. Axes behind both groups stay, too, and make up an element; so do the bytes of a
    value.
    """
    if not is_call(root, "transpose") or not (is_narrow(root) or dtype(root) in _TRANSPOSED):
        return None
    x = root.args[0]
    groups = axis_groups([axis for axis in permutation(root) if shape(x)[axis] > 1], shape(x))
    if [first for first, _ in groups] == sorted(first for first, _ in groups):
        return None
    outer = groups.pop(0)[1] if groups[0] == min(groups) else 1
    unit = groups.pop()[1] if groups[-1] == max(groups) else 1
    if len(groups) != 2:
        return None
    (_, columns), (_, channels) = groups
    unit *= _bytes(root)
    layer = element_wise(Op.TRANSPOSE, (outer, columns, channels), _moved_as(root), _moved_as(root))
    return Match(root, (x,), covered(root, (x,)), replace(layer, unit=unit), LayerConstants(None, None), None)


def gathering(root: relay.Expr) -> Match | None:
    """Constant indices of one axis: taken in any order, sliced with steps, or padded."""
    if not is_call(root, "take", "strided_slice", "nn.pad") or not is_narrow(root):
        return None
    x, after, before = root.args[0], shape(root), shape(root.args[0])
    found = _taken(root) or _stepped(root) or _padded(root)
    if found is None:
        return None
    axis, columns = found
    outer, inner = math.prod(after[:axis]), math.prod(after[axis + 1 :]) * _bytes(root)
    layer = element_wise(Op.GATHER, (outer, after[axis], inner), _moved_as(x), _moved_as(root))
    padding = int(scalar(root.args[1]) or 0) if is_call(root, "nn.pad") else 0
    if padding and not is_8bit(root):  # its bytes differ
        return None
    layer = replace(layer, ix=before[axis], pad_value=padding, runs=_runs(columns))
    return Match(root, (x,), covered(root, (x,)), layer, LayerConstants(None, None, columns=columns), None)


def _bytes(expr: relay.Expr) -> int:
    """Bytes of an element."""
    return np.dtype(dtype(expr)).itemsize


def _moved_as(expr: relay.Expr) -> str:
    """The type of 8 bits that elements are moved as."""
    return dtype(expr) if is_8bit(expr) else "uint8"


_Columns = npt.NDArray[np.int32]


def _taken(root: relay.Call) -> tuple[int, _Columns] | None:
    """The axis and the indices of a `take` with constant indices."""
    if not is_call(root, "take") or root.attrs.axis is None:
        return None
    axis, indices = int(root.attrs.axis), constant(root.args[1])
    axis %= len(shape(root.args[0]))
    if indices is None or indices.ndim != 1 or indices.min() < 0 or indices.max() >= shape(root.args[0])[axis]:
        return None
    return axis, indices.astype(np.int32)


def _stepped(root: relay.Call) -> tuple[int, _Columns] | None:
    """The only axis that a slice cuts, and the indices that remain."""
    if not is_call(root, "strided_slice"):
        return None
    attrs, before = root.attrs, shape(root.args[0])
    axes = range(len(attrs.begin)) if attrs.axes is None else [int(axis) % len(before) for axis in attrs.axes]
    steps = [int(step) for step in attrs.strides] or [1]
    steps *= len(axes) if len(steps) == 1 else 1
    cut = [place for place, axis in enumerate(axes) if before[axis] != shape(root)[axis] or steps[place] < 0]
    if len(cut) != 1:
        return None
    (place,) = cut
    axis, begin = axes[place], int(attrs.begin[place])
    begin = min(begin + before[axis] if begin < 0 else begin, before[axis] - 1)
    return axis, (begin + steps[place] * np.arange(shape(root)[axis])).astype(np.int32)


def _padded(root: relay.Call) -> tuple[int, _Columns] | None:
    """The axis that is padded with a constant, and its indices, with -1 for padding."""
    if not is_call(root, "nn.pad") or scalar(root.args[1]) is None or str(root.attrs.pad_mode) != "constant":
        return None
    widths = [(int(before), int(behind)) for before, behind in root.attrs.pad_width]
    padded = [axis for axis, width in enumerate(widths) if width != (0, 0)]
    if len(padded) != 1 or min(widths[padded[0]]) < 0:
        return None
    (axis,) = padded
    return axis, np.pad(np.arange(shape(root.args[0])[axis], dtype=np.int32), widths[axis], constant_values=-1)


def _runs(columns: _Columns) -> int:
    """The number of runs of consecutive indices, or of padding."""
    steps = np.where(columns[:-1] < 0, 0, 1)
    return 1 + int(np.count_nonzero(np.diff(columns) != steps))


def axis_groups(order: list[int], extents: tuple[int, ...]) -> list[tuple[int, int]]:
    """The axes of a result with those together that follow one another in the source, too: first axis and extent.

    Axes of one index, which `order` leaves out, lie between no others.
    """
    place = {axis: index for index, axis in enumerate(sorted(order))}
    groups: list[tuple[int, int]] = []
    last = -2
    for axis in order:
        if groups and place[axis] == last + 1:
            groups[-1] = groups[-1][0], groups[-1][1] * extents[axis]
        else:
            groups.append((axis, extents[axis]))
        last = place[axis]
    return groups
