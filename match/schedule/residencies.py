"""How operands may be held in a memory: the loops that their blocks are fetched inside of, the number of buffers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from match.ir.layer import Dim, Operand, Role
from match.schedule.mapping import REDUCTIONS
from match.schedule.rooms import Flags, Ints
from match.schedule.tiles import subsets
from match.schedule.waits import Held

Way = tuple[frozenset[Dim], int]
"""How an operand is held: the dimensions of the loops that its blocks are fetched inside of, the number of buffers."""


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

    orders: of each residency, the orders of loops in which there is one, outermost first: those in which all operands
    are fetched inside of the same loops. ways: by operand, those it is held in. which: by operand, that of each
    residency, shape (residencies, 1).
    """

    dims: tuple[Dim, ...]
    orders: tuple[tuple[tuple[Dim, ...], ...], ...]
    ways: tuple[tuple[Way, ...], ...]
    which: tuple[Ints, ...]

    @cached_property
    def held(self) -> tuple[Held, ...]:
        """The depths and buffers of each operand, shape (residencies, 1)."""
        return tuple(
            Held(
                np.array([len(inside) for inside, _ in ways], np.int64)[which],
                np.array([buffers == 2 for _, buffers in ways], np.bool_)[which],
            )
            for ways, which in zip(self.ways, self.which, strict=True)
        )

    def ways_of(self, residency: int) -> Iterator[Way]:
        """The way in which each operand is held in one of them."""
        return (ways[int(which[residency, 0])] for ways, which in zip(self.ways, self.which, strict=True))

    def uncut(self, number: int, dim: Dim) -> Flags:
        """Whether the blocks of an operand are whole along one of the dimensions, shape (residencies,)."""
        return np.array([dim not in inside for inside, _ in self.ways[number]], np.bool_)[self.which[number][:, 0]]


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
            every = [ways_in(operand, dims) for operand in self._operands]
            places = [{way: place for place, way in enumerate(ways)} for ways in every]
            seen: dict[tuple[int, ...], list[tuple[Dim, ...]]] = {}
            for order in itertools.permutations(dims):
                choices = [
                    [numbers[way] for way in _ways(operand, order, self._packed)]
                    for numbers, operand in zip(places, self._operands, strict=True)
                ]
                for residency in itertools.product(*choices):
                    seen.setdefault(residency, []).append(order)
            which = np.array(list(seen), np.int64).reshape(len(seen), len(every))
            known = self._known[dims] = Residencies(
                dims,
                tuple(map(tuple, seen.values())),
                tuple(map(tuple, every)),
                tuple(which[:, number, None] for number in range(len(every))),
            )
        return known


def _ways(operand: Operand, order: Sequence[Dim], packed: bool) -> Iterator[Way]:
    """The ways in which an operand may be held in loops of this order.

    Blocks are cut along what is indivisible only where they are `packed` for the memory inside.
    """
    depths = [0, *(depth for depth, dim in enumerate(order, 1) if dim in operand.dims)]
    for depth in depths:
        inside = frozenset(order[:depth])
        if (packed or operand.indivisible_dims.isdisjoint(order[depth:])) and _outside(operand).isdisjoint(inside):
            yield from ((inside, buffers) for buffers in ((1, 2) if depth else (1,)))
