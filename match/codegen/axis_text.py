"""An axis of an activation as C: which indices of the tensor blocks and tiles have, and how blocks lie in an array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from match.codegen.context_text import seen_padding
from match.codegen.nest import LoopNest, size_name
from match.ir.attributes import Broadcast
from match.ir.layer import Axis, Dim, Group, Layer, Op
from match.mapping.memory import align
from match.target.operands import INPUT, OUTPUT


@dataclass(frozen=True)
class AxisText:
    """One axis of an activation in C; `nest` and the depth of the operand's block in it say where it is cut.

    `outer` is the same axis of the blocks of a memory further out, which these are cut from; without it they are cut
    from the tensor. `shared` tells that no loop lies between the two that cuts the axis.
    """

    operand: str
    name: str
    axis: Axis
    layer: Layer
    nest: LoopNest
    depth: int
    outer: AxisText | None = None
    shared: bool = False

    @property
    def limit(self) -> str:
        """Constant with the tensor's size."""
        if isinstance(self.layer.attributes, Group):
            side = {"rows": "HEIGHT", "columns": "WIDTH", "channels": "CHANNELS"}[self.name]
            return f"{self.operand.upper()}_{side}"
        inside = self.operand == INPUT if self.layer.fused else self.operand != OUTPUT
        if self.name == "channels" and self.layer.op is Op.GROUPED_CONV2D:
            return "IN_CHANNELS" if inside else "OUT_CHANNELS"
        if self.name == "channels":
            if inside and self.layer.fused:
                return "IN_CHANNELS"
            own = inside and (self.fixed or self.layer.op in (Op.CONCATENATE, Op.SLICE))
            return f"{self.operand.upper()}_CHANNELS" if own else size_name(self.axis.dim, self.layer)
        if self.axis.dim is Dim.K:
            return size_name(self.axis.dim, self.layer)
        own = self.fixed and self.operand != INPUT
        inside = inside and (self.operand == INPUT or self.layer.get(Broadcast).kind != "outer")
        side = self.operand.upper() if own else "IN" if inside else "OUT"
        return f"{side}_{'HEIGHT' if self.name == 'rows' else 'WIDTH'}"

    @property
    def fixed(self) -> bool:
        """Whether every tile touches the same indices."""
        return self.axis.stride == 0

    @property
    def used(self) -> int:
        """Indices of the tensor that the whole layer touches."""
        return self.axis.span(0, self.layer.size(self.axis.dim))[1]

    @property
    def whole(self) -> bool:
        """Whether every block holds all that the array which it is cut from has of the axis."""
        if self.outer:
            return self.shared
        return not self.axis.array and not self.cut and self._rounded(self.used) == self._rounded(self.axis.limit)

    def _rounded(self, count: int) -> int:
        return align(count, self.axis.multiple)

    @property
    def stored(self) -> str:
        """Constant with the indices that the tensor has room for."""
        return self.limit if self._rounded(self.axis.limit) == self.axis.limit else f"{self.variable.upper()}_STORED"

    @property
    def _array(self) -> str:
        """Constant with the indices of the array that the tensor is a part of; empty if it is none."""
        return f"{self.variable.upper()}_PITCH" if self.axis.array else ""

    def cut_between_groups(self, bytes_together: int) -> bool:
        """Whether blocks begin at multiples of the axis's own and of so many bytes."""
        group = max(bytes_together, self.axis.multiple)
        outside = tuple(loop for loop in self.nest.outside if loop.dim is self.axis.dim)
        loops = (*outside, *self.nest.of(self.axis.dim, self.depth))
        return not loops or group == 1 or (self.plain and all(loop.tile_size % group == 0 for loop in loops))

    @property
    def held(self) -> str:
        """Indices that the block has room for."""
        if self.cut:
            return self._room(f"{self.block}.count")
        if self._rounded(self.used) == self._rounded(self.axis.limit):
            return self.stored
        return self.used_name if self._rounded(self.used) == self.used else f"{self.variable.upper()}_HELD"

    def _room(self, count: str) -> str:
        return count if self.axis.multiple == 1 else f"match_round_up({count}, {self.axis.multiple})"

    @property
    def sizes(self) -> Iterator[tuple[str, int]]:
        """Constants that describe the axis beside the tensor's size."""
        values = {self.stored: self._rounded(self.axis.limit)}
        if self._array and self.outer is None:
            values[self._array] = self.axis.array
        if self.skipped:
            values[self.skipped] = -self.axis.before
        if not self.cut:
            values |= {self._whole_count: self.used, self.held: self._rounded(self.used)}
        yield from ((name, value) for name, value in values.items() if name != self.limit)

    @property
    def partly(self) -> bool:
        """Whether the layer leaves the last indices of the tensor untouched."""
        return self.used < self.axis.limit

    @property
    def cut(self) -> bool:
        """Whether blocks are pieces of the tensor's axis."""
        if self.fixed:
            return False
        if self.shared and self.outer:
            return self.outer.cut
        return bool(self.nest.of(self.axis.dim, self.depth)) or self.nest.cut_outside(self.axis.dim)

    @property
    def passed(self) -> bool:
        """Whether a transfer has to be told which indices it moves."""
        return self.cut and not self.shared

    @property
    def tiled(self) -> bool:
        """Whether tiles are pieces of the block along this axis."""
        cuts = len(self.nest.of(self.axis.dim, len(self.nest))) - len(self.nest.of(self.axis.dim, self.depth))
        return cuts > 0 and not self.fixed

    @property
    def plain(self) -> bool:
        """Whether indices of the axis are iterations of its loop dimension, after those that are skipped."""
        axis = self.axis
        fits = axis.before <= 0 and axis.limit + axis.before >= self.layer.size(axis.dim)
        return (axis.stride, axis.window) == (1, 1) and fits

    @property
    def skipped(self) -> str:
        """Constant with the tensor's indices in front of those that the layer touches; empty if there are none."""
        return f"{self.variable.upper()}_SKIPPED" if self.axis.before < 0 and self.outer is None else ""

    @property
    def variable(self) -> str:
        """Variable or field with the block's span."""
        return f"{self.operand}_{self.name}"

    @property
    def block(self) -> str:
        """The block's span, where blocks are pieces."""
        return f"part->{self.variable}" if self.shared else self.variable

    @property
    def tile(self) -> str:
        """Variable with the tile's span, where tiles are pieces of what the layer touches."""
        return f"tile_{self.variable}" if self.tiled else self.block

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

    @property
    def pitch(self) -> str:
        """Indices that the array has room for which the block is cut from."""
        if self.outer is None:
            return self._array or self.stored
        return self._room(f"part->{self.outer.variable}.count") if self.outer.cut else self.outer.held

    @property
    def first(self) -> str:
        """Indices from the array's first to the block's, in a function that is passed `name`; empty if always 0."""
        if not self.passed:
            return self.skipped
        if self.skipped:
            return f"({self.name}.first + {self.skipped})"
        if self.outer and self.outer.cut:
            return f"({self.name}.first - part->{self.outer.variable}.first)"
        return f"{self.name}.first"

    @property
    def moved(self) -> str:
        """`held` in a function that is passed `name`."""
        return self._room(f"{self.name}.count") if self.passed else self.held

    def span(self, start: str, end: str) -> str:
        """Span of iterations start .. end - 1."""
        if self.name == "channels" and not self.plain:
            group = "GROUP_OUTPUTS" if self.operand == "output" else "GROUP_INPUTS"
            return f"match_span(({start}) * {group}, ({end}) * {group})"
        return f"match_span({start}, {end})" if self.plain else f"{self.function}({start}, {end})"

    @property
    def function(self) -> str:
        """Function that computes the span of a window."""
        return f"{self.variable}_under"

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
        """Padding before and after the indices that the layer's windows see together."""
        return seen_padding(self.axis, 0, self.layer.size(self.axis.dim))

    def pad(self, behind: bool) -> str:
        """Padding that the tile sees before or after its indices; empty if the layer has none there."""
        if not self.pads[behind]:
            return ""
        if self.cut or self.tiled:
            return f"{self.tile}.{'pad_after' if behind else 'pad_before'}"
        rows = self.name == "rows"
        return ("PAD_BOTTOM" if rows else "PAD_RIGHT") if behind else ("PAD_TOP" if rows else "PAD_LEFT")
