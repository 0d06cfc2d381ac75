"""Operators that hand on elements as they are: at other places, or joined with those of another tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from match.graph.layers import element_wise
from match.graph.operator import Array, Described, Known, Operator, Range, Stored
from match.graph.work import Loop, Work
from match.ir.attributes import Concatenation, Gathering, Slice, Transposition
from match.ir.constants import GatheredColumns, InputTables, LayerConstants, Table
from match.ir.graph import Tensor
from match.ir.layer import Layer, Op

FILL = -1
"""An index of no element, in whose place stands the number that fills."""

Columns = npt.NDArray[np.int32]

IDENTITY = np.arange(256, dtype=np.uint8)
IDENTITY.setflags(write=False)

NARROW = "int8", "uint8", "int16"
"""Types of elements that modules move as they are."""
_TRANSPOSED = "float32", "int32"
"""Types that are transposed, beside those that are moved in other ways, too."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Move(Operator):
    """The elements of a tensor at other places: a reshape, transposition, slice, pad, gather, or several of them.

    The tensor is seen with the extents `split`. Along each of these axes `columns` has the indices that are taken,
    `FILL` for the number `fill`, or None where all are, in order. The axes are then in the order `axes`, and the result
    has `shape`.
    """

    called: ClassVar[str] = "move"
    loop: ClassVar[Loop] = Loop.MOVES
    hands_on: ClassVar[bool] = True

    split: tuple[int, ...]
    columns: tuple[Columns | None, ...]
    axes: tuple[int, ...]
    shape: tuple[int, ...]
    fill: int | float = 0

    def result(self, *inputs: Tensor) -> Tensor:
        """The shape, in the input's type."""
        return Tensor(self.shape, inputs[0].dtype)

    def compute(self, *inputs: Array) -> Array:
        """The elements."""
        x = inputs[0].reshape(self.split)
        for axis, columns in enumerate(self.columns):
            if columns is not None:
                taken = x.take(np.maximum(columns, 0), axis)
                outside = (columns == FILL).reshape(-1, *[1] * (x.ndim - axis - 1))
                x = np.where(outside, x.dtype.type(self.fill), taken) if outside.any() else taken
        return x.transpose(self.axes).reshape(self.shape)

    @property
    def taken(self) -> tuple[int, ...]:
        """The extents after indices were taken, before the axes are in another order."""
        return tuple(
            extent if columns is None else len(columns)
            for extent, columns in zip(self.split, self.columns, strict=True)
        )

    @property
    def keeps_order(self) -> bool:
        """Whether all elements stay, in their order."""
        return all(columns is None for columns in self.columns) and not self.turns

    @property
    def turns(self) -> bool:
        """Whether axes of more than one index are in another order."""
        moving = [axis for axis in self.axes if self.taken[axis] > 1]
        return moving != sorted(moving)

    def values(self, result: Tensor, inputs: Sequence[Known]) -> Range | None:
        """Those of the channels, where all elements stay in their order and channels are not torn apart."""
        (x,) = inputs
        if x.values is None or not self.keeps_order or not x.shape or not result.shape:
            return None
        if x.shape[-1] == result.shape[-1]:
            return x.values
        if len(result.shape) == 2 and x.shape[0] == result.shape[0] and len(x.shape) > 2:
            copies = result.shape[-1] // x.shape[-1]
            return Range(np.tile(x.values.low, copies), np.tile(x.values.high, copies))
        return None

    @property
    def padding_value(self) -> int | None:
        """What fills, if some elements are filled."""
        filled = any(columns is not None and np.any(columns == FILL) for columns in self.columns)
        return int(self.fill) if filled else None

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """What fills grows with the input."""
        del more
        return self if self.padding_value is None else replace(self, fill=self.fill + inputs[0].more)

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | None:
        """A slice, a gather or a transposition, alone; other moves are none."""
        del result
        (x,) = inputs
        cut = [axis for axis, columns in enumerate(self.columns) if columns is not None]
        if self.turns:
            return self._transposition(x) if not cut and x.dtype in (*NARROW, *_TRANSPOSED) else None
        return self._gathering(x, cut[0]) if len(cut) == 1 and x.dtype in NARROW else None

    def _gathering(self, x: Known, axis: int) -> Described | None:
        """Some indices of one axis: neighbouring ones of which none is filled, or others."""
        columns, extents, unit = self.columns[axis], self.taken, np.dtype(x.dtype).itemsize
        assert columns is not None, "indices of this axis are taken"
        inner = math.prod(extents[axis + 1 :]) * unit
        filled = bool(np.any(columns == FILL))
        if not filled and len(columns) < self.split[axis] and np.all(np.diff(columns) == 1):
            layer = _moved(Op.SLICE, (*extents[:axis], extents[axis] * inner), x)
            layer = replace(layer, attributes=Slice(int(columns[0]) * inner, self.split[axis] * inner))
            return Described(layer, LayerConstants(Table(IDENTITY)))
        if filled and self.fill and unit > 1:  # its bytes differ
            return None
        layer = _moved(Op.GATHER, (math.prod(extents[:axis]), extents[axis], inner), x)
        fill = int(self.fill) if filled else 0
        layer = replace(layer, ix=self.split[axis], pad_value=fill, attributes=Gathering(_runs(columns)))
        return Described(layer, LayerConstants(GatheredColumns(columns)))

    def _transposition(self, x: Known) -> Described | None:
        """Two groups of neighbouring axes that change places.

        Axes in front of both groups stay. Axes after both groups stay, too, and make up an element; so do the bytes of
        a value.
        """
        groups = axis_groups([axis for axis in self.axes if self.split[axis] > 1], self.split)
        outer = groups.pop(0)[1] if groups[0] == min(groups) else 1
        unit = groups.pop()[1] if groups[-1] == max(groups) else 1
        if len(groups) != 2:
            return None
        (_, columns), (_, channels) = groups
        layer = _moved(Op.TRANSPOSE, (outer, columns, channels), x)
        unit *= np.dtype(x.dtype).itemsize
        return Described(replace(layer, attributes=Transposition(unit)), LayerConstants())

    def work(self, result: Tensor, inputs: Sequence[Tensor]) -> Work:
        """Called by what it does to the places of elements."""
        return replace(super().work(result, inputs), name=self._kind)

    @property
    def _kind(self) -> str:
        if self.keeps_order:
            return "reshape"
        cut = [columns for columns in self.columns if columns is not None]
        if not cut:
            return "transpose"
        if any(np.any(columns == FILL) for columns in cut):
            return "pad"
        return "slice" if all(len(columns) < 2 or np.ptp(np.diff(columns)) == 0 for columns in cut) else "take"


