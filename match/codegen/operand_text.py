"""Operands of a layer as C: names, expressions and transfer shapes of their blocks and of the tiles inside them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from match.codegen.nest import Nest, size_name
from match.errors import TargetError
from match.layer import Axis, Layer, Op, Operand, Role
from match.schedule.mapping import Schedule, align, block_bytes
from match.storage import PLACES, storage

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
        return not self.cut and self._rounded(self.used) == self._rounded(self.axis.limit)

    def _rounded(self, count: int) -> int:
        return align(count, self.axis.multiple)

    @property
    def stored(self) -> str:
        """Constant with the indices that the tensor has room for."""
        return self.limit if self._rounded(self.axis.limit) == self.axis.limit else f"{self.block.upper()}_STORED"

    def cut_between_groups(self, bytes_together: int) -> bool:
        """Whether blocks begin at multiples of the axis's own and of so many bytes."""
        group = max(bytes_together, self.axis.multiple)
        loops = self.nest.of(self.axis.dim, self.depth)
        return not loops or group == 1 or (self.plain and all(loop.tile_size % group == 0 for loop in loops))

    def held(self, span: str) -> str:
        """Indices that a block has room for whose span is in a variable."""
        if self.cut:
            count = f"{span}.count"
            return count if self.axis.multiple == 1 else f"match_round_up({count}, {self.axis.multiple})"
        if self.whole:
            return self.stored
        return self.used_name if self._rounded(self.used) == self.used else f"{self.block.upper()}_HELD"

    @property
    def sizes(self) -> Iterator[tuple[str, int]]:
        """Constants that describe the axis beside the tensor's size."""
        values = {self.stored: self._rounded(self.axis.limit)}
        if not self.cut:
            values |= {self._whole_count: self.used, self.held(""): self._rounded(self.used)}
        yield from ((name, value) for name, value in values.items() if name != self.limit)

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
    def stored_axes(self) -> tuple[AxisText, ...]:
        """Rows, columns and channels of an activation, from slowest to fastest.

        Raises:
            TargetError: if it is no such activation, or blocks begin where they cannot.
        """
        storage(self.operand)
        found = tuple(
            AxisText(self.name, _AXES[PLACES[axis.dim]], axis, self.schedule.layer, self.nest, self.depth)
            for axis in self.operand.components[0].axes
        )
        for axis, group in zip(found, (1, 1, self.operand.components[0].byte_group), strict=True):
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
    def cut_axes(self) -> tuple[AxisText, ...]:
        """Axes along which blocks are pieces."""
        return tuple(axis for axis in self.axes if axis.cut)

    def _stride(self, axis: AxisText) -> str:
        """Bytes between neighbours along an axis of a block."""
        faster = self.stored_axes[self.stored_axes.index(axis) + 1 :]
        return " * ".join(_factor(inner.held(inner.block)) for inner in faster) or "1"

    @property
    def pixel_stride(self) -> str:
        """Bytes between neighbouring pixels of a block."""
        return self._stride(self.axes[1])

    @property
    def row_stride(self) -> str:
        """Bytes between neighbouring rows of a block."""
        return self._stride(self.axes[0])

    @property
    def channel_stride(self) -> str:
        """Bytes between neighbouring channels of a block; empty where they lie side by side."""
        return "" if self.axes[2] is self.stored_axes[-1] else self._stride(self.axes[2])

    @property
    def tile_pointer(self) -> str:
        """Address of the tile inside its block."""
        return self.tile_in(self.pointer)

    @property
    def element_bytes(self) -> int:
        """Bytes of an element; of sums that are outputs, four."""
        return self.operand.components[0].element_bytes

    def _in_bytes(self, elements: str) -> str:
        if self.element_bytes == 1:
            return elements
        return f"{f'({elements})' if ' + ' in elements else elements} * {self.element_bytes}"

    def tile_in(self, block: str) -> str:
        """Address of the tile inside an array that lies as its block does."""
        terms = [block]
        for axis in self.axes:
            if axis.offset:
                stride = self._stride(axis)
                terms.append(_factor(axis.offset) + (f" * {stride}" if stride != "1" else ""))
        return " + ".join(terms)

    @property
    def external_offset(self) -> str:
        """Bytes from the start of the tensor to the start of a block, with a leading plus; empty if always 0."""
        text = ""
        for axis in self.stored_axes:
            if text:
                text = f"{f'({text})' if ' + ' in text else text} * {axis.stored}"
            if axis.cut:
                text = f"{text} + {axis.name}.first" if text else f"{axis.name}.first"
        return f" + {self._in_bytes(text)}" if text else ""

    @property
    def shape(self) -> tuple[tuple[str, str], ...]:
        """Fields of the transfer of one block, whose spans are called after their axes: as few pieces as there are."""
        slow, middle, fast = (axis.held(axis.name) for axis in self.stored_axes)
        _, width, depth = (axis.stored for axis in self.stored_axes)
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
