"""Every mapping of a layer onto one memory, tried one by one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

from match.errors import ScheduleError
from match.ir.layer import Dim, Layer, Operand, Role
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Placement, Schedule
from match.prediction.blocks import largest_tile
from match.prediction.predict import predict
from match.target.cost import CostModel, Energy

CUT: tuple[Dim, ...] = (Dim.K, Dim.OY, Dim.OX, Dim.C)


def tile_sizes(layer: Layer, dim: Dim, multiples: Mapping[Dim, int]) -> list[int]:
    multiple = multiples.get(dim, 0 if dim is Dim.C else 1)
    whole = layer.size(dim)
    return [t for t in range(1, whole + 1) if t == whole or (multiple > 0 and t % multiple == 0)]


def nests(
    layer: Layer, operands: tuple[Operand, ...], multiples: Mapping[Dim, int]
) -> Iterator[tuple[tuple[Loop, ...], tuple[Placement, ...]]]:
    for tile in itertools.product(*(tile_sizes(layer, dim, multiples) for dim in CUT)):
        sizes = dict(zip(CUT, tile, strict=True))
        cut = [dim for dim in CUT if sizes[dim] < layer.size(dim)]
        for order in itertools.permutations(cut):
            loops = tuple(Loop(dim, sizes[dim], layer.size(dim)) for dim in order)
            held = [
                [Placement(operand.name, "L1", depth, buffers) for depth, buffers in ways(operand, order)]
                for operand in operands
            ]
            for placements in itertools.product(*held):
                yield loops, placements


def ways(operand: Operand, order: tuple[Dim, ...]) -> list[tuple[int, int]]:
    """Depths and buffers: partial sums stay with their output, filters come with the channels that are summed up."""
    found = []
    for depth in range(len(order) + 1):
        wrong = {Role.INPUT: (), Role.CONSTANT: order[depth:], Role.OUTPUT: order[:depth]}[operand.role]
        if Dim.C not in wrong and (depth == 0 or order[depth - 1] in operand.dims):
            found += [(depth, buffers) for buffers in ((1, 2) if depth else (1,))]
    return found


def size_of_search(layer: Layer, operands: tuple[Operand, ...], multiples: Mapping[Dim, int]) -> int:
    """Number of nests, without generating them."""
    total = 0
    for flags in itertools.product((False, True), repeat=len(CUT)):
        cut = [dim for dim, flag in zip(CUT, flags, strict=True) if flag]
        tiles = math.prod(len(tile_sizes(layer, dim, multiples)) - 1 for dim in cut)
        per_order = [
            math.prod(len(ways(operand, order)) for operand in operands) for order in itertools.permutations(cut)
        ]
        total += tiles * sum(per_order)
    return total


def schedules(
    layer: Layer, operands: tuple[Operand, ...], memory: Memory, model: CostModel, multiples: Mapping[Dim, int]
) -> Iterator[Schedule]:
    """Those that can be built."""
    for loops, placements in nests(layer, operands, multiples):
        extents = layer.extents | {loop.dim: loop.tile for loop in loops}
        scratch = model.scratch(layer, largest_tile(layer, extents))
        try:
            yield Schedule(layer, operands, (memory,), loops, placements, scratch)
        except ScheduleError:
            continue


def rank(
    schedule: Schedule, cycles: float, moved: int, objective: str, energy: Energy | None = None, work: float = 0.0
) -> tuple[object, ...]:
    """The order of preference as documented: objective, bytes or cycles, larger tiles, order, residency, buffers.

    `work` is what kernels and the core beside them consume, in pJ.
    """
    extents = schedule.extents(len(schedule.loops))
    tile = [extents[dim] for dim in CUT]
    memory = schedule.inner_memory
    held = tuple(schedule.placement(operand.name, memory) for operand in schedule.operands)
    rounded = round(cycles * 256) / 256
    first = {"latency": (rounded, moved), "bytes": (moved, rounded)}
    if energy is not None:
        first["energy"] = (round((moved * energy.byte["L1"] + rounded * energy.cycle + work) * 256) / 256, rounded)
    return (
        *first[objective],
        -math.prod(tile),
        tuple(CUT.index(loop.dim) for loop in schedule.loops),
        tuple((placement.depth, placement.buffers) for placement in held),
        tuple(-size for size in tile),
    )


def predicted_rank(schedule: Schedule, model: CostModel, objective: str) -> tuple[object, ...]:
    """`rank` of what is predicted."""
    cost, energy = predict(schedule, model), model.energy
    work = energy.kernel * cost.compute + energy.control * cost.overhead if energy else 0.0
    return rank(schedule, cost.cycles, cost.moved_bytes, objective, energy, work)
