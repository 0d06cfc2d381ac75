"""The loops of a memory outside of the innermost one as C: what they tell about the part of the layer they are at."""

from __future__ import annotations

from collections.abc import Iterator, Set
from functools import cached_property
from typing import NamedTuple

from match.codegen.level_text import LevelText, NumberedBlock, numbered
from match.codegen.operand_text import OperandText
from match.codegen.shared_text import EXTERNAL
from match.dispatch.plan import LayerPlan
from match.ir.layer import Dim, Operand, Role
from match.ir.names import identifier


class Field(NamedTuple):
    """A field of the structure that describes a part of the layer; `type` ends where the name begins."""

    type: str
    name: str
    value: str


class PartText(LevelText):
    """What the template asks about loops in whose body those of the innermost memory are executed."""

    def __init__(self, plan: LayerPlan, wanted: Set[str]) -> None:
        """Prepares the first memory of a plan's schedule; `wanted` are the fields that the inner loops use."""
        super().__init__(plan, 0)
        self._wanted = wanted

    @property
    def innermost(self) -> bool:
        """It is not."""
        return False

    @property
    def shared(self) -> str:
        """Begins the names of what layers with blocks in main memory share."""
        return EXTERNAL

    @property
    def numbered(self) -> tuple[NumberedBlock, ...]:
        """The blocks of operands."""
        return tuple(numbered((one.block_name, one.buffer_sizes) for one in self.operands))

    def body(self) -> Iterator[str]:
        """What is said about the part."""
        return (field.value for field in self.fields)

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """What the inner loops have to know: iterations, arrays, and what of the tensors these hold."""
        return tuple(field for field in self._fields() if field.name in self._wanted)

    def _fields(self) -> Iterator[Field]:
        nest, depth = self.nest, len(self.nest)
        for dim in dict.fromkeys(loop.dim for loop in nest.loops):
            name = dim.lower()
            yield Field("int32_t ", name, nest.start(dim, depth))
            yield Field("int32_t ", f"{name}_end", nest.bound(dim, depth))
        held = {operand.name: operand for operand in self.operands}
        for operand in self.schedule.operands:
            const = "" if operand.role is Role.OUTPUT else "const "
            yield Field(f"{const}uint8_t *", operand.name, self._pointer(operand, held.get(operand.name)))
            if operand.name in held:
                yield from self._extent(held[operand.name])

    def _pointer(self, operand: Operand, held: OperandText | None) -> str:
        """Where an operand is that the inner loops fetch: its block here, or else the tensor."""
        if held is not None:
            return held.pointer
        if operand.role is not Role.CONSTANT:
            return f"arguments->{operand.name}"
        return "constants" if self.plan.constants_at == "code" else "arguments->constants"

    def _extent(self, operand: OperandText) -> Iterator[Field]:
        """What of its tensor a block has, where it is a piece."""
        if not operand.constant:
            for axis in operand.cut_axes:
                yield Field("match_span_t ", axis.variable, axis.variable)
            return
        yield Field("int32_t ", "weights_k", self.nest.start(Dim.K, operand.depth))
        yield Field("int32_t ", "weights_k_end", self.nest.bound(Dim.K, operand.depth))

    @property
    def region(self) -> Iterator[tuple[str, str]]:
        """Numbers of the blocks, and where in their region they lie."""
        for operand in self.operands:
            buffer = operand.reserved
            for turn in range(1 + operand.double):
                offset = buffer.offset + turn * buffer.bytes
                yield operand.block_name + " + 1" * turn, "arguments->blocks" + (f" + {offset}" if offset else "")

    @property
    def region_name(self) -> str:
        """Variable with the blocks."""
        return identifier(self.memory.name)
