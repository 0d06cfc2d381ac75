"""The context of a kernel that computes an operator, or a part of it, out of tensors that lie whole at addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from match.codegen.context_text import (
    WINDOWED,
    channels_in,
    filling_fields,
    requantization_fields,
    seen_padding,
    weight_fields,
    window_fields,
)
from match.dispatch.plan import OperatorPlan
from match.ir.attributes import ChannelGroups
from match.ir.layer import Axis, Dim, Layer, Op, Operand
from match.mapping.storage import places


@dataclass(frozen=True)
class WholeText:
    """An activation that lies whole at an address, for a kernel call that computes `spans` of a layer.

    In a scratchpad it is dense. In main memory (`in_main`) it has the room that its layout says, and may be a part of a
    larger array.
    """

    operand: Operand
    layer: Layer
    address: str
    spans: Mapping[Dim, tuple[int, int]]
    in_main: bool = False

    @property
    def axes(self) -> tuple[Axis, Axis, Axis]:
        """Rows, columns and channels."""
        (component,) = self.operand.components
        order = places(component)
        rows, columns, channels = (component.axes[order.index(place)] for place in range(3))
        return rows, columns, channels

    def count(self, axis: Axis) -> int:
        """Indices that the call touches."""
        return axis.span(*self.spans[axis.dim])[1]

    def stride(self, axis: Axis) -> int:
        """Elements between neighbours along an axis; 0 where there is one for all."""
        if axis.limit == 1 and not axis.stride:
            return 0
        stored = self.operand.components[0].axes
        return prod(inner.room if self.in_main else inner.limit for inner in stored[stored.index(axis) + 1 :])

    @property
    def first(self) -> str:
        """Address of the first element that the call touches."""
        skipped = sum(axis.span(*self.spans[axis.dim])[0] * self.stride(axis) for axis in self.axes)
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
class WholeKernel:
    """A kernel call: the operator and its plan, where its tensors and constants are, and its scratch, if it has some.

    constants: by field of the kernel's context.
    """

    layer: Layer
    operator: OperatorPlan
    inputs: tuple[WholeText, ...]
    output: WholeText
    constants: tuple[tuple[str, str], ...]
    scratch: str

    def fields(self) -> Iterator[tuple[str, str]]:
        """Fields of the kernel's context."""
        layer, output = self.layer, self.output
        rows, columns, depth = self.inputs[0].axes
        for one in self.inputs:
            yield one.operand.name, one.first
        yield from self.constants
        yield "output", output.first
        if layer.output_dtype == "int32":
            yield "sums_out", f"(int32_t *)(void *){output.first}"
        if self.scratch:
            yield "scratch", self.scratch
        if layer.op is Op.GROUPED_CONV2D:
            yield "channels_in", str(layer.c)
            yield "channels_out", str(layer.get(ChannelGroups).outputs)
            yield "groups", str(layer.k)
        else:
            yield "channels_in", channels_in(layer, str(self.inputs[0].count(depth)))
            yield "channels_out", str(output.count(output.axes[2]))
        yield "input_height", str(self.inputs[0].count(rows))
        yield "input_width", str(self.inputs[0].count(columns))
        yield "output_height", str(output.count(output.axes[0]))
        yield "output_width", str(output.count(output.axes[1]))
        for one in (*self.inputs, output):
            yield from one.strides()
        if layer.op in WINDOWED:
            yield from window_fields(layer)
            yield from self._padding({"top": 0, "bottom": 1}, rows)
            yield from self._padding({"left": 0, "right": 1}, columns)
        if any(layer.padding):
            yield "pad_value", str(layer.pad_value)
        yield from filling_fields(layer)
        yield "clip_low", str(layer.clip[0])
        yield "clip_high", str(layer.clip[1])
        yield from requantization_fields(self.operator)
        yield from weight_fields(layer)

    def _padding(self, sides: Mapping[str, int], axis: Axis) -> Iterator[tuple[str, str]]:
        pads = seen_padding(axis, *self.output.spans[axis.dim])
        for side, place in sides.items():
            if pads[place]:
                yield f"pad_{side}", str(pads[place])
