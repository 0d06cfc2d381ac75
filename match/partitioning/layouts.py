"""Activations in the layouts of modules: a tensor is converted only where its reader needs another layout.

Each tensor is converted once for each layout. Between layers with the same layout there is no conversion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from match.dispatch.choice import cpu_cost
from match.mapping.schedule import align
from match.mapping.storage import Storage
from match.relay import relay
from match.relay.rewrite import operator_name, shape
from match.target.cost import Cost
from match.target.hardware import MatchTarget

LAYOUT = "layout"
"""Operator, in a decision, that converts a tensor before a module or after it."""


@dataclass(frozen=True)
class Conversion:
    """A conversion of a tensor: the bytes that it writes, and the expression of the original network that reads it."""

    reader: relay.Expr | None
    elements: int


class Tensors:
    """The tensors of a network that is being rebuilt, each in all layouts that readers have asked for.

    `conversions` are the conversions that were needed, in order. `reader` is the expression that asks now.
    """

    def __init__(self) -> None:
        self.conversions: list[Conversion] = []
        self.reader: relay.Expr | None = None
        self._wanted: dict[relay.Expr, list[Storage]] = {}
        self._plain: dict[relay.Expr, relay.Expr] = {}
        self._stored: dict[relay.Expr, list[tuple[Storage, relay.Expr]]] = {}

    def will_want(self, original: relay.Expr, wanted: Storage) -> None:
        """Announce that a reader will want a layout: if one with more room serves it too, only that one is made."""
        if not wanted.plain:
            self._wanted.setdefault(original, []).append(wanted)

    def put(self, original: relay.Expr, value: relay.Expr, layout: Storage | None = None) -> None:
        """Set the value of a tensor of the original network; without a layout it is dense."""
        if layout is None or layout.plain:
            self._plain[original] = value
        else:
            self._stored[original] = [(layout, value)]

    def plain(self, original: relay.Expr) -> relay.Expr:
        """The tensor as operators on the control core read it."""
        if original not in self._plain:
            assert not self._stored[original][0][0].pitch, "no operator of the control core reads parts of tensors"
            layout, value = self._stored[original][0]
            self._note(math.prod(layout.shape))
            self._plain[original] = from_layout(value, layout, shape(original))
        return self._plain[original]

    def stored(self, original: relay.Expr, wanted: Storage) -> tuple[Storage, relay.Expr]:
        """A layout that can be read as `wanted`, and the tensor in this layout."""
        if wanted.plain:
            return wanted, self.plain(original)
        have = self._stored.setdefault(original, [])
        for layout, value in have:
            if layout.holds(wanted):
                return layout, value
        plain = self.plain(original)
        serving = [layout for layout in self._wanted.get(original, ()) if layout.holds(wanted)]
        largest = max(serving, key=lambda layout: layout.room[0], default=wanted)
        self._note(math.prod(largest.room))
        have.append((largest, to_layout(plain, largest)))
        return have[-1]

    def _note(self, elements: int) -> None:
        self.conversions.append(Conversion(self.reader, elements))


def conversion_cost(target: MatchTarget, name: str, elements: int) -> Cost:
    """Cost of a conversion of so many elements on the control core, in the row called `name`."""
    return cpu_cost(target, name, LAYOUT, 0, elements)


def to_layout(x: relay.Expr, layout: Storage) -> relay.Expr:
    """A dense tensor as an array in a layout, padding included.

    `stop_fusion` keeps a reversal out of the loop that computes its input: TVM's condition for padding would be wrong
    there.
    """
    sizes = [layout.shape[axis] for axis in layout.order]
    whole = align(sizes[2], layout.byte_group)
    if operator_name(x):
        x = relay.annotation.stop_fusion(x)
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
