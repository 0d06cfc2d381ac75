"""`Schedule`: the temporal mapping of one layer onto a module's memories.

The layer lives in the outermost memory. Outer loops cut it into tiles; each operand has one placement per memory below
the outermost, which says inside how many of the loops its block is fetched (or, for the output, written back) and with
how many buffers. An operand that depends on none of the inner loops is placed further out than the others and stays
while they stream. Cost, simulation, code generation and the report all read this one object, and one that does not fit
its memories cannot be built.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from match.errors import ScheduleError
from match.layer import Component, Dim, Layer, Operand


@dataclass(frozen=True)
class Memory:
    """One level of scratchpad: `size` and `alignment` in bytes."""

    name: str
    size: int
    alignment: int = 4


@dataclass(frozen=True)
class Loop:
    """An outer loop: splits `extent` iterations of `dim` into pieces of `tile`; the last piece may be smaller."""

    dim: Dim
    tile: int
    extent: int

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


def align(size: int, alignment: int) -> int:
    """`size` rounded up to a multiple of `alignment`."""
    return -(-size // alignment) * alignment


def component_bytes(component: Component, extents: Mapping[Dim, int]) -> int:
    """Bytes of the largest block of a component when the loops leave `extents` of each dimension."""
    return component.element_bytes * math.prod(axis.length(extents[axis.dim]) for axis in component.axes)


def block_bytes(operand: Operand, extents: Mapping[Dim, int], alignment: int) -> int:
    """Bytes that one buffer of an operand takes: its components, each rounded up to `alignment`."""
    return sum(align(component_bytes(component, extents), alignment) for component in operand.components)


@dataclass(frozen=True)
class Buffer:
    """A byte range of a memory: `buffers` copies of `bytes` each, from `offset`."""

    placement: Placement
    offset: int
    bytes: int


@dataclass(frozen=True)
class Schedule:
    """A checked mapping onto `memories`, outermost first, the one that holds the whole layer left out.

    Loops run outermost first. `scratch` bytes of the innermost memory are the kernel's own. Raises ScheduleError on
    construction when a loop or placement contradicts the layer or the blocks do not fit.
    """

    layer: Layer
    operands: tuple[Operand, ...]
    memories: tuple[Memory, ...]
    loops: tuple[Loop, ...]
    placements: tuple[Placement, ...]
    scratch: int = 0

    def __post_init__(self) -> None:
        seen: dict[Dim, int] = {dim: self.layer.size(dim) for dim in Dim}
        for loop in self.loops:
            if loop.extent != seen[loop.dim] or not 0 < loop.tile < loop.extent:
                raise ScheduleError(
                    f"layer {self.layer.name}: loop over {loop.dim} splits {loop.extent} into tiles of {loop.tile}, "
                    f"but {seen[loop.dim]} iterations are left for it; tiles must be smaller and at least 1."
                )
            seen[loop.dim] = loop.tile
        wanted = sorted((o.name, m.name) for o in self.operands for m in self.memories)
        if sorted((p.operand, p.memory) for p in self.placements) != wanted:
            raise ScheduleError(f"layer {self.layer.name}: each operand needs exactly one placement in each memory.")
        for placement in self.placements:
            if not 0 <= placement.depth <= len(self.loops) or placement.buffers not in (1, 2):
                raise ScheduleError(
                    f"layer {self.layer.name}: operand {placement.operand} is placed at depth {placement.depth} with "
                    f"{placement.buffers} buffers; depth goes from 0 to {len(self.loops)}, buffers are 1 or 2."
                )
            if placement.depth and self.loops[placement.depth - 1].dim not in self.operand(placement.operand).dims:
                raise ScheduleError(
                    f"layer {self.layer.name}: operand {placement.operand} does not depend on the loop it is fetched "
                    f"in; place it further out."
                )
            if any(
                loop.dim in self.operand(placement.operand).indivisible_dims for loop in self.loops[placement.depth :]
            ):
                raise ScheduleError(
                    f"layer {self.layer.name}: a loop cuts operand {placement.operand} inside its block, whose layout "
                    f"cannot be divided; fetch it inside that loop."
                )
        for memory in self.memories:
            if self.used_bytes(memory) > memory.size:
                raise ScheduleError(
                    f"layer {self.layer.name}: the mapping needs {self.used_bytes(memory)} bytes of {memory.name}, "
                    f"which has {memory.size}; use smaller tiles."
                )

    def operand(self, name: str) -> Operand:
        """The operand called `name`."""
        return next(operand for operand in self.operands if operand.name == name)

    def placement(self, operand: str, memory: Memory) -> Placement:
        """The placement of an operand in a memory."""
        return next(p for p in self.placements if p.operand == operand and p.memory == memory.name)

    def extents(self, depth: int) -> dict[Dim, int]:
        """Largest extent of each dimension inside the first `depth` loops."""
        extents = {dim: self.layer.size(dim) for dim in Dim}
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

        yield from walk(0, (), {dim: (0, self.layer.size(dim)) for dim in Dim})

    def buffers(self, memory: Memory) -> tuple[Buffer, ...]:
        """Where each operand's buffers lie in a memory, in the order of `operands`; scratch comes after them."""
        buffers: list[Buffer] = []
        offset = 0
        for operand in self.operands:
            placement = self.placement(operand.name, memory)
            size = block_bytes(operand, self.extents(placement.depth), memory.alignment)
            buffers.append(Buffer(placement, offset, size))
            offset += size * placement.buffers
        return tuple(buffers)

    def scratch_offset(self, memory: Memory) -> int:
        """Byte offset of the first byte behind the buffers; in the innermost memory the kernel's scratch lies there."""
        return sum(buffer.bytes * buffer.placement.buffers for buffer in self.buffers(memory))

    def used_bytes(self, memory: Memory) -> int:
        """Bytes of a memory in use: all buffers and, in the innermost one, the scratch."""
        scratch = self.scratch if memory == self.memories[-1] else 0
        return self.scratch_offset(memory) + align(scratch, memory.alignment)

    @property
    def inner_memory(self) -> Memory:
        """The memory that kernels read and write."""
        return self.memories[-1]