@dataclass(frozen=True, eq=False, kw_only=True)
class Concatenate(Operator):
    """Tensors side by side along an axis."""

    called: ClassVar[str] = "concatenate"
    loop: ClassVar[Loop] = Loop.MOVES
    hands_on: ClassVar[bool] = True

    axis: int

    def result(self, *inputs: Tensor) -> Tensor:
        """The shape of all together."""
        first = inputs[0]
        whole = sum(x.shape[self.axis] for x in inputs)
        return Tensor((*first.shape[: self.axis], whole, *first.shape[self.axis + 1 :]), first.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The elements."""
        return np.concatenate(inputs, self.axis)

    def unsigned(self, inputs: Sequence[Stored], more: int | None) -> Operator:
        """Itself."""
        del inputs, more
        return self

    def layer(self, result: Tensor, inputs: Sequence[Known]) -> Described | None:
        """A concatenation of two tensors."""
        tables = [IDENTITY for _ in inputs]
        return self.through_tables(result, inputs, tables)

    def through_tables(
        self, result: Tensor, inputs: Sequence[Known], tables: Sequence[npt.NDArray[np.uint8]]
    ) -> Described | None:
        """The concatenation of two tensors, each through a table (256,) of bytes.

        Axes after the concatenated one belong to the channels, and axes before it to the pixels.
        """
        if len(inputs) != 2 or result.dtype not in NARROW:
            return None
        outer, unit = result.shape[: self.axis], np.dtype(result.dtype).itemsize
        first, second = (math.prod(x.shape[self.axis :]) * unit for x in inputs)
        layer = element_wise(Op.CONCATENATE, (*outer, first + second), _moved_as(inputs[0]), _moved_as(result))
        unchanged = tuple(np.array_equal(table, IDENTITY) for table in tables)
        layer = replace(layer, attributes=Concatenation(first, unchanged if any(unchanged) else ()))
        return Described(layer, LayerConstants(InputTables(np.stack(tables))), order=(0, 1))


def reshape(before: Tensor, shape: tuple[int, ...]) -> Move:
    """All elements in their order, in another shape."""
    rank = len(before.shape)
    return Move(split=before.shape, columns=(None,) * rank, axes=tuple(range(rank)), shape=shape)


def transpose(before: Tensor, axes: tuple[int, ...]) -> Move:
    """The axes in another order."""
    shape = tuple(before.shape[axis] for axis in axes)
    return Move(split=before.shape, columns=(None,) * len(axes), axes=axes, shape=shape)


def take(before: Tensor, columns: Sequence[Columns | None], fill: int | float = 0) -> Move:
    """Indices of each axis; None for all of them."""
    axes = tuple(range(len(before.shape)))
    move = Move(split=before.shape, columns=tuple(columns), axes=axes, shape=(), fill=fill)
    return replace(move, shape=move.taken)


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


def _moved(op: Op, extents: Sequence[int], x: Known) -> Layer:
    dtype = _moved_as(x)
    return element_wise(op, extents, dtype, dtype)


def _moved_as(x: Known | Tensor) -> str:
    """The type of 8 bits that elements are moved as."""
    return x.dtype if x.dtype in ("int8", "uint8") else "uint8"


def _runs(columns: Columns) -> int:
    """The number of runs of consecutive indices, or of padding."""
    steps = np.where(columns[:-1] < 0, 0, 1)
    return 1 + int(np.count_nonzero(np.diff(columns) != steps))
