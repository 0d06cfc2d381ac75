"""How loop orders begin, and in which ways operands may be held then: what bounds of transfers tell apart."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from match.ir.layer import Dim, Operand, Role
from match.schedule.rooms import Floats, Ints
from match.schedule.tiles import TILED, subsets


class Ways(NamedTuple):
    """The ways to hold an operand, each cut along some dimensions and fetched again by some loops.

    dims: the dimensions that it may be cut along. cuts, loops: the `subsets` of these, and of others that loops may be
    over. which: places in `cuts` and in `loops` of each way, shape (2, ways).
    groups: the ways that there are with some starts. start: the group of each start.
    """

    dims: list[Dim]
    cuts: list[frozenset[Dim]]
    loops: list[frozenset[Dim]]
    which: Ints
    groups: list[list[int]]
    start: list[int]

    def least(self, *figures: Floats) -> Floats:
        """The least of each of some figures of the ways, by start; shape (figures, starts, tiles)."""
        every = np.stack(figures, axis=1)  # by way, so that a group needs no copies
        least = np.stack([reduce(np.minimum, (every[way] for way in group)) for group in self.groups], axis=1)
        return least[:, self.start]


class Starts(NamedTuple):
    """The dimensions of the loops that `_Start` calls `following`, and by operand the ways to hold it."""

    following: list[Dim]
    ways: list[Ways]


class AllStarts:
    """Those of a layer's operands, by the dimensions that tiles cut; each is listed once."""

    def __init__(self, operands: Sequence[Operand]) -> None:
        self._operands = operands
        self._known: dict[tuple[Dim, ...], Starts] = {}

    def over(self, dims: tuple[Dim, ...]) -> Starts:
        """In loops over some of `dims`."""
        known = self._known.get(dims)
        if known is None:
            starts = _starts(dims)
            known = Starts([start.following for start in starts], [_ways(some, starts) for some in self._operands])
            self._known[dims] = known
        return known


class _Start(NamedTuple):
    """How a loop order begins: with the loops `outside`, in any order, and then the one over `following`.

    Where input channels are cut that is theirs, as the output's blocks lie outside of it; else it is the outermost.
    """

    outside: frozenset[Dim]
    following: Dim

    def held(self, operand: Operand, cuts: Sequence[frozenset[Dim]]) -> Iterator[tuple[int, frozenset[Dim]]]:
        """The places of those of `cuts` that an operand may have, and the loops that fetch its blocks again."""
        first, reduces = self.outside | {self.following}, self.following is Dim.C
        own, others = first & operand.dims, first - operand.dims
        before = not (reduces and operand.role is Role.CONSTANT and Dim.C in operand.indivisible_dims)
        inside = not (reduces and operand.role is Role.OUTPUT)
        for place, cut in enumerate(cuts):
            if cut <= self.outside:  # fetched inside some of these, or before all loops
                if before:
                    yield place, frozenset()
            elif inside and own <= cut:
                yield place, others


def _starts(dims: Collection[Dim]) -> list[_Start]:
    """All ways in which loops over some of `dims` begin."""
    others = [dim for dim in dims if dim is not Dim.C]
    starts = [_Start(frozenset(), dim) for dim in others or TILED[:1]]  # one at least, for a tile that cuts nothing
    if Dim.C in dims:
        starts += [_Start(frozenset(outside), Dim.C) for outside in subsets(others)]
    return starts


def _ways(operand: Operand, starts: Sequence[_Start]) -> Ways:
    dims = {dim for start in starts for dim in start.outside | {start.following}}
    own = [dim for dim in TILED if dim in dims & operand.dims]
    others = [dim for dim in TILED if dim in dims - operand.dims]
    cuts, loops = (list(map(frozenset, subsets(some))) for some in (own, others))
    ways: dict[tuple[int, int], int] = {}
    groups: dict[tuple[int, ...], int] = {}
    which: list[int] = []
    for start in starts:
        some = [(place, loops.index(again)) for place, again in start.held(operand, cuts)]
        group = tuple(ways.setdefault(way, len(ways)) for way in some)
        which.append(groups.setdefault(group, len(groups)))
    return Ways(own, cuts, loops, np.array(list(ways)).T, list(map(list, groups)), which)
