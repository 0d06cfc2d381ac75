"""The loops of one memory as C: which blocks are fetched and written back where, and how the next ones are found."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import cached_property
from math import prod
from typing import NamedTuple

from match.codegen.axis_text import AxisText
from match.codegen.nest import CLoop, LoopNest
from match.codegen.operand_text import OperandText
from match.codegen.shared_text import module_prefix
from match.dispatch.packed_constants import tiles
from match.dispatch.plan import LayerPlan
from match.ir.layer import Dim, Role
from match.ir.names import identifier
from match.mapping.schedule import parts


class NumberedBlock(NamedTuple):
    """A block: constant with its number, the number, and the constants with the bytes of its buffers."""

    name: str
    number: int
    sizes: tuple[str, ...]

    @property
    def buffers(self) -> int:
        """Their number."""
        return len(self.sizes)


def numbered(blocks: Iterable[tuple[str, tuple[str, ...]]]) -> Iterator[NumberedBlock]:
    """Blocks one after the other, from names and names of bytes of each buffer."""
    number = 0
    for name, sizes in blocks:
        yield NumberedBlock(name, number, sizes)
        number += len(sizes)


class LevelText(ABC):
    """What the template asks about the loops of one of a schedule's memories.

    `part` tells that they execute a part of the layer, for whose iterations another memory further out has loops.
    """

    def __init__(self, plan: LayerPlan, level: int, outer: LevelText | None = None) -> None:
        """Prepares memory number `level` of a plan's schedule; `outer` is the one outside of it."""
        self.plan = plan
        self.layer = plan.layer
        self.schedule = plan.schedule
        self.memory = self.schedule.memories[level]
        self.part = outer is not None
        self.outer_memory = outer.memory.name if outer else ""
        self.nest = LoopNest(self.schedule, level)
        further = {operand.name: operand for operand in outer.operands} if outer else {}
        self.operands = tuple(
            OperandText(operand, self.schedule, self.nest, level, further.get(operand.name))
            for operand in self.schedule.operands
            if self.memory.has(operand.name)
        )
        self.fetched = tuple(operand for operand in self.operands if operand.operand.role is not Role.OUTPUT)
        self.inputs = tuple(operand for operand in self.operands if operand.operand.role is Role.INPUT)
        self.output = next((operand for operand in self.operands if operand.operand.role is Role.OUTPUT), None)
        self.weights = next((operand for operand in self.operands if operand.constant), None)

    @property
    def template(self) -> str:
        """The template of its functions."""
        return "level.c.mako"

    @property
    def summary(self) -> tuple[str, ...]:
        """What the memory holds, in lines."""
        return tuple(f"{operand.name}: {operand.summary}" for operand in self.operands)

    # Names: with two memories they say which of them is meant.

    @property
    def suffix(self) -> str:
        """End of the names of functions."""
        return "" if len(self.schedule.memories) == 1 else f"_{identifier(self.memory.name)}"

    @property
    def types(self) -> str:
        """Beginning of the names of types."""
        return "" if len(self.schedule.memories) == 1 else f"{identifier(self.memory.name)}_"

    @property
    @abstractmethod
    def innermost(self) -> bool:
        """Whether the body of the loops calls a kernel."""

    @property
    @abstractmethod
    def shared(self) -> str:
        """Begins the names of what layers share: the type of a block, and functions that move blocks."""

    @property
    def kernel_shared(self) -> str:
        """The same for the blocks that kernels work on."""
        return module_prefix(self.plan.module)

    @property
    @abstractmethod
    def numbered(self) -> tuple[NumberedBlock, ...]:
        """The blocks, by number."""

    @property
    def count_name(self) -> str:
        """Constant with how many blocks there are."""
        return "BLOCKS" if self.innermost else f"{identifier(self.memory.name).upper()}_BLOCKS"

    # The arrays that blocks are fetched from: tensors, or blocks in the memory outside.

    def array(self, operand: OperandText) -> str:
        """What the blocks of an operand are pieces of."""
        name = "constants" if operand.constant and not self.part else operand.name
        return f"part->{name}" if self.part else name

    def array_parameter(self, operand: OperandText) -> str:
        """Parameter of the function that moves blocks, with a leading comma; empty for constants in the file itself."""
        if self.part:
            return ", const part_t *part"
        if operand.constant and self.plan.constants_at == "code":
            return ""
        return f", {'' if operand is self.output else 'const '}uint8_t *{self.array(operand)}"

    def array_argument(self, operand: OperandText) -> str:
        """The argument for that parameter."""
        if self.part:
            return ", part"
        return f", arguments->{self.array(operand)}" if self.array_parameter(operand) else ""

    # Streams of blocks.

    @cached_property
    def prefetch_depths(self) -> tuple[int, ...]:
        """Depths at which the next block is fetched while the current one is used."""
        return tuple(sorted({operand.depth for operand in self.fetched if operand.double}))

    @property
    def position(self) -> tuple[CLoop, ...]:
        """Loops whose positions are computed ahead."""
        return self.nest.loops[: self.prefetch_depths[-1]] if self.prefetch_depths else ()

    def advance(self, depth: int) -> tuple[str, ...]:
        """Statements that move a position on by one iteration of the first `depth` loops."""
        return tuple(self._advance(depth))

    def _advance(self, depth: int) -> Iterator[str]:
        outer = max((one for one in self.prefetch_depths if one < depth), default=0)
        for level in reversed(range(outer, depth)):
            loop = self.nest.loops[level]
            variable = f"at->{loop.variable}"
            starts = self._starts(range(level + 1, depth), loop.dim)
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
        cut_again = {loop.dim for loop in self.nest.loops[:outer]}
        starts = self._starts(range(outer, depth), *cut_again)
        if starts:
            yield f"const bool more = {self.advance_call(outer, 'at')};"
            yield from starts
            yield "return more;"
        else:
            yield f"return {self.advance_call(outer, 'at')};"

    def _starts(self, levels: range, *dims: Dim) -> list[str]:
        """Statements that let the loops over `dims` among `levels` begin anew, inside of loops that have moved on."""
        loops = [(level, self.nest.loops[level]) for level in levels]
        return [
            f"at->{loop.variable} = {self.nest.start(loop.dim, level, 'at->')};"
            for level, loop in loops
            if loop.dim in dims
        ]

    def advance_call(self, depth: int, position: str) -> str:
        """Call of the function that moves a position on, a pointer, by one iteration of the first `depth` loops."""
        part = ", part" if self.advance_needs_part(depth) else ""
        return f"advance_{self.nest.loops[depth - 1].variable}({position}{part})"

    def advance_needs_part(self, depth: int) -> bool:
        """Whether that depends on the part of the layer that the loops execute."""
        return any(re.search(r"\bpart\b", line) for line in self.advance(depth))

    def placed(self, depth: int) -> tuple[OperandText, ...]:
        """Constants and inputs whose blocks are fetched inside the first `depth` loops, and waited for there."""
        return tuple(operand for operand in self.fetched if operand.depth == depth)

    @property
    def activations(self) -> tuple[OperandText, ...]:
        """Inputs and output that the memory holds."""
        return self.inputs if self.output is None else (*self.inputs, self.output)

    def spans(self, depth: int) -> Iterator[tuple[str, str]]:
        """Variables for the spans of the blocks that begin inside the first `depth` loops, and their values."""
        for operand in self.activations:
            if operand.depth == depth:
                for axis in operand.cut_axes:
                    if axis.variable in self.mentioned:
                        yield axis.variable, self.span(axis, depth)

    def span(self, axis: AxisText, depth: int) -> str:
        """Span of an axis in the iteration of the first `depth` loops."""
        return axis.span(self.nest.start(axis.axis.dim, depth), self.nest.bound(axis.axis.dim, depth))

    @abstractmethod
    def body(self) -> Iterator[str]:
        """Expressions in the innermost body."""

    @cached_property
    def mentioned(self) -> frozenset[str]:
        """Names in the expressions of the loops' body."""
        expressions = list(self.body())
        expressions += [operand.arguments_here() for operand in self.fetched if operand.depth and not operand.double]
        expressions += [self.output.arguments_here()] if self.output else []
        return frozenset(re.findall(r"\w+", " ".join(expressions)))

    @property
    def reuses_output(self) -> bool:
        """Whether an output buffer is written back more than once, at least of some parts of the layer."""
        if self.output is None:
            return False
        loops = self.schedule.loops[self.schedule.first_loop(self.output.level) : self.output.placement.depth]
        counts = (max(parts(extent, tiles(loops, dim)) for extent in self.nest.extents[dim]) for dim in Dim)
        return prod(counts) > 1 + self.output.double
