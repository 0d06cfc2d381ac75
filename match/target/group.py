"""Groups: operands, sizes and cost of several operators whose tensors are whole in innermost memory.

The operators may be on several modules that compute out of one memory, and wait for its transfers in one way.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise

from match.ir.group import Call, calls, first_readers, rows_axis
from match.ir.layer import Axis, Component, Dim, Group, Layer, Op, Operand, Role, input_axes, whole_axis
from match.ir.requantization import Requantizer
from match.mapping.group_plan import GroupPlan, Sizes
from match.mapping.memory import align, component_bytes
from match.mapping.storage import storage
from match.mapping.under_way import Lane
from match.target import methods
from match.target.cost import Block, Energy, Starting, Tile
from match.target.hardware import HwModule, MatchTarget
from match.target.operands import INPUT, OperandError, Requantizers, element_bytes, weights_operand
from match.target.operators_cost import OperatorsCost

CUT_BYTES = 16384
"""Bytes of constants of each part of a dense layer that is cut, about: some thousand cycles of the DMA engine."""

CUT_CHANNELS = 16
"""What the output channels of such a part are a multiple of."""


def group_operands(modules: Sequence[HwModule], layer: Layer, requantizers: Requantizers) -> tuple[Operand, ...]:
    """The tensors from outside, the constants of all operators as one operand, and the output.

    Raises:
        OperandError: if a tensor of one of the operators is not dense, rows first.
    """
    asked = zip(modules, layer.operators, requantizers, strict=True)
    each = [methods.operands(module, stage, form) for module, stage, form in asked]
    for stage, operands in zip(layer.operators, each, strict=True):
        for operand in operands:
            if operand.role is not Role.CONSTANT and not storage(operand).plain:
                raise OperandError(f"the {operand.name} of its {stage.op.value} is not dense")
    read = [[operand for operand in operands if operand.role is Role.INPUT] for operands in each]
    outside = tuple(
        _whole_input(f"{INPUT}_{number}" if number else INPUT, read[reader][argument])
        for number, (reader, argument) in enumerate(first_readers(layer.get(Group).links))
    )
    components = [
        replace(part, name=f"{part.name}_{number}", axes=tuple(_part(axis, call) for axis in part.axes), part=number)
        for number, call in enumerate(calls(layer))
        for operand in each[call.operator]
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


def _part(axis: Axis, call: Call) -> Axis:
    """What a kernel call reads along an axis of constants, of which its only tile has all."""
    limit = call.channels if axis.dim is Dim.K else axis.limit
    return Axis(Dim.FX, limit, window=limit, multiple=axis.multiple)


def cut_of(layer: Layer, operands: Sequence[Operand]) -> int:
    """The output channels of each kernel call of an operator in a group; 0 where one call computes all.

    A dense layer of one pixel reads each weight once: it takes less time than its weights take to come. So it is cut
    where its constants can be parted, and each call waits for its own.
    """
    constants = [part for operand in operands if operand.role is Role.CONSTANT for part in operand.components]
    if layer.op is not Op.DENSE or layer.oy * layer.ox > 1 or any(_indivisible(part, layer) for part in constants):
        return 0
    size = sum(component_bytes(part, layer.extents) for part in constants)
    parts = max(1, round(size / CUT_BYTES))
    channels = align(-(-layer.k // parts), CUT_CHANNELS)
    return channels if channels < layer.k else 0


def _indivisible(part: Component, layer: Layer) -> bool:
    """Whether output channels are not the slowest axis of constants, with one entry for each."""
    along = [axis.dim is Dim.K and axis.limit == layer.k for axis in part.axes]
    return not along or not along[0] or any(along[1:])


def whole_tile(stage: Layer) -> Tile:
    """The kernel call that computes all of an operator."""
    rows, columns = input_axes(stage)
    iy, ix = rows.span(0, stage.oy)[1], columns.span(0, stage.ox)[1]
    return Tile(stage.k, stage.c, stage.oy, stage.ox, iy, ix, stage.fy, stage.fx)


def call_tile(stage: Layer, call: Call) -> Tile:
    """What a kernel call of an operator computes."""
    rows, _ = input_axes(stage)
    seen = rows.span(call.row, call.rows)[1]
    return whole_tile(stage)._replace(k=call.channels, oy=call.rows, iy=seen)


def lane_of(module: HwModule, stage: Layer, requantizer: Requantizer | None) -> Lane:
    """Where the kernel calls of an operator run.

    Raises:
        AnswerError: the module's method fails.
    """
    api = module.scratchpad_api
    most = api.compute.under_way if api is not None else 0
    alone = most > 0 and methods.alone(module, stage, requantizer)
    return Lane(module.name, most, alone, most > 0 and not alone and _by_rows(module, stage, requantizer))


def _by_rows(module: HwModule, stage: Layer, requantizer: Requantizer | None) -> bool:
    """Whether a kernel call may compute some rows of an operator's output: its constants are those of all rows."""
    if Dim.OY in methods.tile_multiples(module, stage):
        return False
    operands = methods.operands(module, stage, requantizer)
    along = {operand: [axis for axis in _axes(operand) if axis.dim is Dim.OY] for operand in operands}
    inputs = [along[operand] for operand in operands if operand.role is Role.INPUT]
    followed = (_follows(axes, rows_axis(stage, number)) for number, axes in enumerate(inputs))
    constant = any(along[operand] for operand in operands if operand.role is Role.CONSTANT)
    written = (axis.stride for operand in operands if operand.role is Role.OUTPUT for axis in along[operand])
    return any(written) and not constant and all(followed)


