"""C of one layer: the template `layer.c.mako`, specialised by a plan and by a module's four families of functions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from match.codegen.c_text import comment, render, values, wrap
from match.codegen.constants import channel_bytes, component_offsets
from match.codegen.nest import CLoop, Nest, size_name
from match.codegen.operand_text import WINDOWED, AxisText, OperandText
from match.errors import ScheduleError, TargetError
from match.hardware import Allocator
from match.layer import Dim, Role
from match.operands import FILTER, REQUANTIZATION, TABLE
from match.plan import LayerPlan

_COMPONENT_FIELDS = {FILTER: "weights", REQUANTIZATION: "parameters", TABLE: "parameters"}


def generate(plan: LayerPlan) -> str:
    """The C source of one layer: a function ``int32_t symbol(const void *input[, const void *addend], void *output)``.

    It returns MATCH_OK or one of the errors in match_status.h. What happens in which order is in docs/architecture.md.

    Raises:
        ScheduleError: if the schedule has more than one level of scratchpad.
        TargetError: if operands do not lie as kernels expect them: activations of rows, columns and
            channels, constants by output channel.
    """
    return wrap(render("layer.c.mako", text=LayerText(plan), api=plan.api, comment=comment, values=values))


def prototype(plan: LayerPlan) -> str:
    """Declaration of a layer's function, without the semicolon."""
    inputs = [operand.name for operand in plan.schedule.operands if operand.role is Role.INPUT]
    parameters = [f"const void *{name}" for name in inputs] + ["void *output"]
    return f"int32_t {plan.symbol}({', '.join(parameters)})"


