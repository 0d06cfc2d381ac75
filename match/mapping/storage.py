"""How a module has activations lie in main memory, and when two of its layers can hand one on as it is."""

from __future__ import annotations

from dataclasses import dataclass

from match.errors import TargetError
from match.ir.layer import Component, Dim, Operand
from match.mapping.schedule import align

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
    room: elements along each of them in that order, at least those of the shape; what is behind these has any value.
    byte_group: bytes of the fastest axis that lie in reverse order together, the last first; 1: all lie in order.
    """

    shape: tuple[int, int, int]
    order: tuple[int, int, int]
    room: tuple[int, int, int]
    byte_group: int = 1

    @property
    def plain(self) -> bool:
        """Whether it is the array that operators on the control core read and write: dense, rows first."""
        return (self.order, self.room, self.byte_group) == ((0, 1, 2), self.shape, 1)

    def holds(self, wanted: Storage) -> bool:
        """Whether what is stored this way can be read as `wanted`: equal but for more room along the slowest axis."""
        return (
            (self.shape, self.order, self.byte_group) == (wanted.shape, wanted.order, wanted.byte_group)
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
    return Storage(
        shape=(rows, columns, channels),
        order=(order[0], order[1], order[2]),
        room=(room[0], room[1], room[2]),
        byte_group=operand.components[0].byte_group,
    )