def _axes(operand: Operand) -> list[Axis]:
    return [axis for component in operand.components for axis in component.axes]


def _follows(axes: Sequence[Axis], known: Axis) -> bool:
    return not known.stride or [_span(axis) for axis in axes] == [_span(known)]


def _span(axis: Axis) -> tuple[int, ...]:
    """What `Axis.span` depends on."""
    return axis.limit, axis.stride, axis.window, axis.before


def output_bytes(stage: Layer) -> int:
    """Bytes of the tensor that an operator writes."""
    return stage.output_elements * element_bytes(stage.output_dtype)


@dataclass(frozen=True)
class GroupCost(OperatorsCost):
    """Cost of a group: its kernel calls in their order, by default operator by operator.

    `lanes` say where the operators run.
    """

    lanes: tuple[Lane, ...]
    order: tuple[Call, ...] = ()

    def of(self, plan: GroupPlan | None) -> GroupCost:
        """The cost of the kernel calls of a plan, in their order."""
        return self if plan is None else replace(self, order=plan.calls)

    @property
    def units(self) -> tuple[str, ...]:
        """The names of the modules that execute the operators."""
        return tuple(lane.unit for lane in self.lanes)

    def tiles(self, layer: Layer, tile: Tile) -> Sequence[Tile]:
        """What each kernel call computes."""
        return [call_tile(layer.operators[call.operator], call) for call in self._calls(layer)]

    def calls(self, layer: Layer, tile: Tile) -> list[float]:
        """Cycles of each kernel call, beside `launch`."""
        asked = zip(self._called(layer), self.tiles(layer, tile), strict=True)
        return [self.models[one].compute(layer.operators[one], inner) for one, inner in asked]

    def starts(self, layer: Layer) -> list[Starting]:
        """What of each kernel call is the core's."""
        asked = zip(self._called(layer), self.tiles(layer, whole_tile(layer)), strict=True)
        starts = (self.models[one].starting(layer.operators[one], tile) for one, tile in asked)
        return [Starting(*map(float, start)) for start in starts]  # authors may return NumPy's numbers

    def losses(self, layer: Layer) -> list[float]:
        """What each kernel call loses in a cycle in which another module computes."""
        return [float(self.models[one].beside(layer.operators[one])) for one in self._called(layer)]

    def _calls(self, layer: Layer) -> tuple[Call, ...]:
        """The kernel calls."""
        return self.order or calls(layer)

    def _called(self, layer: Layer) -> list[int]:
        """The operator of each kernel call."""
        return [call.operator for call in self._calls(layer)]

    def launches(self, layer: Layer) -> list[float]:
        """Cycles of each kernel call beside its work, after those that its module has executed before.

        Nothing is between the calls that compute parts of the output channels.
        """
        found = [self.models[one].launch(layer.operators[one]) for one in self._called(layer)]
        for unit in dict.fromkeys(self.units):
            begun = [(number, call.operator) for number, call in enumerate(self._calls(layer)) if not call.first]
            own = [(number, operator) for number, operator in begun if self.units[operator] == unit]
            cycles = self.models[own[-1][1]].group_calls([layer.operators[operator] for _, operator in own])
            for (number, _), more in zip(own, cycles, strict=True):
                found[number] += more
        for number, (before, one) in enumerate(pairwise(self._called(layer)), 1):
            if self.units[before] != self.units[one]:
                found[number] += self.models[one].behind_another(layer.operators[one])
        return found

    def transfer(self, layer: Layer, block: Block) -> float:
        """The longest that an operator knows of: a transfer is under way while any of them compute."""
        asked = zip(self.models, layer.operators, strict=True)
        return max(model.transfer(stage, block) for model, stage in asked)

    def overhead(self, layer: Layer) -> float:
        """Once for all operators."""
        return self.models[0].group_overhead(layer.operators[0])

    @property
    def energy(self) -> Energy | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The last module's, for what all share: transfers, cycles, control. None if one of them is not known."""
        return None if any(model.energy is None for model in self.models) else self.models[-1].energy

    def work(self, layer: Layer, cycles: Sequence[float], overhead: float) -> float:
        """Energy in pJ of the kernel calls and of the core beside them, beyond `Energy.cycle`.

        `cycles` has an entry for each call. Each operator is priced by its own module.
        """
        energies = [model.energy or Energy(0.0) for model in self.models]
        multiplied = sum(energy.mac * stage.macs for energy, stage in zip(energies, layer.operators, strict=True))
        computed = sum(energies[one].kernel * taken for one, taken in zip(self._called(layer), cycles, strict=True))
        return multiplied + computed + energies[-1].control * overhead

    def sizes(self, layer: Layer) -> Sizes:
        """Bytes of the tensor that each operator writes, and of what its kernel takes beside."""
        outputs = tuple(output_bytes(stage) for stage in layer.operators)
        asked = zip(self.models, layer.operators, strict=True)
        return Sizes(outputs, tuple(math.ceil(model.scratch(stage, whole_tile(stage))) for model, stage in asked))


def without_groups(target: MatchTarget) -> MatchTarget:
    """The target with modules that execute no groups, to see what chains or layers alone do."""
    changed = copy(target)
    changed.modules = tuple(map(copy, target.modules))
    for module in changed.modules:
        module.groups = False
    return changed