class LayerText:
    """What the template asks about a layer."""

    def __init__(self, plan: LayerPlan) -> None:
        """Prepares a plan for the template."""
        self.plan = plan
        self.layer = plan.layer
        self.schedule = plan.schedule
        if len(self.schedule.memories) != 1:
            raise ScheduleError(
                f"layer {self.layer.name}: the schedule has {len(self.schedule.memories)} levels of scratchpad; "
                f"generated code moves blocks between the main memory and one."
            )
        self.prototype = prototype(plan)
        self.nest = Nest(self.schedule)
        self.operands = tuple(OperandText(operand, self.schedule, self.nest) for operand in self.schedule.operands)
        self.fetched = tuple(operand for operand in self.operands if operand.operand.role is not Role.OUTPUT)
        self.inputs = tuple(operand for operand in self.operands if operand.operand.role is Role.INPUT)
        self.output = next(operand for operand in self.operands if operand.operand.role is Role.OUTPUT)
        self.weights = next((operand for operand in self.operands if operand.constant), None)

    @property
    def title(self) -> str:
        """What the layer is, for the comment at the top of the file."""
        layer = self.layer
        shape = f"{layer.iy}x{layer.ix}x{layer.input_channels} to {layer.oy}x{layer.ox}x{layer.k}"
        window = f" {layer.fy}x{layer.fx}" if layer.op in WINDOWED else ""
        return comment(f"{layer.name}: {layer.op}{window}, {shape}, on {self.plan.module} of {self.plan.target}")

    @property
    def sizes(self) -> tuple[tuple[str, int], ...]:
        """Constants that describe the layer, in elements."""
        layer = self.layer
        sizes = [("CHANNELS", layer.k)] if layer.channelwise else [("IN_CHANNELS", layer.c), ("OUT_CHANNELS", layer.k)]
        sizes += [
            ("IN_HEIGHT", layer.iy),
            ("IN_WIDTH", layer.ix),
            ("OUT_HEIGHT", layer.oy),
            ("OUT_WIDTH", layer.ox),
        ]
        for operand in (*self.inputs, self.output):
            sizes += [size for axis in operand.axes for size in axis.sizes]
        if layer.op in WINDOWED:
            sizes += [
                ("FILTER_HEIGHT", layer.fy),
                ("FILTER_WIDTH", layer.fx),
                ("STRIDE_Y", layer.stride[0]),
                ("STRIDE_X", layer.stride[1]),
                ("DILATION_Y", layer.dilation[0]),
                ("DILATION_X", layer.dilation[1]),
            ]
            cut = {axis.name for axis in self.windows}
            sizes += [("WINDOW_HEIGHT", layer.window[0])] if "rows" in cut else []
            sizes += [("WINDOW_WIDTH", layer.window[1])] if "columns" in cut else []
            names = (("PAD_TOP", "PAD_BOTTOM"), ("PAD_LEFT", "PAD_RIGHT"))
            for axis, pair in zip(self.inputs[0].axes, names, strict=False):
                sizes += [(name, pad) for name, pad in zip(pair, axis.pads, strict=True) if pad]
        return tuple(dict.fromkeys(sizes))

    @property
    def components(self) -> tuple[tuple[str, str, int, int], ...]:
        """Field of the kernel's context, constant, byte offset and bytes per channel of each part of the constants.

        Bytes per channel are 0 where tiles do not take a part of a block.
        """
        if self.weights is None:
            return ()
        cut = len(self.nest.of(Dim.K, self.weights.depth)) < len(self.nest.of(Dim.K, len(self.nest)))
        found: list[tuple[str, str, int, int]] = []
        offsets = component_offsets(self.weights.operand, self.schedule)
        for component, offset in zip(self.weights.operand.components, offsets, strict=True):
            if component.name not in _COMPONENT_FIELDS:
                raise TargetError(
                    f"layer {self.layer.name}: kernels know the constants {', '.join(_COMPONENT_FIELDS)}, "
                    f"not {component.name!r}."
                )
            stride = channel_bytes(component, self.schedule) if cut else 0
            found.append((_COMPONENT_FIELDS[component.name], component.name.upper(), offset, stride))
        return tuple(found)

    @property
    def buffers(self) -> tuple[tuple[str, str, Allocator], ...]:
        """Blocks in the order in which they are reserved: pointer, constant with its bytes, and who reserves it."""
        memory = self.plan.api.memory
        buffers = [
            (f"l1->{buffer}", f"{operand.name.upper()}_BYTES", memory.allocator(operand.name))
            for operand in self.operands
            for buffer in operand.buffers
        ]
        if self.sums:
            buffers.append(("l1->sums", "SUMS_BYTES", Allocator(memory.allocate, memory.free)))
        if self.schedule.scratch:
            buffers.append(("l1->scratch", "SCRATCH_BYTES", Allocator(memory.allocate, memory.free)))
        return tuple(buffers)

    @property
    def contents(self) -> str:
        """What the constants are, as the start of a sentence."""
        if self.weights is None:
            return ""
        return " and ".join(component.name for component in self.weights.operand.components).capitalize()

    @property
    def windows(self) -> tuple[AxisText, ...]:
        """Axes of inputs whose spans are computed from windows."""
        return tuple(
            axis for operand in self.inputs for axis in operand.axes if (axis.cut or axis.tiled) and not axis.plain
        )

    @cached_property
    def prefetch_depths(self) -> tuple[int, ...]:
        """Depths at which the next block is fetched while the current one is used."""
        return tuple(sorted({operand.depth for operand in self.fetched if operand.double}))

    @property
    def position(self) -> tuple[CLoop, ...]:
        """Loops whose positions are computed ahead."""
        return self.nest.loops[: self.prefetch_depths[-1]] if self.prefetch_depths else ()

    def advance(self, depth: int) -> Iterator[str]:
        """Statements that move a position on by one iteration of the first `depth` loops."""
        for level in reversed(range(depth)):
            loop = self.nest.loops[level]
            variable = f"at->{loop.variable}"
            further = [inner for inner in self.nest.loops[level + 1 : depth] if inner.dim is loop.dim]
            starts = [f"at->{inner.variable} = {variable};" for inner in further]
            bound = self.nest.end(loop.dim, level, "at->")
            yield f"{variable} += {loop.tile};"
            if level == 0:
                yield from starts
                yield f"return {variable} < {bound};"
                return
            yield f"if ({variable} < {bound}) {{"
            yield from (f"    {statement}" for statement in starts)
            yield "    return true;"
            yield "}"
            yield f"{variable} = {self.nest.start(loop.dim, level, 'at->')};"
            yield from starts

    def placed(self, depth: int) -> tuple[OperandText, ...]:
        """Constants and inputs whose blocks are fetched inside the first `depth` loops."""
        return tuple(operand for operand in self.fetched if operand.depth == depth)

    def spans(self, depth: int) -> Iterator[tuple[str, str]]:
        """Variables for the spans of the blocks that begin inside the first `depth` loops, and their values."""
        for operand in (*self.inputs, self.output):
            if operand.depth == depth:
                for axis in operand.cut_axes:
                    if axis.block in self._mentioned:
                        yield axis.block, self._span(axis, depth)

    def tile_spans(self) -> Iterator[tuple[str, str]]:
        """Variables for the spans of tiles that are pieces of their blocks, and their values."""
        for operand in (*self.inputs, self.output):
            for axis in operand.axes:
                if axis.tiled and axis.tile in self._mentioned:
                    yield axis.tile, self._span(axis, len(self.nest))

    @cached_property
    def _mentioned(self) -> frozenset[str]:
        """Names in the expressions of the loops' body."""
        expressions = [value for _, value in self.tile]
        expressions += [operand.arguments_here() for operand in self.operands if not operand.double]
        expressions += [self.output.arguments_here(), self.sums, self.output_sums]
        return frozenset(re.findall(r"\w+", " ".join(expressions)))

    def _span(self, axis: AxisText, depth: int) -> str:
        return axis.span(self.nest.start(axis.axis.dim, depth), self.nest.bound(axis.axis.dim, depth))

    @property
    def reuses_output(self) -> bool:
        """Whether an output buffer is written back more than once."""
        if not self.output.depth:
            return False
        return not (self.output.double and self.output.depth == 1 and self.schedule.loops[0].count == 2)

    @property
    def sums(self) -> str:
        """Address of the tile's partial sums, which lie as the output's block does; empty if there are none."""
        return self.output.tile_in("l1->sums") if self.schedule.partial_bytes else ""

    @property
    def output_sums(self) -> str:
        """Address of the tile's outputs where they are sums of 32 bits; else empty."""
        if self.output.element_bytes == 1:
            return ""
        return self.output.tile_in(f"(int32_t *){self.output.pointer}")

    @property
    def tile(self) -> Iterator[tuple[str, str]]:
        """Fields of the kernel's context and their values."""
        layer, rows, columns, channels = self.layer, *self.inputs[0].axes
        for operand in self.inputs:
            yield operand.name, operand.tile_pointer
        yield from self._constant_fields()
        outputs = "output_sums" if self.output_sums else "NULL"
        yield "output", "(uint8_t *)output_sums" if self.output_sums else self.output.tile_pointer
        if self.schedule.partial_bytes:
            depth = len(self.nest)
            yield "sums_in", f"{self.nest.start(Dim.C, depth)} > 0 ? sums : NULL"
            yield "sums_out", f"{self.nest.bound(Dim.C, depth)} < {size_name(Dim.C, layer)} ? sums : {outputs}"
        elif self.output_sums:
            yield "sums_out", outputs
        if self.schedule.scratch:
            yield "scratch", "l1->scratch"
        yield "channels_in", channels.tile_count
        yield "channels_out", self.output.axes[2].tile_count
        yield "input_height", rows.tile_count
        yield "input_width", columns.tile_count
        for operand in (*self.inputs, self.output):
            if operand is self.output:
                yield "output_height", operand.axes[0].tile_count
                yield "output_width", operand.axes[1].tile_count
            yield f"{operand.name}_row_stride", operand.row_stride
            yield f"{operand.name}_pixel_stride", operand.pixel_stride
            if operand.channel_stride:
                yield f"{operand.name}_channel_stride", operand.channel_stride
        if layer.op in WINDOWED:
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
                yield "pad_value", str(layer.pad_value)
        if not self.output_sums:
            yield "clip_low", str(layer.clip[0])
            yield "clip_high", str(layer.clip[1])
        if self.plan.negative_step:
            yield "negative_step", f"INT64_C({self.plan.negative_step})"
        if self.plan.shift:
            yield "shift", str(self.plan.shift)

    def _constant_fields(self) -> Iterator[tuple[str, str]]:
        if self.weights is None:
            return
        start = self.nest.start(Dim.K, len(self.nest))
        outer = self.nest.start(Dim.K, self.weights.depth)
        relative = start if outer == "0" else f"({start} - {outer})"
        for field, name, offset, stride in self.components:
            value = self.weights.pointer + (f" + {name}_OFFSET" if offset else "")
            yield field, value + (f" + {relative} * {name}_CHANNEL_BYTES" if stride else "")
