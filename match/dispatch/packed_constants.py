"""The bytes of a layer's constant operand, block by block as the generated code fetches them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from match.errors import ScheduleError
from match.ir.constants import LayerConstants
from match.ir.layer import Component, Dim, Layer, Operand, Role
from match.mapping.memory import align, block_bytes, component_bytes
from match.mapping.schedule import Loop, Schedule
from match.target.hardware import HwModule
from match.target.layers import packer
from match.target.operands import Requantizers

Spans = dict[Dim, tuple[int, int]]


def component_offsets(operand: Operand, schedule: Schedule) -> tuple[int, ...]:
    """Byte offset of each component in a block of `operand`, the same in full and in partial blocks."""
    extents = schedule.extents(schedule.kernel_depth(operand.name))
    offsets = [0]
    for component in operand.components:
        offsets.append(offsets[-1] + align(component_bytes(component, extents), schedule.alignment))
    return tuple(offsets[:-1])


def block_dims(loops: Sequence[Loop]) -> tuple[Dim, Dim]:
    """The dimensions in which the blocks of constants differ that `loops` cut, outermost first."""
    cut = [loop.dim for loop in loops if loop.dim in (Dim.K, Dim.C)]
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
    modules: Sequence[HwModule],
    layer: Layer,
    requantizers: Requantizers,
    constants: Sequence[LayerConstants],
    schedule: Schedule,
) -> bytes:
    """Every distinct block of the constant operand once, in the order in which `schedule` first fetches them.

    A dimension that is cut twice counts as one loop, but the inner blocks of one outer block lie together.
    Each block takes `block_bytes`: its components at their `component_offsets`, with zeros after a smaller block.
    A component is packed tile by tile as kernels see it, each tile at the offset of its first channel. Requantization
    parameters are repeated for each range of input channels. The result is empty for a layer without constants.
    `modules`, `requantizers` and `constants` have one entry for each operator: one, or several for a chain or a group.

    Raises:
        TargetError: if the module packs other bytes for a component than its operand has.
        ScheduleError: if they do not lie together in a block.
    """
    operand = next((operand for operand in schedule.operands if operand.role is Role.CONSTANT), None)
    if operand is None:
        return b""
    depth = schedule.kernel_depth(operand.name)
    extents = schedule.extents(depth)
    size = block_bytes(operand, extents, schedule.alignment)
    offsets = component_offsets(operand, schedule)
    strides = tuple(channel_bytes(component, schedule) for component in operand.components)
    inner = tiles(schedule.loops[depth:], Dim.K)
    pack = packer(modules, layer, requantizers, constants)

    def block(spans: Spans) -> bytes:
        content = bytearray(size)
        start, extent = spans[Dim.K]
        for first, channels in pieces(start, extent, inner):
            packed = pack({**spans, Dim.K: (first, channels)})
            for component, offset, stride, part in zip(operand.components, offsets, strides, packed, strict=True):
                begin = offset + (first - start) * stride
                room = offset + component_bytes(component, extents) - begin
                if len(part) > room:
                    raise ScheduleError(
                        f"layer {layer.name}: module {modules[-1].name} packs {len(part)} bytes of {component.name} "
                        f"where there is room for {room}; tiles must be multiples of what lies together."
                    )
                content[begin : begin + len(part)] = part
        return bytes(content)

    return b"".join(block(spans) for spans in fetch_order(operand, schedule))


def fetch_order(operand: Operand, schedule: Schedule) -> Iterator[Spans]:
    """The spans of the blocks of constants, in the order in which they are packed."""
    memories = [memory for memory in schedule.memories if memory.has(operand.name)]
    depths = [schedule.placement(operand.name, memory).depth for memory in memories]

    def inside(spans: Spans, begin: int, depths: Sequence[int]) -> Iterator[Spans]:
        if not depths:
            yield spans
            return
        loops = [loop for loop in schedule.loops[begin : depths[0]] if loop.dim in operand.dims]
        slower, faster = block_dims(loops)
        for one in pieces(*spans[slower], tiles(loops, slower)):
            for other in pieces(*spans[faster], tiles(loops, faster)):
                yield from inside({**spans, slower: one, faster: other}, depths[0], depths[1:])

    return inside(schedule.layer.spans, 0, depths)


def tiles(loops: Sequence[Loop], dim: Dim) -> list[int]:
    """The tiles of those of `loops` that are over `dim`."""
    return [loop.tile for loop in loops if loop.dim is dim]


def pieces(start: int, extent: int, cuts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The innermost pieces (start, extent) of a range that loops over one dimension cut into tiles of `cuts`."""
    if not cuts:
        yield start, extent
        return
    for offset in range(0, extent, cuts[0]):
        yield from pieces(start + offset, min(cuts[0], extent - offset), cuts[1:])
