"""`Schedule`: the temporal mapping of one layer onto a module's memories.

A module without a scratchpad has the whole layer in one kernel call, which reads and writes the outermost memory: no
loops, no placements.

The layer lives in the outermost memory. Outer loops cut it into tiles. Each operand has one placement in each memory
that it passes through, but for the outermost. The placement says inside how many of the loops a block is fetched (or,
for the output, written back) and with how many buffers. An operand that depends on none of the inner loops is placed
further out than the others and stays while they stream. Cost, simulation, code generation and the report all read this
one object, and one that does not fit its memories cannot be built.

With several memories the mapping is nested: the loops of a memory cut the blocks that the memory outside of it holds,
as if each were a layer of its own, and its streams begin and end with that block.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from match.errors import ScheduleError
from match.ir.layer import Dim, Group, Layer, Operand, Role
from match.mapping.group_plan import GroupPlan, fault
from match.mapping.memory import MAIN_ALIGNMENT, Memory, align, block_bytes, component_bytes

REDUCTIONS = frozenset({Dim.C, Dim.FY, Dim.FX})
"""Dimensions that are summed over."""


@dataclass(frozen=True)
class Loop:
    """An outer loop: splits `extent` iterations of `dim` into pieces of `tile`; the last piece may be smaller.

    `level` is the index, in `Schedule.memories`, of the memory whose blocks it makes.
    """

    dim: Dim
    tile: int
    extent: int
    level: int = 0

    @property
    def count(self) -> int:
        """Number of iterations."""
        return -(-self.extent // self.tile)

    def piece(self, index: int) -> int:
        """Extent of iteration `index`."""
        return min(self.tile, self.extent - index * self.tile)


@dataclass(frozen=True)
class Placement:
    """Where the block of `operand` is held in `memory`: fetched inside the first `depth` loops, `buffers` at a time."""

    operand: str
    memory: str
    depth: int
    buffers: int = 1


def parts(extent: int, tiles: Iterable[int]) -> int:
    """Into how many pieces iterations are cut by the first of `tiles`, each of these by the next, and so on."""
    pieces = {extent: 1}
    for tile in tiles:
        smaller: dict[int, int] = {}
        for size, times in pieces.items():
            for piece, more in ((tile, size // tile), (size % tile, 1)):
                if piece and more:
                    smaller[piece] = smaller.get(piece, 0) + times * more
        pieces = smaller
    return sum(pieces.values())


@dataclass(frozen=True)
class Buffer:
    """A byte range of a room of a memory: `placement.buffers` copies of `bytes` each, from `offset`."""

    placement: Placement
    offset: int
    bytes: int


@dataclass(frozen=True)
class Schedule:
    """A checked mapping onto `memories`, outermost first, the one that holds the whole layer left out.

    Loops run outermost first, those of a memory outside those of the next. `scratch` bytes of the innermost memory, or
    of main memory where there is no other, are the kernel's own; where input channels are cut, so are the partial sums
    of an output block. A group has no loops: `plan` says what lies where in the innermost memory. Raises ScheduleError
    on construction when a loop or placement contradicts the layer or the blocks do not fit.

    `loss` is of the search that found the mapping, in units of its objective: as much less than this one may cost
    those that an engine which looks for the best left out; 0 if it left out none. It does not tell mappings apart.
    """

    layer: Layer
    operands: tuple[Operand, ...]
    memories: tuple[Memory, ...]
    loops: tuple[Loop, ...]
    placements: tuple[Placement, ...]
    scratch: int = 0
    loss: float = field(default=0.0, compare=False)
    plan: GroupPlan | None = None

    def __post_init__(self) -> None:
        self._check_loops()
        self._check_plan()
        wanted = sorted((o.name, m.name) for o in self.operands for m in self.memories if m.has(o.name))
        if sorted((p.operand, p.memory) for p in self.placements) != wanted:
            raise ScheduleError(
                f"layer {self.layer.name}: each operand needs exactly one placement in each memory that it passes "
                f"through, the innermost included."
            )
        for level, memory in enumerate(self.memories):
            for operand in self.operands:
                if memory.has(operand.name):
                    self._check_placement(operand, self.placement(operand.name, memory), level)
        self._check_partial_sums()
        for memory in self.memories:
            for room, size in memory.rooms:
                if self.used_bytes(memory, room) > size:
                    where = memory.name if room == memory.name else f"{memory.name}'s memory for {room}"
                    raise ScheduleError(
                        f"layer {self.layer.name}: the mapping needs {self.used_bytes(memory, room)} bytes of {where}, "
                        f"which has {size}; use smaller tiles."
                    )

    def _check_loops(self) -> None:
        left: dict[Dim, int] = self.layer.extents
        for loop in self.loops:
            if loop.extent != left[loop.dim] or not 0 < loop.tile < loop.extent:
                raise ScheduleError(
                    f"layer {self.layer.name}: loop over {loop.dim} splits {loop.extent} into tiles of {loop.tile}, "
                    f"but {left[loop.dim]} iterations are left for it; tiles must be smaller and at least 1."
                )
            left[loop.dim] = loop.tile
        levels = [loop.level for loop in self.loops]
        if levels != sorted(levels) or not all(0 <= level < len(self.memories) for level in levels):
            raise ScheduleError(
                f"layer {self.layer.name}: loops make blocks of the memories {levels}; each must be one of the "
                f"{len(self.memories)} memories, and no loop may lie inside those of the next."
            )

    def _check_plan(self) -> None:
        if (self.plan is not None) != isinstance(self.layer.attributes, Group):
            raise ScheduleError(f"layer {self.layer.name}: a group needs a plan, and no other layer has one.")
        if self.plan is not None and (wrong := fault(self.layer, self.plan)):
            raise ScheduleError(f"layer {self.layer.name}: its plan is wrong: {wrong}.")

    def _check_placement(self, operand: Operand, placement: Placement, level: int) -> None:
        first, last = self.first_loop(level), self.first_loop(level + 1)
        if not first <= placement.depth <= last or placement.buffers not in (1, 2):
            raise ScheduleError(
                f"layer {self.layer.name}: operand {operand.name} is placed at depth {placement.depth} with "
                f"{placement.buffers} buffers; depth goes from {first} to {last}, buffers are 1 or 2."
            )
        if placement.depth > first and self.loops[placement.depth - 1].dim not in operand.dims:
            raise ScheduleError(
                f"layer {self.layer.name}: operand {operand.name} does not depend on the loop it is fetched "
                f"in; place it further out."
            )
        inside = self.loops[placement.depth :] if level == len(self.memories) - 1 else ()
        if any(loop.dim in operand.indivisible_dims for loop in inside):
            raise ScheduleError(
                f"layer {self.layer.name}: a loop cuts operand {operand.name} inside its block, whose layout "
                f"cannot be divided; fetch it inside that loop."
            )

    def _check_partial_sums(self) -> None:
        for depth, loop in enumerate(self.loops):
            if loop.dim not in REDUCTIONS:
                continue
            output = next(operand for operand in self.operands if operand.role is Role.OUTPUT)
            if loop.dim is not Dim.C or not output.partial_bytes or loop.level != len(self.memories) - 1:
                raise ScheduleError(
                    f"layer {self.layer.name}: the reduction over {loop.dim} is cut into tiles of {loop.tile}; "
                    f"kernels need it whole."
                )
            if self.placement(output.name, self.inner_memory).depth > depth:
                raise ScheduleError(
                    f"layer {self.layer.name}: the output is placed inside the loop over {loop.dim}, whose partial "
                    f"sums stay in {self.inner_memory.name}; place it further out."
                )

    def operand(self, name: str) -> Operand:
        """The operand called `name`."""
        return next(operand for operand in self.operands if operand.name == name)

    def placement(self, operand: str, memory: Memory) -> Placement:
        """The placement of an operand in a memory that it passes through."""
        return next(p for p in self.placements if p.operand == operand and p.memory == memory.name)

    def first_loop(self, level: int) -> int:
        """Number of loops outside those that make the blocks of `memories[level]`."""
        return sum(loop.level < level for loop in self.loops)

    def extents(self, depth: int) -> dict[Dim, int]:
        """Largest extent of each dimension inside the first `depth` loops."""
        extents = self.layer.extents
        for loop in self.loops[:depth]:
            extents[loop.dim] = loop.tile
        return extents

    def blocks(self, depth: int) -> Iterator[tuple[tuple[int, ...], dict[Dim, tuple[int, int]]]]:
        """Every iteration of the first `depth` loops, in order: its indices and each dimension's (start, extent)."""

        def walk(
            level: int, indices: tuple[int, ...], spans: dict[Dim, tuple[int, int]]
        ) -> Iterator[tuple[tuple[int, ...], dict[Dim, tuple[int, int]]]]:
            if level == depth:
                yield indices, spans
                return
            loop = self.loops[level]
            start, extent = spans[loop.dim]
            for index in range(-(-extent // loop.tile)):
                piece = min(loop.tile, extent - index * loop.tile)
                inner = {**spans, loop.dim: (start + index * loop.tile, piece)}
                yield from walk(level + 1, (*indices, index), inner)

        yield from walk(0, (), self.layer.spans)

    def buffers(self, memory: Memory) -> tuple[Buffer, ...]:
        """Where each operand's buffers lie in its room of a memory, in the order of `operands`.

        Partial sums and scratch come after those of the innermost memory's shared room. Of a group's constants it is
        where the first of them lie, and their bytes.
        """
        buffers: list[Buffer] = []
        used = {room: 0 for room, _ in memory.rooms}
        for operand in self.operands:
            if not memory.has(operand.name):
                continue
            placement, room = self.placement(operand.name, memory), memory.room(operand.name)
            if operand.role is Role.CONSTANT and memory != self.inner_memory:
                size = align(self.packed_bytes(operand, memory), memory.alignment)
            else:
                size = block_bytes(operand, self.extents(placement.depth), memory.alignment)
            offset = used[room]
            if self.plan is not None and memory == self.inner_memory:
                offset = self.plan.room(operand.name).offset
            buffers.append(Buffer(placement, offset, size))
            used[room] += size * placement.buffers
        return tuple(buffers)

    def packed_bytes(self, operand: Operand, memory: Memory) -> int:
        """Bytes of the largest block of constants in an outer memory.

        It holds the blocks of the innermost one, in the order in which they are fetched, each as long as the largest.
        """
        inner = self.inner_memory
        outermost, innermost = self.placement(operand.name, memory).depth, self.placement(operand.name, inner).depth
        extents, cuts = self.extents(outermost), self.loops[outermost:innermost]
        count = math.prod(parts(extents[dim], [loop.tile for loop in cuts if loop.dim is dim]) for dim in operand.dims)
        return count * block_bytes(operand, self.extents(innermost), inner.alignment)

    @property
    def partial_bytes(self) -> int:
        """Bytes of the partial sums of an output block, which lie in the innermost memory; 0 if no reduction is cut."""
        if all(loop.dim not in REDUCTIONS for loop in self.loops):
            return 0
        output = next(operand for operand in self.operands if operand.role is Role.OUTPUT)
        extents = self.extents(self.placement(output.name, self.inner_memory).depth)
        elements = sum(
            component_bytes(component, extents) // component.element_bytes for component in output.components
        )
        return output.partial_bytes * elements

    @property
    def partial_offset(self) -> int:
        """Byte offset of the partial sums in the shared room of the innermost memory: after the buffers."""
        memory = self.inner_memory
        return self._buffer_bytes(memory, memory.name)

    @property
    def scratch_offset(self) -> int:
        """Where a kernel's scratch begins in the innermost memory's shared room (bytes): after the partial sums."""
        return self.partial_offset + align(self.partial_bytes, self.inner_memory.alignment)

    def used_bytes(self, memory: Memory, room: str | None = None) -> int:
        """Bytes in use of a room of a memory, by default the shared one: buffers, partial sums and scratch."""
        room = memory.name if room is None else room
        if self.plan is not None and memory == self.inner_memory and room == memory.name:
            return align(self.plan.bytes, memory.alignment)
        if memory == self.inner_memory and room == memory.name:
            return self.scratch_offset + align(self.scratch, memory.alignment)
        return self._buffer_bytes(memory, room)

    def _buffer_bytes(self, memory: Memory, room: str) -> int:
        return sum(
            buffer.bytes * buffer.placement.buffers
            for buffer in self.buffers(memory)
            if memory.room(buffer.placement.operand) == room
        )

    @property
    def direct(self) -> bool:
        """Whether the kernel reads and writes main memory, since its module has no scratchpad."""
        return not self.memories

    @property
    def inner_memory(self) -> Memory:
        """The scratchpad that kernels read and write, where there is one."""
        return self.memories[-1]

    @property
    def alignment(self) -> int:
        """Bytes to which blocks are aligned that kernels read, and the components of constants in them."""
        return MAIN_ALIGNMENT if self.direct else self.inner_memory.alignment

    def kernel_depth(self, operand: str) -> int:
        """Number of the loops inside which the blocks of an operand are fetched that kernels read."""
        return 0 if self.direct else self.placement(operand, self.inner_memory).depth
