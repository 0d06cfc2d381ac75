"""Operators whose indices the network computes; the control core alone computes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from match.graph.operator import Array, Operator
from match.graph.work import Loop
from match.ir.graph import Tensor


@dataclass(frozen=True, eq=False, kw_only=True)
class Gather(Operator):
    """The elements of a tensor at indices along an axis; an index beyond an end is taken for that end.

    Its inputs are the tensor and the indices. batches: this many first axes belong together: each index chooses from
    the part of the tensor that has its place along them. from_end: negative indices count from the end of the axis.
    """

    called: ClassVar[str] = "gather"
    loop: ClassVar[Loop] = Loop.MOVES

    axis: int
    batches: int = 0
    from_end: bool = False

    def result(self, *inputs: Tensor) -> Tensor:
        """The extents of the tensor, those of the indices but the batches in the place of the axis."""
        x, indices = inputs
        before, after = x.shape[: self.axis], x.shape[self.axis + 1 :]
        return Tensor((*before, *indices.shape[self.batches :], *after), x.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The elements, batch by batch."""
        x, indices = inputs
        if self.from_end:
            indices = _from_front(indices, x.shape[self.axis])
        if not self.batches:
            return x.take(indices, self.axis, mode="clip")
        first = x.shape[: self.batches]
        parts = [x[place].take(indices[place], self.axis - self.batches, mode="clip") for place in np.ndindex(*first)]
        return np.stack(parts).reshape(*first, *parts[0].shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class GatherElements(Operator):
    """For each element of the indices the one of the tensor at its place, but at the index along an axis.

    Its inputs are the tensor and the indices. Negative ones count from the end of the axis.
    """

    called: ClassVar[str] = "gather_elements"
    loop: ClassVar[Loop] = Loop.MOVES

    axis: int

    def result(self, *inputs: Tensor) -> Tensor:
        """The indices' shape."""
        x, indices = inputs
        return Tensor(indices.shape, x.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The elements."""
        x, indices = inputs
        along = _from_front(indices, x.shape[self.axis])
        places = (along if axis == self.axis else own for axis, own in enumerate(np.indices(indices.shape)))
        return x[tuple(places)]


@dataclass(frozen=True, eq=False, kw_only=True)
class GatherPoints(Operator):
    """The parts of a tensor at points: along the last axis of the second input are indices of the tensor's first axes.

    Points lie within the tensor.
    """

    called: ClassVar[str] = "gather_points"
    loop: ClassVar[Loop] = Loop.MOVES

    def result(self, *inputs: Tensor) -> Tensor:
        """A part for each point."""
        x, points = inputs
        return Tensor((*points.shape[:-1], *x.shape[points.shape[-1] :]), x.dtype)

    def compute(self, *inputs: Array) -> Array:
        """The parts."""
        x, points = inputs
        return x[tuple(np.moveaxis(points, -1, 0))]


@dataclass(frozen=True, eq=False, kw_only=True)
class UpdateSlice(Operator):
    """A tensor with the elements of another one at a place that is computed, moved so far that all of them are inside.

    Its inputs are the tensor, the other one and the place's index along each axis.
    """

    called: ClassVar[str] = "update_slice"

    def result(self, *inputs: Tensor) -> Tensor:
        """The first tensor's shape and type."""
        return inputs[0]

    def compute(self, *inputs: Array) -> Array:
        """The elements of both."""
        x, update, place = inputs
        starts = np.clip(place, 0, np.subtract(x.shape, update.shape))
        whole = x.copy()
        whole[tuple(slice(start, start + size) for start, size in zip(starts, update.shape, strict=True))] = update
        return whole


def _from_front(indices: Array, extent: int) -> Array:
    """Indices counted from the front of an axis."""
    return np.where(indices < 0, indices + extent, indices)
