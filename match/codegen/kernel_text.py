"""The loops of the innermost memory as C: what a kernel is told about its tile."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from match.codegen.axis_text import AxisText
from match.codegen.chain_text import StageText
from match.codegen.context_text import WINDOWED, channels_in, filling_fields, requantization_fields, weight_fields
from match.codegen.level_text import LevelText, NumberedBlock, numbered
from match.codegen.nest import size_name
from match.codegen.operand_text import OperandText
from match.dispatch.packed_constants import channel_bytes, component_offsets
from match.dispatch.plan import LayerPlan
from match.errors import TargetError
from match.ir.layer import Component, Dim, Layer, Op
from match.target.operands import (
    COLUMN_POSITIONS,
    COLUMNS,
    EXCEPTED,
    EXCEPTIONS,
    FILTER,
    NORMALIZATION,
    REQUANTIZATION,
    ROW_POSITIONS,
    STEPS,
    TABLE,
    ZERO_POINTS,
)

_VARIABLE = re.compile(r"\b(?!(?:l1|data|uint8_t|int32_t|INT64_C|NULL)\b)\w*[a-z]\w*")
"""Finds a variable in an expression; what has none is the same for all tiles."""

_COMPONENT_FIELDS = {
    FILTER: "weights",
    REQUANTIZATION: "parameters",
    EXCEPTED: "excepted",
    EXCEPTIONS: "exceptions",
    TABLE: "parameters",
    ZERO_POINTS: "weights",
    STEPS: "weights",
    NORMALIZATION: "weights",
    ROW_POSITIONS: "parameters",
    COLUMN_POSITIONS: "weights",
    COLUMNS: "parameters",
}


@dataclass(frozen=True)
class KernelCall:
    """A call of a kernel in C: variables in front of it, its name, its context and the context's fields."""

    kernel: str
    tile: str
    fields: tuple[tuple[str, str], ...]
    spans: tuple[tuple[str, str], ...] = ()

    @property
    def constant(self) -> tuple[tuple[str, str], ...]:
        """The fields that are set in front of all tiles, because they are the same for them."""
        return tuple(field for field in self.fields if not _VARIABLE.search(field[1]))

    @property
    def changing(self) -> tuple[tuple[str, str], ...]:
        """The other fields."""
        return tuple(field for field in self.fields if _VARIABLE.search(field[1]))


@dataclass(frozen=True)
class ComponentText:
    """A component of a layer's constants: the field of the kernel's context, its name, and the byte where it begins.

    Where tiles take a part of the component, that
    part is `start` steps further, an expression in C, of so many bytes (`step`), whose constant is `step_name`; else
    these are empty, and 0.
    """

    field: str
    name: str
    offset: int
    start: str = ""
    step: int = 0
    step_name: str = ""


def constant_field(component: Component, layer: Layer) -> str:
    """The field of the kernel's context that says where a component of a layer's constants lies.

    Raises:
        TargetError: if there is none.
    """
    name = component.name.rpartition("_")[0] if layer.fused else component.name
    if name not in _COMPONENT_FIELDS:
        raise TargetError(
            f"layer {layer.name}: kernels know the constants {', '.join(_COMPONENT_FIELDS)}, not {component.name!r}."
        )
    return _COMPONENT_FIELDS[name]


