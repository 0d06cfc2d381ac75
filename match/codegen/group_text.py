"""The kernel calls of a group as C: each operator has whole tensors, so that all but addresses are plain numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from match.codegen.context_text import (
    WINDOWED,
    Fields,
    channels_in,
    requantization_fields,
    seen_padding,
    weight_fields,
    window_fields,
)
from match.dispatch.plan import LayerPlan, OperatorPlan
from match.ir.layer import Axis, Layer, Op, Operand, Role
from match.mapping.storage import places


@dataclass(frozen=True)
class WholeText:
    """An activation of an operator that lies at an address, dense, with all of its elements."""

    operand: Operand
    layer: Layer
    address: str

    @property
    def axes(self) -> tuple[Axis, Axis, Axis]:
        """Rows, columns and channels."""
        (component,) = self.operand.components
        order = places(component)
        rows, columns, channels = (component.axes[order.index(place)] for place in range(3))
        return rows, columns, channels

    def count(self, axis: Axis) -> int:
        """Indices that the operator touches."""
        return axis.span(0, self.layer.size(axis.dim))[1]

    def stride(self, axis: Axis) -> int:
        """Elements between neighbours along an axis; 0 where there is one for all."""
        if axis.limit == 1 and not axis.stride:
            return 0
        stored = self.operand.components[0].axes
        return prod(inner.limit for inner in stored[stored.index(axis) + 1 :])

    @property
    def first(self) -> str:
        """Address of the first element that the operator touches."""
        skipped = sum(max(0, -axis.before) * self.stride(axis) for axis in self.axes)
        skipped *= self.operand.components[0].element_bytes
        return f"{self.address} + {skipped}" if skipped else self.address

    def strides(self) -> Iterator[tuple[str, str]]:
        """How pixels and channels follow one another."""
        rows, columns, channels = self.axes
        yield f"{self.operand.name}_row_stride", str(self.stride(rows))
        yield f"{self.operand.name}_pixel_stride", str(self.stride(columns))
        if channels is not self.operand.components[0].axes[-1]:
            yield f"{self.operand.name}_channel_stride", str(self.stride(channels))


@dataclass(frozen=True)
class MemberText:
    """Operator `number` of a group whose tensors from outside lie at `outside`, and whose output lies at `output`."""

    plan: LayerPlan
    number: int
    outside: tuple[str, ...]
    output: str

    @property
    def layer(self) -> Layer:
        """The operator."""
        return self.plan.layer.stages[self.number]

    @property
    def operator(self) -> OperatorPlan:
        """Its plan."""
        return self.plan.operators[self.number]

    @property
    def title(self) -> str:
        """What it is, for the comment at its call."""
        layer = self.layer
        shape = f"{layer.iy}x{layer.ix}x{layer.input_channels} to {layer.oy}x{layer.ox}x{layer.output_channels}"
        window = f" {layer.fy}x{layer.fx}" if layer.op in WINDOWED else ""
        source = f", in the model {self.operator.source}" if self.operator.source else ""
        return f"{layer.what}{window}, {shape}{source}"

    def _written(self, number: int) -> str:
        """Where the output of an operator lies."""
        if number == len(self.plan.operators) - 1:
            return self.output
        offset = self.plan.scratch.tensors[number]
        return f"l1[SCRATCH].data + {offset}" if offset else "l1[SCRATCH].data"

    def _activations(self) -> tuple[list[WholeText], WholeText]:
        links = self.plan.layer.links[self.number]
        addresses = [self.outside[~link] if link < 0 else self._written(link) for link in links]
        inputs = [operand for operand in self.operator.operands if operand.role is Role.INPUT]
        output = next(operand for operand in self.operator.operands if operand.role is Role.OUTPUT)
        read = [WholeText(operand, self.layer, at) for operand, at in zip(inputs, addresses, strict=True)]
        return read, WholeText(output, self.layer, self._written(self.number))

    def fields(self, constants: Fields) -> Iterator[tuple[str, str]]:
        """Fields of the kernel's context; `constants` are those of its parameters."""
        layer = self.layer
        inputs, output = self._activations()
        rows, columns, channels = inputs[0].axes
        for one in inputs:
            yield one.operand.name, one.first
        yield from constants
        yield "output", output.first
        if self.plan.schedule.scratch > self.plan.scratch.kernels:
            yield "scratch", f"l1[SCRATCH].data + {self.plan.scratch.kernels}"
        if layer.op is Op.GROUPED_CONV2D:
            yield "channels_in", str(layer.c)
            yield "channels_out", str(layer.group_outputs)
            yield "groups", str(layer.k)
        else:
            yield "channels_in", channels_in(layer, str(inputs[0].count(channels)))
            yield "channels_out", str(output.count(output.axes[2]))
        yield "input_height", str(inputs[0].count(rows))
        yield "input_width", str(inputs[0].count(columns))
        yield "output_height", str(output.count(output.axes[0]))
        yield "output_width", str(output.count(output.axes[1]))
        for one in (*inputs, output):
            yield from one.strides()
        if layer.op in WINDOWED:
            yield from window_fields(layer)
            yield from self._padding({"top": 0, "bottom": 1}, rows)
            yield from self._padding({"left": 0, "right": 1}, columns)
        if layer.op in (Op.RESIZE, Op.GATHER) or any(layer.padding):
            yield "pad_value", str(layer.pad_value)
        yield "clip_low", str(layer.clip[0])
        yield "clip_high", str(layer.clip[1])
        yield from requantization_fields(self.operator)
        yield from weight_fields(layer)

    def _padding(self, sides: Mapping[str, int], axis: Axis) -> Iterator[tuple[str, str]]:
        pads = seen_padding(axis, self.layer.size(axis.dim))
        for side, place in sides.items():
            if pads[place]:
                yield f"pad_{side}", str(pads[place])
