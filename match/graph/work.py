"""What the control core does for an operator: how reports call it, and what its cost depends on."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from match.ir.layer import Op


class Loop(enum.Enum):
    """How an operator is computed, which says what it may share a loop with.

    ELEMENTS: each element from the elements of its inputs at the same place, inputs broadcast. MOVES: each element from
    few elements of its inputs, wherever they are. REDUCTION: elements are combined along axes. PRODUCTS: products are
    summed. END: nothing is computed, and the loop of what it reads ends. OTHER: several loops, or one of its own.
    """

    ELEMENTS = enum.auto()
    MOVES = enum.auto()
    REDUCTION = enum.auto()
    PRODUCTS = enum.auto()
    END = enum.auto()
    OTHER = enum.auto()


@dataclass(frozen=True)
class Work:
    """An operator as the control core computes it.

    name: what reports call it, the value of `Op` where it is a layer's operator, Relay's name where it has no class.
    loop: how it is computed. op: the kind of layer whose products it sums, `macs` of them. combined: values that a
    reduction or a pooling combines to all of its outputs; 0 of other operators. floating: whether it computes in
    floating point, or converts from it or to it. exact: whether the core's C computes just the operator's numbers.
    """

    name: str
    loop: Loop
    op: Op | None = None
    macs: int = 0
    combined: int = 0
    floating: bool = False
    exact: bool = True
