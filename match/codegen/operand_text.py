"""Operands of a layer as C: names, expressions and transfer shapes of their blocks and of the tiles inside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from match.codegen.nest import Nest, size_name
from match.errors import TargetError
from match.layer import Axis, Layer, Op, Operand, Role
from match.schedule.mapping import Schedule, block_bytes

WINDOWED = frozenset({Op.CONV2D, Op.DEPTHWISE_CONV2D, Op.AVG_POOL2D, Op.MAX_POOL2D})

_AXES = ("rows", "columns", "channels")


@dataclass(frozen=True)
class AxisText:
    """One axis of an activation in C; `nest` and the depth of the operand's block say where it is cut."""

    operand: str
    name: str
    axis: Axis
    layer: Layer
    nest: Nest
    depth: int

    @property
    def limit(self) -> str:
        """Constant with the tensor's size."""
        if self.name == "channels":
            return size_name(self.axis.dim, self.layer)
        side = "OUT" if self.operand == "output" else "IN"
        return f"{side}_{'HEIGHT' if self.name == 'rows' else 'WIDTH'}"

    @property
    def used(self) -> int:
        """Indices of the tensor that the whole layer touches."""
        return self.axis.span(0, self.layer.size(self.axis.dim))[1]

    @property
    def whole(self) -> bool:
        """Whether every block holds the whole axis."""
        return not self.cut and not self.partly

    @property
    def partly(self) -> bool:
        """Whether the layer leaves the last indices of the tensor untouched."""
        return self.used < self.axis.limit

    @property
    def cut(self) -> bool:
        """Whether blocks are pieces of the axis."""
        return bool(self.nest.of(self.axis.dim, self.depth))

    @property
    def tiled(self) -> bool:
        """Whether tiles are pieces of the block along this axis."""
        return len(self.nest.of(self.axis.dim, len(self.nest))) > len(self.nest.of(self.axis.dim, self.depth))

    @property
    def plain(self) -> bool:
        """Whether indices of the axis are iterations of its loop dimension."""
        axis = self.axis
        return (axis.stride, axis.window, axis.before) == (1, 1, 0) and axis.limit >= self.layer.size(axis.dim)

    @property
    def block(self) -> str:
        """Variable with the block's span, where blocks are pieces."""
        return f"{self.operand}_{self.name}"

    @property
    def tile(self) -> str:
        """Variable with the tile's span, where tiles are pieces of what the layer touches."""
        return f"tile_{self.operand}_{self.name}" if self.tiled else self.block

    @property
    def count(self) -> str:
        """Indices that the block holds."""
        return f"{self.block}.count" if self.cut else self._whole_count

    @property
    def tile_count(self) -> str:
        """Indices that the tile covers."""
        return f"{self.tile}.count" if self.cut or self.tiled else self._whole_count

    @property
    def _whole_count(self) -> str:
        return self.used_name if self.partly else self.limit

    @property
    def used_name(self) -> str:
        """Constant with `used`, where that is not the whole tensor."""
        return f"USED_{self.limit}"

    @property
    def offset(self) -> str:
        """Indices from the block's first to the tile's, empty if they are the same."""
        if not self.tiled:
            return ""
        return f"{self.tile}.first - {self.block}.first" if self.cut else f"{self.tile}.first"

    def span(self, start: str, end: str) -> str:
        """Span of iterations start .. end - 1."""
        return f"match_span({start}, {end})" if self.plain else f"{self.function}({start}, {end})"

    @property
    def function(self) -> str:
        """Function that computes the span of a window."""
        return f"{self.operand}_{self.name}_under"

    @property
    def windows(self) -> str:
        """Arguments that say how windows lie on this axis."""
        rows = self.name == "rows"
        stride = "STRIDE_Y" if rows else "STRIDE_X"
        window = "WINDOW_HEIGHT" if rows else "WINDOW_WIDTH"
        pad = ("PAD_TOP" if rows else "PAD_LEFT") if self.axis.before else "0"
        return f"{stride}, {window}, {pad}, {self.limit}"

    @property
    def pads(self) -> tuple[int, int]:
        """Padding that the layer's first and last windows see."""
        axis = self.axis
        behind = (self.layer.size(axis.dim) - 1) * axis.stride + axis.window - axis.before
        return axis.before, max(0, behind - axis.limit)

    def pad(self, behind: bool) -> str:
        """Padding that the tile sees before or behind its indices; empty if the layer has none there."""
        if not self.pads[behind]:
            return ""
        if self.cut or self.tiled:
            return f"{self.tile}.{'pad_after' if behind else 'pad_before'}"
        rows = self.name == "rows"
        return ("PAD_BOTTOM" if rows else "PAD_RIGHT") if behind else ("PAD_TOP" if rows else "PAD_LEFT")


