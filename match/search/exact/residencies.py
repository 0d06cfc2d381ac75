"""Residency: how operands may be held in a memory.

The blocks of an operand are fetched or written back inside some of the loops, into one or two buffers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from match.ir.layer import Dim, Operand, Role
from match.mapping.schedule import REDUCTIONS
from match.prediction.arrays import Ints

Way = tuple[frozenset[Dim], int]
"""How an operand is held: the dimensions of the loops inside which its blocks are fetched, the number of buffers."""


class Residencies(NamedTuple):
    """All ways to hold all operands in loops over some dimensions.

    ways: by operand, those it may be held in. which: the way of each operand, shape (operands, residencies). orders: of
    each residency, the orders of loops that it is possible in, outermost dimension first.
    """

    ways: tuple[tuple[Way, ...], ...]
    which: Ints
    orders: tuple[tuple[tuple[Dim, ...], ...], ...]


def residencies(operands: Sequence[Operand], dims: tuple[Dim, ...], packed: bool) -> Residencies:
    """All residencies in loops over `dims`; see `ways_in` for `packed`."""
    places: list[dict[Way, int]] = [{} for _ in operands]
    seen: dict[tuple[int, ...], list[tuple[Dim, ...]]] = {}
    for order in itertools.permutations(dims):
        choices = [
            [known.setdefault(way, len(known)) for way in ways_in(operand, order, packed)]
            for known, operand in zip(places, operands, strict=True)
        ]
        for residency in itertools.product(*choices):
            seen.setdefault(residency, []).append(order)
    which = np.array(list(seen), np.int64).reshape(len(seen), len(operands)).T
    return Residencies(tuple(map(tuple, places)), which, tuple(map(tuple, seen.values())))


def ways_in(operand: Operand, order: Sequence[Dim], packed: bool) -> Iterator[Way]:
    """The ways to hold an operand in loops of this order.

    Partial sums stay with their output, which is never placed inside a loop over a reduction. Blocks may be cut along
    an indivisible dimension only where constants are `packed` for the memory inside.
    """
    for depth, dim in enumerate((None, *order)):
        inside = frozenset(order[:depth])
        divides = packed or operand.indivisible_dims.isdisjoint(order[depth:])
        sums = operand.role is Role.OUTPUT and not inside.isdisjoint(REDUCTIONS)
        if divides and not sums and (dim is None or dim in operand.dims):
            yield from ((inside, buffers) for buffers in ((1, 2) if depth else (1,)))
