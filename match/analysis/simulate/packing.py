"""How a layer's constants lie in the memories outside the innermost one: in pieces, one after the other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from match.ir.layer import Dim, Operand
from match.mapping.memory import Memory
from match.mapping.schedule import Loop, Schedule
from match.prediction.blocks import Span, block_of
from match.target.cost import Block

Spans = Mapping[Dim, Span]


class ConstantPacking:
    """How constants lie in a block of the memory outside of a stream: pieces, which the innermost memory holds at once.

    Pieces are equally long. The blocks that loops cut lie one after the other, those of the dimension that is cut first
    further apart, so in the order of first fetch unless a dimension is cut again inside another one.
    """

    def __init__(self, schedule: Schedule, operand: Operand, outside: int, depth: int) -> None:
        innermost = schedule.placement(operand.name, schedule.inner_memory).depth
        self.whole: Spans = schedule.layer.spans
        self._operand = operand
        self._blocks = [loop for loop in schedule.loops[outside:depth] if loop.dim in operand.dims]
        self._pieces = schedule.loops[depth:innermost]
        self._piece = block_of(operand, self.whole, schedule.extents(innermost), schedule.inner_memory)
        self._offsets: dict[tuple[Span, ...], int] = {}

    def block(self, spans: Spans, memory: Memory) -> Block:
        """The transfer of the pieces of a block into a memory."""
        piece = self._piece
        axes = self._operand.components[0].axes
        shape = tuple(length * self._parts(axis.dim, spans) for axis, length in zip(axes, piece.shape, strict=True))
        return piece._replace(shape=shape, bytes=piece.bytes * self._count(spans), memory=memory.name)

    def offset(self, spans: Spans, outside: Spans) -> int:
        """Bytes that lie before a block in the block that covers `outside`."""
        order = list(dict.fromkeys(loop.dim for loop in self._blocks))
        wanted = tuple(spans[dim] for dim in order)
        key = wanted + tuple(outside[dim] for dim in order)
        if key not in self._offsets:
            cuts = (_cut(outside[dim], self._blocks, dim) for dim in order)
            before = itertools.takewhile(lambda block: block != wanted, itertools.product(*cuts))
            pieces = sum(self._count({**outside, **dict(zip(order, block, strict=True))}) for block in before)
            self._offsets[key] = pieces * self._piece.bytes
        return self._offsets[key]

    def _count(self, spans: Spans) -> int:
        return math.prod(self._parts(dim, spans) for dim in self._operand.dims)

    def _parts(self, dim: Dim, spans: Spans) -> int:
        return len(_cut(spans[dim], self._pieces, dim))


def _cut(span: Span, loops: Sequence[Loop], dim: Dim) -> list[Span]:
    """What loops, those over other dimensions aside, cut a range into."""
    spans = [span]
    for loop in loops:
        if loop.dim is dim:
            spans = [
                (begin, min(loop.tile, start + extent - begin))
                for start, extent in spans
                for begin in range(start, start + extent, loop.tile)
            ]
    return spans
