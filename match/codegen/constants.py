"""The bytes of a layer's constant operand, block by block as the generated code fetches them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from match.errors import ScheduleError
from match.hardware import HwModule, LayerConstants
from match.layer import Component, Dim, Layer, Operand, Role
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


def block_dims(schedule: Schedule, depth: int) -> tuple[Dim, Dim]:
    """The dimensions that blocks of constants inside the first `depth` loops differ in, the outermost one first."""
    cut = [loop.dim for loop in schedule.loops[:depth] if loop.dim in (Dim.K, Dim.C)]
    return (Dim.C, Dim.K) if cut[:1] == [Dim.C] else (Dim.K, Dim.C)


def channel_bytes(component: Component, schedule: Schedule) -> int:
    """Bytes from one output channel of a tile of a component to the next; 0 where all channels share it.

    Raises:
        ScheduleError: if output channels are not its slowest axis, so that a tile of them is not contiguous.
    """
    if all(axis.dim is not Dim.K for axis in component.axes):
        return 0
    if component.axes[0].dim is not Dim.K:
        raise ScheduleError(
            f"layer {schedule.layer.name}: {component.name} must have output channels as its slowest axis, so that "
            f"those of a tile lie together."
        )
    return component_bytes(replace(component, axes=component.axes[1:]), schedule.extents(len(schedule.loops)))


def pack_constants(
    module: HwModule,
    layer: Layer,
    requantizer: Requantizer | None,
    constants: LayerConstants,
    schedule: Schedule,
) -> bytes:
    """Every distinct block of the constant operand once, in the order in which `schedule` first fetches them.

    Where a dimension is cut more than once, all of its pieces count as one loop. Each block takes `block_bytes`: its
    components at their `component_offsets`, zeros behind what a smaller block needs. A component is packed tile by tile
    as kernels see it, each where its first channel lies; requantization parameters come again with each range of input
    channels. Empty for a layer without constants.

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
    strides = tuple(channel_bytes(component, schedule) for component in operand.components)
    inner = [loop.tile for loop in schedule.loops[depth:] if loop.dim is Dim.K]
    whole = {dim: (0, layer.size(dim)) for dim in Dim}

    def block(spans: dict[Dim, tuple[int, int]]) -> bytes:
        content = bytearray(size)
        start, extent = spans[Dim.K]
        for first, channels in pieces(start, extent, inner):
            packed = module.pack(layer, requantizer, constants, {**spans, Dim.K: (first, channels)})
            for component, offset, stride, part in zip(operand.components, offsets, strides, packed, strict=True):
                begin = offset + (first - start) * stride
                room = offset + component_bytes(component, extents) - begin
                if len(part) > room:
                    raise ScheduleError(
                        f"layer {layer.name}: module {module.name} packs {len(part)} bytes of {component.name} where "
                        f"there is room for {room}; its operands and its packing disagree."
                    )
                content[begin : begin + len(part)] = part
        return bytes(content)

    slower, faster = (
        (dim, [loop.tile for loop in schedule.loops[:depth] if loop.dim is dim]) for dim in block_dims(schedule, depth)
    )
    return b"".join(
        block({**whole, slower[0]: one, faster[0]: other})
        for one in pieces(0, layer.size(slower[0]), slower[1])
        for other in pieces(0, layer.size(faster[0]), faster[1])
    )


def pieces(start: int, extent: int, tiles: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The innermost (start, extent) that loops over one dimension, each with its tile, cut a range into."""
    if not tiles:
        yield start, extent
        return
    for offset in range(0, extent, tiles[0]):
        yield from pieces(start + offset, min(tiles[0], extent - offset), tiles[1:])