class KernelText(LevelText):
    """What the template asks about the loops around a kernel."""

    def __init__(self, plan: LayerPlan, outer: LevelText | None = None) -> None:
        """Prepares the innermost memory of a plan's schedule; `outer` is the one outside of it."""
        super().__init__(plan, len(plan.schedule.memories) - 1, outer)
        assert plan.api is not None, "modules with a scratchpad have a ModuleApi"
        self.api = plan.api

    @property
    def innermost(self) -> bool:
        """It is."""
        return True

    @property
    def shared(self) -> str:
        """Begins the names of what layers on the module share."""
        return self.kernel_shared

    @property
    def numbered(self) -> tuple[NumberedBlock, ...]:
        """All blocks, those in memories of their own after the others."""
        blocks = [(operand.block_name, operand.buffer_sizes) for operand in self.operands]
        blocks += [("SUMS", ("SUMS_BYTES",))] if self.schedule.partial_bytes else []
        blocks += [("SCRATCH", ("SCRATCH_BYTES",))] if self.schedule.scratch else []
        private = [name.upper() for name, _ in self.api.memory.private]
        blocks.sort(key=lambda block: 1 + private.index(block[0]) if block[0] in private else 0)
        return tuple(numbered(blocks))

    @property
    def kernel_output(self) -> OperandText:
        """The output, which the innermost memory always holds."""
        assert self.output is not None
        return self.output

    @cached_property
    def components(self) -> tuple[ComponentText, ...]:
        """The parts of the constants."""
        if self.weights is None:
            return ()
        found: list[ComponentText] = []
        offsets = component_offsets(self.weights.operand, self.schedule)
        for component, offset in zip(self.weights.operand.components, offsets, strict=True):
            part = ComponentText(constant_field(component, self.layer), component.name.upper(), offset)
            found.append(self._tile_part(part, component, self.weights.depth))
        return tuple(found)

    def _tile_part(self, part: ComponentText, component: Component, depth: int) -> ComponentText:
        """The part with where a tile's entries of it begin; blocks are those inside `depth` loops."""
        nest = self.nest
        if component.axes and not component.axes[0].stride:  # blocks have all entries of the axis
            start = nest.start(component.axes[0].dim, len(nest))
            if start == "0":
                return part
            return replace(part, start=start, step=component.element_bytes, step_name=f"{part.name}_ENTRY_BYTES")
        stride = channel_bytes(component, self.schedule)
        if not stride or len(nest.of(Dim.K, depth)) == len(nest.of(Dim.K, len(nest))):
            return part
        start, outer = nest.start(Dim.K, len(nest)), nest.start(Dim.K, depth)
        relative = start if outer == "0" else f"({start} - {outer})"
        return replace(part, start=relative, step=stride, step_name=f"{part.name}_CHANNEL_BYTES")

    def tile_spans(self) -> Iterator[tuple[str, str]]:
        """Variables for the spans of tiles that are pieces of their blocks, and their values."""
        for operand in self.activations:
            for axis in operand.axes:
                if axis.tiled and axis.tile in self.mentioned:
                    yield axis.tile, self.span(axis, len(self.nest))

    def body(self) -> Iterator[str]:
        """What is said about the tile."""
        for call in self.calls:
            yield from (value for _, value in (*call.spans, *call.fields))
        yield self.sums
        yield self.output_sums

    @property
    def sums(self) -> str:
        """Address of the tile's partial sums, which lie as the output's block does; empty if there are none."""
        return self.kernel_output.tile_in("(int32_t *)(void *)l1[SUMS].data") if self.schedule.partial_bytes else ""

    @property
    def output_sums(self) -> str:
        """Address of the tile's outputs where they are sums of 32 bits; else empty."""
        output = self.kernel_output
        return output.tile_in(f"(int32_t *)(void *){output.pointer}") if self.layer.output_dtype == "int32" else ""

    @cached_property
    def calls(self) -> tuple[KernelCall, ...]:
        """The kernel calls of a tile: one for each operator."""
        if not self.layer.fused:
            return (KernelCall(self.plan.kernel, "tile", tuple(self._tile())),)
        stages = [StageText(self.plan, number, self.nest) for number in range(len(self.layer.operators))]
        spans = tuple(span for stage in reversed(stages) for span in stage.spans())
        first, *others = self.inputs
        found: list[KernelCall] = []
        for stage in stages:
            beside = others[0] if stage.last and others else None
            constants = self._constant_fields(f"_{stage.number}")
            written = tuple(self._output_fields()) if stage.last else ()
            fields = stage.fields(constants, written, first, beside)
            named = (*fields, *stage.output_strides(self.kernel_output))
            found.append(KernelCall(stage.kernel, f"tile_{stage.number}", named, () if found else spans))
        return tuple(found)

    def _output_fields(self) -> Iterator[tuple[str, str]]:
        """Where outputs and partial sums are."""
        outputs = "output_sums" if self.output_sums else "NULL"
        yield "output", "(uint8_t *)output_sums" if self.output_sums else self.kernel_output.tile_pointer
        if self.schedule.partial_bytes:
            depth = len(self.nest)
            yield "sums_in", f"{self.nest.start(Dim.C, depth)} > 0 ? sums : NULL"
            yield "sums_out", f"{self.nest.bound(Dim.C, depth)} < {size_name(Dim.C, self.layer)} ? sums : {outputs}"
        elif self.output_sums:
            yield "sums_out", outputs

    def _tile(self) -> Iterator[tuple[str, str]]:
        """Fields of the context of an operator's kernel and their values."""
        layer, output = self.layer, self.kernel_output
        rows, columns, channels = self.inputs[0].axes
        for operand in self.inputs:
            yield operand.name, operand.tile_pointer
        yield from self._constant_fields()
        yield from self._output_fields()
        if self.schedule.scratch:
            yield "scratch", "l1[SCRATCH].data"
        if layer.op is Op.GROUPED_CONV2D:
            yield "channels_in", "GROUP_INPUTS"
            yield "channels_out", "GROUP_OUTPUTS"
            yield "groups", f"{output.axes[2].tile_count} / GROUP_OUTPUTS"
        else:
            yield "channels_in", channels_in(layer, channels.tile_count)
            yield "channels_out", output.axes[2].tile_count
        yield "input_height", rows.tile_count
        yield "input_width", columns.tile_count
        for operand in self.activations:
            if operand is output:
                yield "output_height", operand.axes[0].tile_count
                yield "output_width", operand.axes[1].tile_count
            yield f"{operand.name}_row_stride", operand.row_stride
            yield f"{operand.name}_pixel_stride", operand.pixel_stride
            if operand.channel_stride:
                yield f"{operand.name}_channel_stride", operand.channel_stride
        if layer.op in WINDOWED:
            yield from self._window_fields(rows, columns)
        yield from filling_fields(layer)
        if not self.output_sums:
            yield "clip_low", str(layer.clip[0])
            yield "clip_high", str(layer.clip[1])
        yield from requantization_fields(self.plan.operators[-1])
        yield from weight_fields(layer)

    def _window_fields(self, rows: AxisText, columns: AxisText) -> Iterator[tuple[str, str]]:
        yield "filter_height", "FILTER_HEIGHT"
        yield "filter_width", "FILTER_WIDTH"
        yield "stride_y", "STRIDE_Y"
        yield "stride_x", "STRIDE_X"
        yield "dilation_y", "DILATION_Y"
        yield "dilation_x", "DILATION_X"
        pads = {
            "pad_top": rows.pad(behind=False),
            "pad_left": columns.pad(behind=False),
            "pad_bottom": rows.pad(behind=True),
            "pad_right": columns.pad(behind=True),
        }
        yield from ((name, pad) for name, pad in pads.items() if pad)
        if any(pads.values()):
            yield "pad_value", str(self.layer.pad_value)

    def _constant_fields(self, stage: str = "") -> Iterator[tuple[str, str]]:
        """Fields of constants, of those whose names end in `stage`."""
        if self.weights is None:
            return
        for part in self.components:
            if part.name.endswith(stage):
                value = self.weights.pointer + (f" + {part.name}_OFFSET" if part.offset else "")
                yield part.field, value + (f" + {part.start} * {part.step_name}" if part.start else "")
