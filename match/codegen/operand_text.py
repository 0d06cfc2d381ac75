"""Operands of a layer as C: names, expressions and transfer shapes of their blocks and of the tiles inside them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from match.codegen.axis_text import AxisText
from match.codegen.constants_text import ConstantsText
from match.codegen.nest import LoopNest
from match.errors import TargetError
from match.ir.layer import Dim, Operand, Role
from match.ir.names import identifier
from match.mapping.memory import Memory
from match.mapping.schedule import Buffer, Placement, Schedule
from match.mapping.storage import places, storage

_AXES = ("rows", "columns", "channels")


@dataclass(frozen=True)
class OperandText:
    """One operand in C, in the memory number `level`: its blocks, their buffers and transfers.

    `outer` is the operand in a memory further out, from whose blocks these are fetched; without it they are fetched
    from the tensor.
    """

    operand: Operand
    schedule: Schedule
    nest: LoopNest
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
        return f"{self.block_name}_BYTES"

    @property
    def buffer_sizes(self) -> tuple[str, ...]:
        """The constant with the bytes of each buffer."""
        return (self.bytes_name,) * (1 + self.double)

    @property
    def block_name(self) -> str:
        """Constant with the number of its block; of two buffers, of the first."""
        prefix = "" if self.innermost else f"{identifier(self.memory.name).upper()}_"
        return f"{prefix}{self.name.upper()}"

    @property
    def blocks(self) -> str:
        """Array of blocks that its own are in."""
        return "l1" if self.innermost else identifier(self.memory.name)

    @property
    def buffer(self) -> str:
        """The block, of two buffers the one whose turn it is."""
        return f"{self.blocks}[{self.block_name}{f' + {self.name}_turn' if self.double else ''}]"

    @property
    def pointer(self) -> str:
        """Where the current block lies."""
        return self.name if self.double else f"{self.buffer}.data"

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
    def stored_axes(self) -> tuple[AxisText, ...]:
        """Rows, columns and channels of an activation, from slowest to fastest.

        Raises:
            TargetError: if it is no such activation, or blocks begin where they cannot.
        """
        storage(self.operand)
        component = self.operand.components[0]
        outer = self.outer.stored_axes if self.outer else (None, None, None)
        cut = self._cut_since_outer
        found = tuple(
            AxisText(
                self.name,
                _AXES[place],
                axis,
                self.schedule.layer,
                self.nest,
                self.depth,
                other,
                other is not None and axis.dim not in cut,
            )
            for axis, place, other in zip(component.axes, places(component), outer, strict=True)
        )
        for axis, group in zip(found, (1, 1, component.byte_group), strict=True):
            if not axis.cut_between_groups(group):
                raise TargetError(
                    f"operand {self.name} of layer {self.schedule.layer.name} is cut inside groups of "
                    f"{max(group, axis.axis.multiple)} {axis.name}; let the module's tile_multiples keep them whole."
                )
        return found

    @cached_property
    def axes(self) -> tuple[AxisText, ...]:
        """Rows, columns and channels of an activation, in that order."""
        named = {axis.name: axis for axis in self.stored_axes}
        return named["rows"], named["columns"], named["channels"]

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
    def element_bytes(self) -> int:
        """Bytes of an element; of sums that are outputs and of float32, four."""
        return self.operand.components[0].element_bytes

    def _in_bytes(self, elements: str) -> str:
        return elements if self.element_bytes == 1 else f"{_factor_of_sum(elements)} * {self.element_bytes}"

    def _stride(self, axis: AxisText) -> str:
        """Elements between neighbours along an axis of a block; 0 where there is one for all."""
        if axis.axis.limit == 1 and axis.fixed:  # all tiles' one pixel
            return "0"
        faster = self.stored_axes[self.stored_axes.index(axis) + 1 :]
        return " * ".join(_factor(inner.held) for inner in faster) or "1"

    @property
    def pixel_stride(self) -> str:
        """Elements between neighbouring pixels of a block."""
        return self._stride(self.axes[1])

    @property
    def row_stride(self) -> str:
        """Elements between neighbouring rows of a block."""
        return self._stride(self.axes[0])

    @property
    def channel_stride(self) -> str:
        """Elements between neighbouring channels of a block; empty where they lie side by side."""
        return "" if self.axes[2] is self.stored_axes[-1] else self._stride(self.axes[2])

    @property
    def tile_pointer(self) -> str:
        """Address of the tile inside its block."""
        return self.tile_in(self.pointer, self.element_bytes)

    def tile_in(self, block: str, scale: int = 1) -> str:
        """Address of the tile inside an array that lies as its block does, of elements of `scale` units each."""
        terms = [block]
        for axis in self.axes:
            if axis.offset:
                factors = (factor for factor in (self._stride(axis), str(scale)) if factor != "1")
                terms.append(" * ".join((_factor(axis.offset), *factors)))
        return " + ".join(terms)

    @property
    def external_offset(self) -> str:
        """Bytes from the start of the array that blocks are cut from to a block, with a plus; empty if always 0."""
        text = ""
        for axis in self.stored_axes:
            if text:
                text = f"{_factor_of_sum(text)} * {axis.pitch}"
            if axis.first:
                text = f"{text} + {axis.first}" if text else axis.first
        return f" + {self._in_bytes(text)}" if text else ""

    @property
    def contiguous(self) -> str:
        """Bytes of the transfer of one block if they lie side by side in both memories; else empty."""
        shape = dict(self.shape)
        return shape["bytes"] if shape["planes"] == shape["rows"] == "1" else ""

    @property
    def shape(self) -> tuple[tuple[str, str], ...]:
        """Fields of the transfer of one block, whose spans are called after their axes: as few pieces as there are."""
        return tuple((field, _unsigned(value)) for field, value in self._pieces())

    def _pieces(self) -> tuple[tuple[str, str], ...]:
        """`shape`, of signed expressions."""
        slow, middle, fast = (axis.moved for axis in self.stored_axes)
        _, width, depth = (axis.pitch for axis in self.stored_axes)
        fast, depth = self._in_bytes(fast), self._in_bytes(depth)
        _, whole_middle, whole_fast = (axis.whole for axis in self.stored_axes)
        if whole_middle and whole_fast:
            return ("planes", "1"), ("rows", "1"), ("bytes", f"{slow} * {middle} * {fast}")
        if whole_fast:
            return (
                ("planes", "1"),
                ("rows", slow),
                ("bytes", f"{middle} * {fast}"),
                ("external_row_stride", f"{width} * {depth}"),
                ("local_row_stride", f"{middle} * {fast}"),
            )
        if whole_middle:
            return (
                ("planes", "1"),
                ("rows", f"{slow} * {middle}"),
                ("bytes", fast),
                ("external_row_stride", depth),
                ("local_row_stride", fast),
            )
        return (
            ("planes", slow),
            ("rows", middle),
            ("bytes", fast),
            ("external_plane_stride", f"{width} * {depth}"),
            ("external_row_stride", depth),
            ("local_plane_stride", f"{middle} * {fast}"),
            ("local_row_stride", fast),
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


def _factor_of_sum(expression: str) -> str:
    return f"({expression})" if " + " in expression else expression


def _unsigned(expression: str) -> str:
    """As uint32_t, which constants become by themselves."""
    if expression.upper() == expression:
        return expression
    operand = f"({expression})" if re.search(r"[ (]", expression) else expression
    return f"(uint32_t){operand}"
