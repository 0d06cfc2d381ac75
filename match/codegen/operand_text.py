"""Operands of a layer as C: names, expressions and transfer shapes of their blocks and of the tiles inside them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from match.codegen.axis_text import AxisText
from match.codegen.c_text import identifier
from match.codegen.constants_text import ConstantsText
from match.codegen.nest import Nest
from match.errors import TargetError
from match.layer import Dim, Operand, Role
from match.schedule.mapping import Buffer, Memory, Placement, Schedule

_AXES = ("rows", "columns", "channels")


@dataclass(frozen=True)
class OperandText:
    """One operand in C, in the memory number `level`: its blocks, their buffers and transfers.

    `outer` is the operand in a memory further out, from whose blocks these are fetched; without it they are fetched
    from the tensor.
    """

    operand: Operand
    schedule: Schedule
    nest: Nest
    level: int = 0
    outer: OperandText | None = None

    @property
    def name(self) -> str:
        """Name of the operand, of its parameter and of the variable with its current block."""
        return self.operand.name

    @property
    def memory(self) -> Memory:
        """The memory that the blocks are in."""
        return self.schedule.memories[self.level]

    @property
    def innermost(self) -> bool:
        """Whether kernels read and write the blocks."""
        return self.level == len(self.schedule.memories) - 1

    @property
    def placement(self) -> Placement:
        """Its placement in the memory."""
        return self.schedule.placement(self.name, self.memory)

    @property
    def depth(self) -> int:
        """Number of loops of this memory that its blocks are inside of."""
        return self.placement.depth - self.schedule.first_loop(self.level)

    @property
    def double(self) -> bool:
        """Whether two buffers take turns; a block at depth 0 is the only one."""
        return self.depth > 0 and self.placement.buffers == 2

    @property
    def constant(self) -> bool:
        """Whether it is the layer's constants."""
        return self.operand.role is Role.CONSTANT

    @property
    def reserved(self) -> Buffer:
        """Its bytes in the memory."""
        return next(b for b in self.schedule.buffers(self.memory) if b.placement.operand == self.name)

    @property
    def bytes(self) -> int:
        """Bytes of one buffer."""
        if self.constant and not self.innermost:
            return self.schedule.packed_bytes(self.operand, self.memory)
        return self.reserved.bytes

    @property
    def bytes_name(self) -> str:
        """Constant with `bytes`."""
        prefix = "" if self.innermost else f"{identifier(self.memory.name).upper()}_"
        return f"{prefix}{self.name.upper()}_BYTES"

    @property
    def handle(self) -> str:
        """Structure with the buffers, up to their names."""
        return "l1->" if self.innermost else f"{identifier(self.memory.name)}."

    @property
    def buffers(self) -> tuple[str, ...]:
        """Members of the buffer structure, in the order in which they are reserved."""
        return (f"{self.name}[0]", f"{self.name}[1]") if self.double else (self.name,)

    @property
    def pointer(self) -> str:
        """The current block."""
        return self.name if self.double else f"{self.handle}{self.name}"

    @property
    def buffer(self) -> str:
        """The buffer whose turn it is."""
        return f"{self.handle}{self.name}[{self.name}_turn]" if self.double else f"{self.handle}{self.name}"

    @property
    def summary(self) -> str:
        """Where its blocks are, for the comment at the top of the file."""
        own = ", in a memory of its own" if self.memory.room(self.name) != self.memory.name else ""
        loops = (*self.nest.outside, *self.nest.loops[: self.depth])
        if not loops:
            return f"{self.bytes} bytes, all of it{own}"
        outer = ", ".join(loop.variable for loop in loops)
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
        outer = self.outer.axes if self.outer else (None, None, None)
        cut = self._cut_since_outer
        return tuple(
            AxisText(
                self.name,
                name,
                axis,
                self.schedule.layer,
                self.nest,
                self.depth,
                other,
                other is not None and axis.dim not in cut,
            )
            for name, axis, other in zip(_AXES, axes, outer, strict=True)
        )

    @property
    def _cut_since_outer(self) -> frozenset[Dim]:
        """Dimensions that are cut between the outer block and this one."""
        begin = self.outer.placement.depth if self.outer else 0
        return frozenset(loop.dim for loop in self.schedule.loops[begin : self.placement.depth])

    @cached_property
    def constants(self) -> ConstantsText:
        """Where the blocks of constants lie."""
        return ConstantsText(self.operand, self.schedule, self.nest, self.level)

    @property
    def cut_axes(self) -> tuple[AxisText, ...]:
        """Axes along which blocks are pieces of what they are cut from."""
        return tuple(axis for axis in self.axes if axis.passed)

    @property
    def parameters(self) -> str:
        """Parameters of the transfer function that tell the block of an activation, with a leading comma."""
        return "".join(f", match_span_t {axis.name}" for axis in self.cut_axes)

    @property
    def indexed(self) -> bool:
        """Whether there are several blocks of constants, and transfers are told the number of one."""
        return self.constants.alike and self.constants.index(self.depth) != "0"

    @property
    def alike(self) -> bool:
        """Whether all blocks of constants have the same size; else transfers are told the channels of one."""
        return self.constants.alike

    @property
    def ranges(self) -> str:
        """Factor from ranges of output channels to blocks of constants of the innermost memory; empty for 1."""
        return f" * {self.constants.ranges}" if self.constants.ranges > 1 else ""

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
        rows, columns, channels = (axis.first for axis in self.axes)
        _, width, depth = (axis.pitch for axis in self.axes)
        pixels = f"{rows} * {width}" if rows else ""
        if columns:
            pixels = f"({pixels} + {columns})" if pixels else columns
        text = f" + {pixels} * {depth}" if pixels else ""
        return text + (f" + {channels}" if channels else "")

    @property
    def shape(self) -> tuple[tuple[str, str], ...]:
        """Fields of the transfer of one block, whose spans are called after their axes: as few pieces as there are."""
        rows, columns, channels = (axis.moved for axis in self.axes)
        _, width, depth = (axis.pitch for axis in self.axes)
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
            end = self.nest.first_end(Dim.K, self.depth)
            return self._constant_arguments(
                self.constants.index(self.depth, first=True), self.nest.start(Dim.K, 0), end
            )
        spans = (
            axis.span(self.nest.start(axis.axis.dim, 0), self.nest.first_end(axis.axis.dim, self.depth))
            for axis in self.cut_axes
        )
        return "".join(f", {span}" for span in spans)

    def arguments_here(self) -> str:
        """The same for the block of the iteration that the loops are in."""
        if self.constant:
            return self._constant_arguments(
                self.constants.index(self.depth),
                self.nest.start(Dim.K, self.depth),
                self.nest.bound(Dim.K, self.depth),
            )
        return "".join(f", {axis.block}" for axis in self.cut_axes)

    def arguments_at(self, position: str) -> str:
        """The same for the block at the position in a variable."""
        prefix = f"{position}."
        if self.constant:
            start, end = self.nest.start(Dim.K, self.depth, prefix), self.nest.end(Dim.K, self.depth, prefix)
            return self._constant_arguments(self.constants.index(self.depth, prefix), start, end)
        spans = (
            axis.span(
                self.nest.start(axis.axis.dim, self.depth, prefix), self.nest.end(axis.axis.dim, self.depth, prefix)
            )
            for axis in self.cut_axes
        )
        return "".join(f", {span}" for span in spans)

    def _constant_arguments(self, index: str, start: str, end: str) -> str:
        if not self.alike:
            return f", {start}, {end}"
        return f", {index}" if self.indexed else ""


def _factor(expression: str) -> str:
    return f"({expression})" if " " in expression else expression
