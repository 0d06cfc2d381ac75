"""The constants of a group in parts, so that no operator waits for the constants of later operators."""

from __future__ import annotations

from typing import NamedTuple

from match.ir.group import first_readers
from match.ir.layer import Layer, Operand
from match.mapping.schedule import Memory, align, component_bytes

MOST_FETCHES = 14
"""Tensors from outside and parts of constants that a group may have: generated code serves 16 blocks."""

MOST_PARTS = 8

PART_BYTES = 4096
"""Bytes of the smallest part but the last: to issue a smaller transfer takes more cycles than it saves."""


class ConstantPart(NamedTuple):
    """Constants of consecutive operators of a group, fetched by one transfer.

    operator: number of the first operator that reads the part. components: how many components of the operand it has.
    start: its offset in the operand's block, in bytes. bytes: its size.
    """

    operator: int
    components: int
    start: int
    bytes: int


def constant_parts(layer: Layer, operand: Operand, memory: Memory) -> tuple[ConstantPart, ...]:
    """The parts of a group's constants, in the order of its operators.

    All constants of an operator are in one part. All parts but the last have at least `PART_BYTES`.
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
