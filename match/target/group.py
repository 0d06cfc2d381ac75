"""Groups on a module: operands, scratch and cost of several operators whose tensors are whole in innermost memory."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from match.ir.group import first_readers, last_readers
from match.ir.layer import Axis, Component, Dim, Layer, Operand, Role, input_axes, whole_axis
from match.mapping.storage import storage
from match.target import methods
from match.target.cost import Tile
from match.target.hardware import HwModule, MatchTarget
from match.target.operands import INPUT, OperandError, Requantizers, element_bytes, weights_operand
from match.target.operators_cost import OperatorsCost, whole_words

GROUP_MULTIPLES: Mapping[Dim, int] = MappingProxyType({Dim.K: 0, Dim.OY: 0, Dim.OX: 0})
"""The tile of a group is all of it."""


def group_operands(module: HwModule, layer: Layer, requantizers: Requantizers) -> tuple[Operand, ...]:
    """The tensors from outside, the constants of all operators as one operand, and the output.

    Raises:
        OperandError: if a tensor of one of the operators is not dense, rows first.
    """
    each = [methods.operands(module, stage, form) for stage, form in zip(layer.stages, requantizers, strict=True)]
    for stage, operands in zip(layer.stages, each, strict=True):
        for operand in operands:
            if operand.role is not Role.CONSTANT and not storage(operand).plain:
                raise OperandError(f"the {operand.name} of its {stage.op.value} is not dense")
    read = [[operand for operand in operands if operand.role is Role.INPUT] for operands in each]
    outside = tuple(
        _whole_input(f"{INPUT}_{number}" if number else INPUT, read[reader][argument])
        for number, (reader, argument) in enumerate(first_readers(layer.links))
    )
    components = [
        replace(part, name=f"{part.name}_{number}", axes=tuple(map(_whole, part.axes)), operator=number)
        for number, operands in enumerate(each)
        for operand in operands
        if operand.role is Role.CONSTANT
        for part in operand.components
    ]
    output = next(operand for operand in each[-1] if operand.role is Role.OUTPUT)
    constants = [weights_operand(*components)] if components else []
    return (*outside, *constants, replace(output, partial_bytes=0))


def _whole_input(name: str, operand: Operand) -> Operand:
    """An input that the only tile has all of."""
    rows, columns, channels = storage(operand).shape
    axes = whole_axis(Dim.OY, rows), whole_axis(Dim.OX, columns), whole_axis(Dim.K, channels)
    return Operand(name, Role.INPUT, (Component(name, axes, operand.components[0].element_bytes),))


def _whole(axis: Axis) -> Axis:
    """An axis of constants that the only tile has all of."""
    return Axis(Dim.FX, axis.limit, window=axis.limit, multiple=axis.multiple)


def whole_tile(stage: Layer) -> Tile:
    """The kernel call that computes all of an operator."""
    rows, columns = input_axes(stage)
    iy, ix = rows.span(0, stage.oy)[1], columns.span(0, stage.ox)[1]
    return Tile(stage.k, stage.c, stage.oy, stage.ox, iy, ix, stage.fy, stage.fx)


def output_bytes(stage: Layer) -> int:
    """Bytes of the tensor that an operator writes."""
    return stage.output_channels * stage.oy * stage.ox * stage.unit * element_bytes(stage.output_dtype)


@dataclass(frozen=True)
class GroupCost(OperatorsCost):
    """Cost of a group: one kernel call for each operator."""

    def tiles(self, layer: Layer, tile: Tile) -> Sequence[Tile]:
        """All of each operator."""
        return [whole_tile(stage) for stage in layer.stages]

    def launched(self, layer: Layer) -> list[float]:
        """Cycles of each operator's kernel call, launch included."""
        calls = self.calls(layer, whole_tile(layer))
        return [launch + call for launch, call in zip(self.launches(layer), calls, strict=True)]

    def tensors(self, layer: Layer, tiles: Sequence[Tile]) -> tuple[tuple[Any, ...], Any]:
        """Each at the lowest address that is free from its operator to the last one that reads it."""
        return scratch_tensors([output_bytes(stage) for stage in layer.stages[:-1]], last_readers(layer.links))


def without_groups(target: MatchTarget) -> MatchTarget:
    """The target with modules that execute no groups, to see what chains or layers alone do."""
    changed = copy(target)
    changed.modules = tuple(map(copy, target.modules))
    for module in changed.modules:
        module.groups = False
    return changed


def scratch_tensors(sizes: Sequence[int], last: Sequence[int]) -> tuple[tuple[int, ...], int]:
    """Byte offsets of tensors, and the bytes of all of them together.

    Tensor n has `sizes[n]` bytes, is written by operator n, and is read by operators up to `last[n]`. In the order in
    which they are written, each takes the lowest address that is free.
    """
    living: list[tuple[int, int, int]] = []
    offsets: list[int] = []
    most = 0
    for number, (size, end) in enumerate(zip(sizes, last, strict=True)):
        living = [one for one in living if one[2] >= number]
        offset = 0
        for begin, behind, _ in living:
            if offset + whole_words(size) <= begin:
                break
            offset = max(offset, behind)
        insort(living, (offset, offset + whole_words(size), end))
        offsets.append(offset)
        most = max(most, living[-1][1], offset + whole_words(size))
    return tuple(offsets), most
