"""The packed constants of a layer as the inside of a C array that can be read: block by block, channel by channel."""

from __future__ import annotations

from collections.abc import Iterator

from match.dispatch.packed_constants import channel_bytes, component_offsets, fetch_order
from match.dispatch.plan import LayerPlan
from match.errors import ScheduleError
from match.ir.layer import Component, Dim, Role
from match.mapping.memory import block_bytes, component_bytes
from match.mapping.schedule import Schedule

_PER_LINE = 20
_DECIMAL = tuple(map(str, range(256)))


def packed_text(plan: LayerPlan) -> str:
    """Lines of bytes: each component of each block after a comment, each of its output channels on its own line."""
    return "\n".join(_blocks(plan))


def _blocks(plan: LayerPlan) -> Iterator[str]:
    schedule, data = plan.schedule, plan.constants
    operand = next(operand for operand in schedule.operands if operand.role is Role.CONSTANT)
    extents = schedule.extents(schedule.kernel_depth(operand.name))
    size = block_bytes(operand, extents, schedule.alignment)
    offsets = component_offsets(operand, schedule)
    start, inputs = 0, None
    for spans in fetch_order(operand, schedule):
        inputs = inputs or spans.get(Dim.C)
        whole = not inputs or spans[Dim.C][1] == inputs[1]  # the last range of input channels may be smaller
        ends = (*offsets[1:], size)
        for component, offset, end in zip(operand.components, offsets, ends, strict=True):
            part = data[start + offset : start + end]
            yield f"    /* {component.name}{_range({dim: spans[dim] for dim in operand.dims if dim in spans})} */"
            stride = _stride(component, schedule, component_bytes(component, extents)) if whole else 0
            yield from _lines(part, stride, spans[Dim.K])
        start += size


def _range(spans: dict[Dim, tuple[int, int]]) -> str:
    parts = ((Dim.K, "output channels"), (Dim.C, "input channels"))
    return "".join(f", {what} {spans[dim][0]} to {sum(spans[dim]) - 1}" for dim, what in parts if dim in spans)


def _stride(component: Component, schedule: Schedule, whole: int) -> int:
    """Bytes of one output channel; 0 where channels do not lie one after the other."""
    try:
        stride = channel_bytes(component, schedule)
    except ScheduleError:
        return 0
    dense = component.divisible and component.byte_group == 1
    return stride if stride and dense and whole % stride == 0 and component.axes[0].multiple == 1 else 0


def _lines(part: bytes, stride: int, channels: tuple[int, int]) -> Iterator[str]:
    pieces = [part[at * stride : (at + 1) * stride] for at in range(channels[1])] if stride else []
    rest = part[len(pieces) * stride :]
    for number, piece in enumerate(pieces, channels[0]):
        yield from _rows(piece, f"/* {number} */ ")
    yield from _rows(rest, "")


def _rows(piece: bytes, head: str) -> Iterator[str]:
    for at in range(0, len(piece), _PER_LINE):
        lead = head if at == 0 else ""
        yield f"    {lead}{', '.join([_DECIMAL[byte] for byte in piece[at : at + _PER_LINE]])},"
