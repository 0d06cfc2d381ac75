"""Activations in the layouts of modules: a tensor is converted only where its reader needs another layout.

Each tensor is converted once for each layout. Between layers with the same layout there is no conversion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from match.dispatch.choice import cpu_cost
from match.mapping.schedule import align
from match.mapping.storage import Storage
from match.relay import relay
from match.relay.rewrite import rebuild, shape
from match.target.cost import Cost
from match.target.hardware import MatchTarget

LAYOUT = "layout"
"""Operator, in a decision, that converts a tensor before a module or after it."""


@dataclass(frozen=True)
class Conversion:
    """A conversion of a tensor: the bytes that it writes, and the expression of the original network that reads it."""

    reader: relay.Expr | None
    elements: int


class Convert(Protocol):
    """Computes conversion `number` as `body`, of the type `kind`; `alone`: only the reader of this moment reads it."""

    def __call__(self, number: int, body: relay.Expr, kind: Any, *, alone: bool) -> relay.Expr:
        """What stands for the converted tensor."""
        ...


class Tensors:
    """The tensors of a network that is being rebuilt, each in all layouts that readers have asked for.

    `conversions` are the conversions that were needed, in order. `reader` is the expression that asks now.
    """

    def __init__(self, convert: Convert) -> None:
        self.conversions: list[Conversion] = []
        self.reader: relay.Expr | None = None
        self._convert = convert
        self._wanted: dict[relay.Expr, list[Storage]] = {}
        self._plain: dict[relay.Expr, relay.Expr] = {}
        self._stored: dict[relay.Expr, list[tuple[Storage, relay.Expr]]] = {}

    def will_want(self, original: relay.Expr, wanted: Storage) -> None:
        """Announce that a reader will want a layout: if one with more room serves it too, only that one is made."""
        if not wanted.plain:
            self._wanted.setdefault(original, []).append(wanted)

    def put(self, original: relay.Expr, value: relay.Expr, layout: Storage | None = None) -> None:
        """Set the value of an operator of the original network; without a layout it is dense."""
        if layout is None or layout.plain:
            self._plain[original] = value
        else:
            self._stored[original] = [(layout, value)]

    def plain(self, original: relay.Expr, *, alone: bool = False) -> relay.Expr:
        """The tensor as operators on the control core read it; `alone`: nothing else reads it."""
        if original in self._plain:
            return self._plain[original]
        if not self._stored.get(original):  # an input, a constant, a tuple or a field of one
            value = rebuild(original, self.plain)
        else:
            assert not self._stored[original][0][0].pitch, "no operator of the control core reads parts of tensors"
            layout, stored = self._stored[original][0]
            dense = from_layout(stored, layout, shape(original))
            value = self._converted(dense, math.prod(layout.shape), original.checked_type, alone)
        if not alone:
            self._plain[original] = value
        return value

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
        kind = relay.TensorType(largest.room, original.checked_type.dtype)
        have.append((largest, self._converted(to_layout(plain, largest), math.prod(largest.room), kind)))
        return have[-1]

    def _converted(self, body: relay.Expr, elements: int, kind: Any, alone: bool = False) -> relay.Expr:
        self.conversions.append(Conversion(self.reader, elements))
        return self._convert(len(self.conversions) - 1, body, kind, alone=alone)


def conversion_cost(target: MatchTarget, name: str, elements: int) -> Cost:
    """Cost of a conversion of so many elements on the control core, in the row called `name`."""
    return cpu_cost(target, name, LAYOUT, 0, elements)


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
