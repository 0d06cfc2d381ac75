"""How a module has activations lie in main memory, and when two of its layers can hand one on as it is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from match.errors import TargetError
from match.ir.layer import Component, Dim, Operand
from match.mapping.memory import align

PLACES = {Dim.OY: 0, Dim.OX: 1, Dim.K: 2, Dim.C: 2, Dim.FX: 2}
"""Which axis of an activation of rows, columns and channels follows a loop dimension; FX is never cut."""


def places(component: Component) -> tuple[int, ...]:
    """Which axis of an activation each of a component's is, -1 for none.

    The second of two matrices has an axis of K and one of C: its columns and its channels.
    """
    dims = [axis.dim for axis in component.axes]
    if Dim.K in dims and Dim.C in dims:
        return tuple(1 if dim is Dim.K else PLACES.get(dim, -1) for dim in dims)
    return tuple(PLACES.get(dim, -1) for dim in dims)


@dataclass(frozen=True)
class Storage:
    """An activation of `shape` (rows, columns, channels) as an array of another order, with room to spare.

    order: the axes of `shape`, slowest first.
    room: elements along each of them in that order, at least those of the shape; what is after these has any value.
    byte_group: bytes of the fastest axis that lie in reverse order together, the last first; 1: all lie in order.
    pitch: elements from one pixel to the next where the tensor is a part of a larger array, rows first, whose pixels
        have more channels; else 0. What is between is not the tensor's, and all of its pixels are one row here.
    """

    shape: tuple[int, int, int]
    order: tuple[int, int, int]
    room: tuple[int, int, int]
    byte_group: int = 1
    pitch: int = 0

    @property
    def in_order(self) -> bool:
        """Whether elements follow one another as in a dense array, rows first, though others may be between them."""
        return (self.order, self.room, self.byte_group) == ((0, 1, 2), self.shape, 1)

    @property
    def plain(self) -> bool:
        """Whether it is the array that operators on the control core read and write: dense, rows first."""
        return self.in_order and not self.pitch

    @property
    def elements(self) -> int:
        """From the first that is the tensor's to the last one, with the room between and after."""
        rows, columns, channels = self.room
        return (rows * columns - 1) * self.pitch + channels if self.pitch else rows * columns * channels

    def holds(self, wanted: Storage) -> bool:
        """Whether what is stored this way can be read as `wanted`: equal but for more room along the slowest axis."""
        return (
            (self.shape, self.order, self.byte_group, self.pitch)
            == (wanted.shape, wanted.order, wanted.byte_group, wanted.pitch)
            and self.room[1:] == wanted.room[1:]
            and self.room[0] >= wanted.room[0]
        )


def storage(operand: Operand) -> Storage:
    """How an activation of rows, columns and channels lies in main memory, as its operand's component says.

    Raises:
        TargetError: if the operand is no such activation.
    """
    axes = [axis for component in operand.components for axis in component.axes]
    order = [place for component in operand.components for place in places(component)]
    if operand.transposed and sorted(order) == [0, 1, 2]:
        order = [0, 1, 2]
    if len(operand.components) != 1 or sorted(order) != [0, 1, 2]:
        raise TargetError(
            f"operand {operand.name} is not an activation of rows, columns and channels (one component with an axis "
            f"of OY, one of OX and one of K or C), which generated code needs."
        )
    rows, columns, channels = (axes[order.index(place)].limit for place in range(3))
    room = [align(axis.limit, axis.multiple) for axis in axes]
    if axes[-1].array:
        return part_of(rows * columns, channels, axes[-1].array)
    return Storage(
        shape=(rows, columns, channels),
        order=(order[0], order[1], order[2]),
        room=(room[0], room[1], room[2]),
        byte_group=operand.components[0].byte_group,
    )


def part_of(pixels: int, channels: int, pitch: int) -> Storage:
    """How a tensor lies whose channels are some of the `pitch` channels of another one."""
    return Storage((1, pixels, channels), (0, 1, 2), (1, pixels, channels), pitch=pitch)


def dense(shape: tuple[int, ...]) -> Storage:
    """How a tensor of any rank lies on the control core: all of it is one row."""
    channels = shape[-1] if shape else 1
    whole = (1, math.prod(shape[:-1]), channels)
    return Storage(whole, (0, 1, 2), whole)