@dataclass(frozen=True)
class OperandText:
    """One operand in C: its blocks, their buffers and transfers."""

    operand: Operand
    schedule: Schedule
    nest: Nest

    @property
    def name(self) -> str:
        """Name of the operand, of its parameter and of the variable with its current block."""
        return self.operand.name

    @property
    def depth(self) -> int:
        """Number of loops that its blocks are inside of."""
        return self.schedule.placement(self.name, self.schedule.inner_memory).depth

    @property
    def double(self) -> bool:
        """Whether two buffers take turns; a block at depth 0 is the only one."""
        return self.depth > 0 and self.schedule.placement(self.name, self.schedule.inner_memory).buffers == 2

    @property
    def constant(self) -> bool:
        """Whether it is the layer's constants."""
        return self.operand.role is Role.CONSTANT

    @property
    def bytes(self) -> int:
        """Bytes of one buffer."""
        return block_bytes(self.operand, self.schedule.extents(self.depth), self.schedule.inner_memory.alignment)

    @property
    def buffers(self) -> tuple[str, ...]:
        """Members of the buffer structure, in the order in which they are reserved."""
        return (f"{self.name}[0]", f"{self.name}[1]") if self.double else (self.name,)

    @property
    def pointer(self) -> str:
        """The current block."""
        return self.name if self.double else f"l1->{self.name}"

    @property
    def buffer(self) -> str:
        """The buffer whose turn it is."""
        return f"l1->{self.name}[{self.name}_turn]" if self.double else f"l1->{self.name}"

    @property
    def summary(self) -> str:
        """Where its blocks are, for the comment at the top of the file."""
        memory = self.schedule.inner_memory
        own = ", in a memory of its own" if memory.room(self.name) != memory.name else ""
        if not self.depth:
            return f"{self.bytes} bytes, all of it{own}"
        outer = ", ".join(loop.variable for loop in self.nest.loops[: self.depth])
        return f"{'2 x ' if self.double else ''}{self.bytes} bytes, for each {outer}{own}"

    @cached_property
    def axes(self) -> tuple[AxisText, ...]:
        """Rows, columns and channels of an activation."""
        axes = self.operand.components[0].axes
        if len(self.operand.components) != 1 or len(axes) != 3 or any(axis.multiple != 1 for axis in axes):
            raise TargetError(
                f"operand {self.name} of layer {self.schedule.layer.name} is not a dense HWC activation, "
                f"which generated code needs."
            )
        return tuple(
            AxisText(self.name, name, axis, self.schedule.layer, self.nest, self.depth)
            for name, axis in zip(_AXES, axes, strict=True)
        )

    @property
    def cut_axes(self) -> tuple[AxisText, ...]:
        """Axes along which blocks are pieces."""
        return tuple(axis for axis in self.axes if axis.cut)

    @property
    def pixel_stride(self) -> str:
        """Bytes between neighbouring pixels of a block."""
        return self.axes[2].count

    @property
    def row_stride(self) -> str:
        """Bytes between neighbouring rows of a block."""
        return f"{self.axes[1].count} * {self.axes[2].count}"

    @property
    def tile_pointer(self) -> str:
        """Address of the tile inside its block."""
        return self.tile_in(self.pointer)

    def tile_in(self, block: str) -> str:
        """Address of the tile inside an array that lies as its block does."""
        rows, columns, channels = (axis.offset for axis in self.axes)
        terms = [block]
        if rows:
            terms.append(f"{_factor(rows)} * {self.row_stride}")
        if columns:
            terms.append(f"{_factor(columns)} * {self.pixel_stride}")
        if channels:
            terms.append(_factor(channels))
        return " + ".join(terms)

    @property
    def external_offset(self) -> str:
        """Bytes from the start of the tensor to the start of a block, with a leading plus; empty if always 0."""
        rows, columns, channels = (f"{axis.name}.first" if axis.cut else "" for axis in self.axes)
        _, width, depth = (axis.limit for axis in self.axes)
        pixels = f"{rows} * {width}" if rows else ""
        if columns:
            pixels = f"({pixels} + {columns})" if pixels else columns
        text = f" + {pixels} * {depth}" if pixels else ""
        return text + (f" + {channels}" if channels else "")

    @property
    def shape(self) -> tuple[tuple[str, str], ...]:
        """Fields of the transfer of one block, whose spans are called after their axes: as few pieces as there are."""
        rows, columns, channels = (f"{a.name}.count" if a.cut else a.count for a in self.axes)
        _, width, depth = (axis.limit for axis in self.axes)
        whole_columns, whole_channels = self.axes[1].whole, self.axes[2].whole
        if whole_columns and whole_channels:
            return ("planes", "1"), ("rows", "1"), ("bytes", f"{rows} * {columns} * {channels}")
        if whole_channels:
            return (
                ("planes", "1"),
                ("rows", rows),
                ("bytes", f"{columns} * {channels}"),
                ("external_row_stride", f"{width} * {depth}"),
                ("local_row_stride", f"{columns} * {channels}"),
            )
        if whole_columns:
            return (
                ("planes", "1"),
                ("rows", f"{rows} * {columns}"),
                ("bytes", channels),
                ("external_row_stride", depth),
                ("local_row_stride", channels),
            )
        return (
            ("planes", rows),
            ("rows", columns),
            ("bytes", channels),
            ("external_plane_stride", f"{width} * {depth}"),
            ("external_row_stride", depth),
            ("local_plane_stride", f"{columns} * {channels}"),
            ("local_row_stride", channels),
        )

    def arguments_first(self) -> str:
        """Arguments that tell the transfer function to fetch the first block, with a leading comma."""
        if self.constant:
            return ", 0" if self.depth else ""
        return "".join(f", {a.span('0', self.nest.first_end(a.axis.dim, self.depth))}" for a in self.cut_axes)

    def arguments_here(self) -> str:
        """The same for the block of the iteration that the loops are in."""
        if self.constant:
            return f", {self.nest.constants_index(self.depth)}" if self.depth else ""
        return "".join(f", {axis.block}" for axis in self.cut_axes)

    def arguments_at(self, position: str) -> str:
        """The same for the block at the position in a variable."""
        prefix = f"{position}."
        if self.constant:
            return f", {self.nest.constants_index(self.depth, prefix)}"
        spans = (
            axis.span(
                self.nest.start(axis.axis.dim, self.depth, prefix), self.nest.end(axis.axis.dim, self.depth, prefix)
            )
            for axis in self.cut_axes
        )
        return "".join(f", {span}" for span in spans)


def _factor(expression: str) -> str:
    return f"({expression})" if " " in expression else expression
