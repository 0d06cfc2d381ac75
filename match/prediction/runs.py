"""Iterations of a loop that look the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from match.ir.layer import Axis


class Run(NamedTuple):
    """Consecutive iterations of a loop, `first` to `last`, that look the same to every operand and to the kernel."""

    first: int
    last: int


def unclipped(axes: Sequence[Axis]) -> tuple[int, int | None]:
    """The half-open range of iterations whose windows lie inside all tensors; endless without axes."""
    low = max((-(-axis.before // axis.stride) for axis in axes), default=0)
    return low, min(((axis.limit + axis.before - axis.window) // axis.stride + 1 for axis in axes), default=None)


def runs(axes: Sequence[Axis], start: int, extent: int, tile: int) -> tuple[Run, ...]:
    """The iterations of a loop that cuts `extent` iterations of a dimension, from `start`, into tiles.

    Neighbours are in one run when they have the same extent and none of the windows along `axes` is clipped.
    """
    last_tile = (extent - 1) // tile
    low, high = unclipped(axes)
    first = max(0, -(-(low - start) // tile))
    last = extent // tile - 1 if high is None else min(extent // tile - 1, (high - tile - start) // tile)
    if last <= first:
        return tuple(Run(index, index) for index in range(last_tile + 1))
    before = [Run(index, index) for index in range(first)]
    behind = [Run(index, index) for index in range(last + 1, last_tile + 1)]
    return (*before, Run(first, last), *behind)
