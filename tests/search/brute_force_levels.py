"""Every mapping of a layer onto two memories, tried one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

from match.errors import ScheduleError
from match.ir.layer import Dim, Layer, Operand
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Placement, Schedule
from match.prediction.blocks import largest_tile
from match.target.cost import CostModel
from tests.search.brute_force import CUT


def pairs_of_tiles(layer: Layer, dim: Dim, multiples: Mapping[Dim, int]) -> list[tuple[int, int]]:
    """Outer and inner tile sizes of a dimension: each a multiple or all that there is; inner tiles alone cut C."""
    multiple, size = multiples.get(dim, 0 if dim is Dim.C else 1), layer.size(dim)

    def allowed(tile: int, whole: int) -> bool:
        return tile == whole or (multiple > 0 and tile % multiple == 0)

    return [
        (outer, inner)
        for outer in range(size if dim is Dim.C else 1, size + 1)
        for inner in range(1, outer + 1)
        if allowed(outer, size) and allowed(inner, outer)
    ]


def ways_to_hold(operand: Operand, order: tuple[Dim, ...], first: int) -> list[tuple[int, int]]:
    """Depth and buffers of an operand in the loops `order`, of which `first` are outside of all."""
    return [(first, 1)] + [
        (first + n, buffers) for n, dim in enumerate(order, 1) if dim in operand.dims for buffers in (1, 2)
    ]


def orders(layer: Layer, multiples: Mapping[Dim, int]) -> Iterator[tuple[Loop, ...]]:
    """All loops, of both levels."""
    for tiles in itertools.product(*(pairs_of_tiles(layer, dim, multiples) for dim in CUT)):
        outer = [Loop(d, o, layer.size(d), 0) for d, (o, _) in zip(CUT, tiles, strict=True) if o < layer.size(d)]
        inner = [Loop(d, i, o, 1) for d, (o, i) in zip(CUT, tiles, strict=True) if i < o]
        for one in itertools.permutations(outer):
            for other in itertools.permutations(inner):
                yield (*one, *other)


def two_level_nests(
    layer: Layer, operands: tuple[Operand, ...], memories: tuple[Memory, ...], multiples: Mapping[Dim, int]
) -> Iterator[tuple[tuple[Loop, ...], tuple[Placement, ...]]]:
    for loops in orders(layer, multiples):
        choices: list[list[Placement]] = []
        for level, memory in enumerate(memories):
            first = sum(loop.level < level for loop in loops)
            order = tuple(loop.dim for loop in loops if loop.level == level)
            choices += [
                [Placement(operand.name, memory.name, *way) for way in ways_to_hold(operand, order, first)]
                for operand in operands
                if memory.has(operand.name)
            ]
        for placements in itertools.product(*choices):
            yield loops, placements


def two_level_size(
    layer: Layer, operands: tuple[Operand, ...], memories: tuple[Memory, ...], multiples: Mapping[Dim, int]
) -> int:
    """Number of nests, without generating them all; large ones are not counted to the end."""
    total = 0
    for loops in orders(layer, multiples):
        total += math.prod(
            1 + 2 * sum(loop.level == level and loop.dim in operand.dims for loop in loops)
            for level, memory in enumerate(memories)
            for operand in operands
            if memory.has(operand.name)
        )
        if total > 1 << 20:
            break
    return total


def two_level_schedules(
    layer: Layer,
    operands: tuple[Operand, ...],
    memories: tuple[Memory, ...],
    model: CostModel,
    multiples: Mapping[Dim, int],
) -> Iterator[Schedule]:
    """Those that can be built."""
    for loops, placements in two_level_nests(layer, operands, memories, multiples):
        extents = layer.extents | {loop.dim: loop.tile for loop in loops}
        scratch = model.scratch(layer, largest_tile(layer, extents))
        try:
            yield Schedule(layer, operands, memories, loops, placements, scratch)
        except ScheduleError:
            continue
