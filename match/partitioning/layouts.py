"""Activations in the layouts of modules: a tensor is converted only where its reader needs another layout.

Each tensor is converted once for each layout. Between layers with the same layout there is no conversion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from match.dispatch.choice import cpu_cost
from match.graph.layouts import FromLayout, ToLayout
from match.graph.value import Value, computed
from match.mapping.storage import Storage
from match.target.cost import Cost
from match.target.hardware import MatchTarget

LAYOUT = "layout"
"""Operator, in a decision, that converts a tensor before a module or after it."""


@dataclass(frozen=True)
class Conversion:
    """A conversion of a tensor: the elements that it writes, and the row of the network that reads it, by its root."""

    reader: Value | None
    elements: int


class Convert(Protocol):
    """Computes conversion `number` as `value`; `alone`: only the reader of this moment reads it."""

    def __call__(self, number: int, value: Value, *, alone: bool) -> Value:
        """What stands for the converted tensor."""
        ...


class Tensors:
    """The tensors of a network that is cut, each in all layouts that readers have asked for.

    `conversions` are the conversions that were needed, in order. `reader` is the root of the row that asks now.
    """

    def __init__(self, convert: Convert) -> None:
        self.conversions: list[Conversion] = []
        self.reader: Value | None = None
        self._convert = convert
        self._wanted: dict[Value, list[Storage]] = {}
        self._plain: dict[Value, Value] = {}
        self._stored: dict[Value, list[tuple[Storage, Value]]] = {}

    def will_want(self, original: Value, wanted: Storage) -> None:
        """Announce that a reader will want a layout: if one with more room serves it too, only that one is made."""
        if not wanted.plain:
            self._wanted.setdefault(original, []).append(wanted)

    def put(self, original: Value, value: Value, layout: Storage | None = None) -> None:
        """Say where a computed tensor of the network is: in `value`, which has a layout or is dense."""
        if layout is None or layout.plain:
            self._plain[original] = value
        else:
            self._stored[original] = [(layout, value)]

    def plain(self, original: Value, *, alone: bool = False) -> Value:
        """The tensor as operators on the control core read it; `alone`: nothing else reads it."""
        if original in self._plain:
            return self._plain[original]
        if not self._stored.get(original):  # an input or a constant
            value = original
        else:
            assert not self._stored[original][0][0].pitch, "no operator of the control core reads parts of tensors"
            layout, stored = self._stored[original][0]
            dense = computed(FromLayout(layout=layout, shape=original.shape), stored)
            value = self._converted(dense, math.prod(layout.shape), alone=alone)
        if not alone:
            self._plain[original] = value
        return value

    def stored(self, original: Value, wanted: Storage) -> tuple[Storage, Value]:
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
        laid_out = computed(ToLayout(layout=largest), plain)
        have.append((largest, self._converted(laid_out, math.prod(largest.room))))
        return have[-1]

    def _converted(self, value: Value, elements: int, *, alone: bool = False) -> Value:
        self.conversions.append(Conversion(self.reader, elements))
        return self._convert(len(self.conversions) - 1, value, alone=alone)


def conversion_cost(target: MatchTarget, name: str, elements: int) -> Cost:
    """Cost of a conversion of so many elements on the control core, in the row called `name`."""
    return cpu_cost(target, name, LAYOUT, 0, elements)
