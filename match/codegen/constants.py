"""The bytes of a layer's constant operand, block by block as the generated code fetches them."""

from __future__ import annotations

from match.errors import ScheduleError
from match.hardware import HwModule, LayerConstants
from match.layer import Axis, Component, Dim, Layer, Operand, Role
from match.requantize import Requantizer
from match.schedule.mapping import Schedule, align, block_bytes, component_bytes


def component_offsets(operand: Operand, schedule: Schedule) -> tuple[int, ...]:
    """Byte offset of each component in a block of `operand`, the same in full and in partial blocks."""
    memory = schedule.inner_memory
    extents = schedule.extents(schedule.placement(operand.name, memory).depth)
    offsets = [0]
    for component in operand.components:
        offsets.append(offsets[-1] + align(component_bytes(component, extents), memory.alignment))
    return tuple(offsets[:-1])


def channel_bytes(component: Component, schedule: Schedule) -> int:
    """Bytes between neighbouring output channels of a component; 0 where it has no such axis.

    Raises:
        ScheduleError: if a tile of output channels would not be contiguous because another axis is slower.
    """
    slower: list[Axis] = []
    for position, axis in enumerate(component.axes):
        if axis.dim is Dim.K:
            inner = Component(component.name, component.axes[position + 1 :], component.element_bytes)
            if slower:
                raise ScheduleError(
                    f"layer {schedule.layer.name}: {component.name} must have output channels as its slowest axis."
                )
            return component_bytes(inner, schedule.extents(0))
        slower.append(axis)
    return 0


def pack_constants(
    module: HwModule,
    layer: Layer,
    requantizer: Requantizer | None,
    constants: LayerConstants,
    schedule: Schedule,
) -> bytes:
    """Every distinct block of the constant operand once, in the order in which `schedule` first fetches them.

    Each block takes `block_bytes`: its components at their `component_offsets`, zeros behind what a smaller block needs.
    Empty for a layer without constants.

    Raises:
        ScheduleError: if the module packs more bytes for a component than its operand declares.
    """
    operand = next((operand for operand in schedule.operands if operand.role is Role.CONSTANT), None)
    if operand is None:
        return b""
    memory = schedule.inner_memory
    depth = schedule.placement(operand.name, memory).depth
    extents = schedule.extents(depth)
    size = block_bytes(operand, extents, memory.alignment)
    offsets = component_offsets(operand, schedule)
    blocks: dict[tuple[tuple[int, int], ...], bytes] = {}
    for _, spans in schedule.blocks(depth):
        key = tuple(spans[dim] for dim in sorted(operand.dims))
        if key in blocks:
            continue
        block = bytearray(size)
        packed = module.pack(layer, requantizer, constants, spans)
        for component, offset, content in zip(operand.components, offsets, packed, strict=True):
            room = component_bytes(component, extents)
            if len(content) > room:
                raise ScheduleError(
                    f"layer {layer.name}: module {module.name} packs {len(content)} bytes of {component.name} "
                    f"into a block that holds {room}; its operands and its packing disagree."
                )
            block[offset : offset + len(content)] = content
        blocks[key] = bytes(block)
    return b"".join(blocks.values())
