"""Tensors as modules have them lie in main memory, and back: what the control core does between layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from match.graph.operator import Array, Operator
from match.graph.work import Loop
from match.ir.graph import Tensor
from match.mapping.storage import Storage


@dataclass(frozen=True, eq=False, kw_only=True)
class ToLayout(Operator):
    """A dense tensor as the array that a layout says; zeros fill its room."""

    called: ClassVar[str] = "to_layout"
    loop: ClassVar[Loop] = Loop.MOVES

    layout: Storage

    def result(self, *inputs: Tensor) -> Tensor:
        """The layout's array."""
        return Tensor(self.layout.room, inputs[0].dtype)

    def compute(self, *inputs: Array) -> Array:
        """The array."""
        turned = inputs[0].reshape(self.layout.shape).transpose(self.layout.order)
        room = np.zeros(self.layout.room, turned.dtype)
        room[tuple(map(slice, turned.shape))] = turned
        return _reversed(room, self.layout.byte_group)


@dataclass(frozen=True, eq=False, kw_only=True)
class FromLayout(Operator):
    """The dense tensor of any `shape` that an array in a layout is."""

    called: ClassVar[str] = "from_layout"
    loop: ClassVar[Loop] = Loop.MOVES

    layout: Storage
    shape: tuple[int, ...]

    def result(self, *inputs: Tensor) -> Tensor:
        """The shape, in the array's type."""
        return Tensor(self.shape, inputs[0].dtype)

    def compute(self, *inputs: Array) -> Array:
        """The elements."""
        sizes = (self.layout.shape[axis] for axis in self.layout.order)
        turned = _reversed(inputs[0], self.layout.byte_group)[tuple(map(slice, sizes))]
        back = tuple(self.layout.order.index(axis) for axis in range(3))
        return turned.transpose(back).reshape(self.shape)


def _reversed(x: Array, group: int) -> Array:
    """The array with the elements of each group of the last axis in reverse order."""
    return x.reshape(*x.shape[:-1], -1, group)[..., ::-1].reshape(x.shape)
