"""The constants of a group in parts: an operator need not wait for those of the operators behind it."""

from __future__ import annotations

from typing import NamedTuple

from match.ir.group import first_readers
from match.ir.layer import Layer, Operand
from match.mapping.schedule import Memory, align, component_bytes

MOST_FETCHES = 14
"""Tensors from outside and parts of constants that a group may have: generated code serves 16 blocks."""

MOST_PARTS = 8

PART_BYTES = 4096
"""A smaller part costs more to issue than the wait for it takes."""


class ConstantPart(NamedTuple):
    """Constants of operators in a row, which one transfer fetches.

    operator: the first that reads them. components: their number. start: bytes in front of them. bytes: theirs.
    """

    operator: int
    components: int
    start: int
    bytes: int


def constant_parts(layer: Layer, operand: Operand, memory: Memory) -> tuple[ConstantPart, ...]:
    """The parts of the constants of a group on one memory, in the order of their operators.

    A part ends with an operator, and has at least `PART_BYTES`, but for the last one.
    """
    sizes = [align(component_bytes(component, layer.extents), memory.alignment) for component in operand.components]
    whole = ConstantPart(operand.components[0].operator, len(sizes), 0, sum(sizes))
    most = max(1, min(MOST_PARTS, MOST_FETCHES - len(first_readers(layer.links))))
    least = max(PART_BYTES, -(-whole.bytes // most))
    parts = [whole._replace(components=0, bytes=0)]
    before = whole.operator
    for component, size in zip(operand.components, sizes, strict=True):
        part = parts[-1]
        if component.operator != before and part.bytes >= least:
            parts.append(ConstantPart(component.operator, 0, part.start + part.bytes, 0))
        part = parts[-1]
        parts[-1] = part._replace(components=part.components + 1, bytes=part.bytes + size)
        before = component.operator
    return tuple(parts)
