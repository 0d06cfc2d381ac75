"""Groups: operands, sizes and cost of several operators whose tensors are whole in innermost memory.

The operators may be on several modules that compute out of one memory, and wait for its transfers in one way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

from match.ir.group import first_readers
from match.ir.layer import Axis, Component, Dim, Layer, Operand, Role, input_axes, whole_axis
from match.mapping.group_plan import Sizes
from match.mapping.storage import storage
from match.target import methods
from match.target.cost import Tile
from match.target.hardware import HwModule, MatchTarget
from match.target.operands import INPUT, OperandError, Requantizers, element_bytes, weights_operand
from match.target.operators_cost import OperatorsCost


def group_operands(modules: Sequence[HwModule], layer: Layer, requantizers: Requantizers) -> tuple[Operand, ...]:
    """The tensors from outside, the constants of all operators as one operand, and the output.

    Raises:
        OperandError: if a tensor of one of the operators is not dense, rows first.
    """
    asked = zip(modules, layer.stages, requantizers, strict=True)
    each = [methods.operands(module, stage, form) for module, stage, form in asked]
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
    """Cost of a group: one kernel call for each operator; `units` are the names of the modules that execute them."""

    units: tuple[str, ...]

    def tiles(self, layer: Layer, tile: Tile) -> Sequence[Tile]:
        """All of each operator."""
        return [whole_tile(stage) for stage in layer.stages]

    def launches(self, layer: Layer) -> list[float]:
        """Cycles of each operator's kernel call beside its work, behind those that its module has executed before."""
        before: dict[str, list[Layer]] = {unit: [] for unit in self.units}
        found: list[float] = []
        for model, unit, stage in zip(self.models, self.units, layer.stages, strict=True):
            found.append(model.launch(stage) + model.group_call(stage, before[unit]))
            before[unit].append(stage)
        return found

    def launched(self, layer: Layer) -> list[float]:
        """Cycles of each operator's kernel call, launch included."""
        calls = self.calls(layer, whole_tile(layer))
        return [launch + call for launch, call in zip(self.launches(layer), calls, strict=True)]

    def overhead(self, layer: Layer) -> float:
        """Once for all operators."""
        return self.models[0].group_overhead(layer.stages[0])

    def sizes(self, layer: Layer) -> Sizes:
        """Bytes of the tensor that each operator writes, and of what its kernel takes beside."""
        outputs = tuple(output_bytes(stage) for stage in layer.stages)
        asked = zip(self.models, layer.stages, strict=True)
        return Sizes(outputs, tuple(math.ceil(model.scratch(stage, whole_tile(stage))) for model, stage in asked))


def without_groups(target: MatchTarget) -> MatchTarget:
    """The target with modules that execute no groups, to see what chains or layers alone do."""
    changed = copy(target)
    changed.modules = tuple(map(copy, target.modules))
    for module in changed.modules:
        module.groups = False
    return changed
