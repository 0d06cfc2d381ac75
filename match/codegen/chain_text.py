"""The kernel calls of a chain's tile as C: what each operator is told about its part of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from match.codegen.context_text import WINDOWED, Fields, requantization_fields, weight_fields, window_fields
from match.codegen.nest import LoopNest
from match.codegen.operand_text import OperandText
from match.dispatch.plan import LayerPlan
from match.ir.chain import channel_dims
from match.ir.layer import Axis, Layer, input_axes


@dataclass(frozen=True)
class StageText:
    """Operator `number` of a chain.

    Tensors are numbered from the input, 0, on: `rows_1` are the rows that the tile has of the first tensor between
    operators, `columns_1` its columns.
    """

    plan: LayerPlan
    number: int
    nest: LoopNest

    @property
    def layer(self) -> Layer:
        """The operator."""
        return self.plan.layer.operators[self.number]

    @property
    def kernel(self) -> str:
        """Its C function."""
        return self.plan.operators[self.number].kernel

    @property
    def first(self) -> bool:
        """Whether it reads the chain's input."""
        return self.number == 0

    @property
    def last(self) -> bool:
        """Whether it writes the chain's output."""
        return self.number == len(self.plan.operators) - 1

    def spans(self) -> Iterator[tuple[str, str]]:
        """Variables with the rows and columns that it reads, and of the last operator those that it writes."""
        for name, axis in zip(("rows", "columns"), input_axes(self.layer), strict=True):
            if self.last:
                depth = len(self.nest)
                span = f"match_span({self.nest.start(axis.dim, depth)}, {self.nest.bound(axis.dim, depth)})"
                yield f"{name}_{self.number + 1}", span
            yield f"{name}_{self.number}", self._under(f"{name}_{self.number + 1}", axis)

    def _under(self, written: str, axis: Axis) -> str:
        """What it reads for the indices `written`, whose own padding, of the next operator, it does not have."""
        end = f"{written}.first + {written}.count"
        if (axis.stride, axis.window, axis.before) == (1, 1, 0):
            return f"match_span({written}.first, {end})" if any(self.layer.padding) else written
        return f"match_window({written}.first, {end}, {axis.stride}, {axis.window}, {axis.before}, {axis.limit})"

    def channels(self, tensor: int) -> str:
        """How many channels of a tensor the tile has."""
        dim = channel_dims(self.plan.layer.operators)[tensor]
        depth = len(self.nest)
        if dim is None or not (self.nest.of(dim, depth) or self.nest.cut_outside(dim)):
            stages = self.plan.layer.operators
            return str(stages[tensor].input_channels if tensor < len(stages) else stages[-1].k)
        return f"({self.nest.bound(dim, depth)} - {self.nest.start(dim, depth)})"

    def tensor(self, tensor: int) -> str:
        """Where a tensor between operators lies."""
        offset = self.plan.scratch.tensors[tensor - 1]
        return f"l1[SCRATCH].data + {offset}" if offset else "l1[SCRATCH].data"

    def fields(
        self, constants: Fields, sums: Fields, input_: OperandText, beside: OperandText | None
    ) -> Iterator[tuple[str, str]]:
        """Fields of the kernel's context; `constants` are those of its parameters, `sums` of its partial sums."""
        read, written, output = self.number, self.number + 1, "output"
        yield "input", input_.tile_pointer if self.first else self.tensor(read)
        if beside:
            yield beside.name, beside.tile_pointer
        yield from constants
        if not self.last:
            yield output, self.tensor(written)
        yield from sums
        if self.plan.schedule.scratch > self.plan.scratch.kernels:
            yield "scratch", f"l1[SCRATCH].data + {self.plan.scratch.kernels}"
        yield "channels_in", self.channels(read)
        yield "channels_out", self.channels(written)
        yield "input_height", f"rows_{read}.count"
        yield "input_width", f"columns_{read}.count"
        yield from self._strides("input", read, input_ if self.first else None)
        if beside:
            yield from self._strides(beside.name, read, beside)
        yield "output_height", f"rows_{written}.count"
        yield "output_width", f"columns_{written}.count"
        if self.layer.op in WINDOWED:
            yield from self._window()
        yield "clip_low", str(self.layer.clip[0])
        yield "clip_high", str(self.layer.clip[1])
        yield from requantization_fields(self.plan.operators[self.number])
        yield from weight_fields(self.layer)

    def output_strides(self, output: OperandText) -> Iterator[tuple[str, str]]:
        """Those of what it writes."""
        return self._strides("output", self.number + 1, output if self.last else None)

    def _strides(self, name: str, tensor: int, operand: OperandText | None) -> Iterator[tuple[str, str]]:
        if operand:
            yield f"{name}_row_stride", operand.row_stride
            yield f"{name}_pixel_stride", operand.pixel_stride
            if operand.channel_stride:
                yield f"{name}_channel_stride", operand.channel_stride
        else:
            yield f"{name}_row_stride", f"columns_{tensor}.count * {self.channels(tensor)}"
            yield f"{name}_pixel_stride", self.channels(tensor)

    def _window(self) -> Iterator[tuple[str, str]]:
        layer, read = self.layer, self.number
        yield from window_fields(layer)
        if any(layer.padding):
            yield "pad_top", f"rows_{read}.pad_before"
            yield "pad_left", f"columns_{read}.pad_before"
            yield "pad_bottom", f"rows_{read}.pad_after"
            yield "pad_right", f"columns_{read}.pad_after"
            yield "pad_value", str(layer.pad_value)
