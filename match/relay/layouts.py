"""Relay of tensors as modules have them lie in main memory."""

from __future__ import annotations

from match.mapping.memory import align
from match.mapping.storage import Storage
from match.relay import relay


def to_layout(x: relay.Expr, layout: Storage) -> relay.Expr:
    """A dense tensor as an array in a layout, padding included.

    `stop_fusion` keeps a reversal out of the loop that pads its input: TVM's condition for padding would be wrong
    there.
    """
    sizes = [layout.shape[axis] for axis in layout.order]
    whole = align(sizes[2], layout.byte_group)
    x = relay.transpose(relay.reshape(x, layout.shape), layout.order)
    if whole != sizes[2]:
        x = relay.annotation.stop_fusion(relay.nn.pad(x, [(0, 0), (0, 0), (0, whole - sizes[2])]))
    x = _reversed(x, (sizes[0], sizes[1], whole), layout.byte_group)
    if layout.room != (sizes[0], sizes[1], whole):
        widths = [(0, room - size) for room, size in zip(layout.room, (sizes[0], sizes[1], whole), strict=True)]
        x = relay.nn.pad(x, widths)
    return x


def from_layout(x: relay.Expr, layout: Storage, shape: tuple[int, ...]) -> relay.Expr:
    """The dense tensor, of any rank, from an array in a layout."""
    sizes = [layout.shape[axis] for axis in layout.order]
    x = _reversed(x, layout.room, layout.byte_group)
    if layout.room != tuple(sizes):
        x = relay.strided_slice(x, begin=[0, 0, 0], end=sizes)
    back = [layout.order.index(axis) for axis in range(3)]
    return relay.reshape(relay.transpose(x, back), shape)


def _reversed(x: relay.Expr, shape: tuple[int, int, int], group: int) -> relay.Expr:
    """The tensor with the bytes of each group of the last axis in reverse order."""
    if group == 1:
        return x
    groups = relay.reshape(x, (shape[0], shape[1], shape[2] // group, group))
    return relay.reshape(relay.reverse(groups, axis=3), shape)
