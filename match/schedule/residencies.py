"""How operands may be held in a memory: the loops that their blocks are fetched inside of, the number of buffers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from match.layer import Dim, Operand, Role
from match.schedule.mapping import REDUCTIONS
from match.schedule.rooms import Flags
from match.schedule.tiles import subsets
from match.schedule.waits import Held

Way = tuple[frozenset[Dim], int]
"""How an operand is held: the dimensions of the loops that its blocks are fetched inside of, the number of buffers."""


def held_in(operand: Operand, order: Sequence[Dim], packed: bool) -> tuple[tuple[int, int], ...]:
    """The depths and numbers of buffers that an operand may have in loops of this order.

    Blocks are cut along what is indivisible only where they are `packed` for the memory inside.
    """
    depths = [0, *(depth for depth, dim in enumerate(order, 1) if dim in operand.dims)]
    outside = _outside(operand)
    return tuple(
        (depth, buffers)
        for depth in depths
        if (packed or operand.indivisible_dims.isdisjoint(order[depth:])) and outside.isdisjoint(order[:depth])
        for buffers in ((1, 2) if depth else (1,))
    )


def ways_in(operand: Operand, dims: Sequence[Dim]) -> list[Way]:
    """All ways to hold an operand in any order of loops over some of `dims`."""
    inside = map(frozenset, subsets([dim for dim in dims if dim not in _outside(operand)]))
    loops = [some for some in inside if some & operand.dims]
    return [(frozenset[Dim](), 1), *((some, buffers) for buffers in (1, 2) for some in loops)]


def _outside(operand: Operand) -> frozenset[Dim]:
    """Loops that are never outside of an operand's blocks: partial sums stay with their block."""
    return REDUCTIONS if operand.role is Role.OUTPUT else frozenset()


@dataclass(frozen=True)
class Residencies:
    """All ways to hold all operands in loops over some dimensions, whatever their order.

    ways: by operand, those of each of the `count` residencies. Orders in which all operands are fetched inside of the
    same loops are not told apart.
    """

    dims: tuple[Dim, ...]
    count: int
    ways: tuple[tuple[Way, ...], ...]

    @cached_property
    def held(self) -> tuple[Held, ...]:
        """The depths and buffers of each operand, shape (count, 1)."""
        return tuple(
            Held(
                np.array([len(inside) for inside, _ in ways], np.int64).reshape(-1, 1),
                np.array([buffers == 2 for _, buffers in ways], np.bool_).reshape(-1, 1),
            )
            for ways in self.ways
        )

    def uncut(self, number: int, dim: Dim) -> Flags:
        """Whether the blocks of an operand are whole along one of the dimensions, shape (count,)."""
        return np.array([dim not in inside for inside, _ in self.ways[number]], np.bool_)


class AllResidencies:
    """Those of a layer's operands, by the dimensions that tiles cut; each is listed once."""

    def __init__(self, operands: Sequence[Operand], packed: bool) -> None:
        self._operands = operands
        self._packed = packed
        self._known: dict[tuple[Dim, ...], Residencies] = {}

    def over(self, dims: tuple[Dim, ...]) -> Residencies:
        """In loops over `dims`."""
        known = self._known.get(dims)
        if known is None:
            seen: dict[tuple[Way, ...], None] = {}
            for order in itertools.permutations(dims):
                held = [held_in(operand, order, self._packed) for operand in self._operands]
                choices = [[(frozenset(order[:depth]), buffers) for depth, buffers in some] for some in held]
                seen |= dict.fromkeys(itertools.product(*choices))
            ways = tuple(tuple(every[n] for every in seen) for n in range(len(self._operands)))
            known = Residencies(dims, len(seen), ways)
            self._known[dims] = known
        return known
