"""What lies in each memory during which steps of a network, in the order in which its picture shows the memories."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from match.errors import InputError
from match.report.memory import main_memory_use
from match.report.schema import LayerSummary, MemoryPlanSummary, Report, RoomKind, ScheduleSummary

CALLERS = "inputs and outputs"
PROGRAM = "the program"
STATES = "states"
SCRATCH = "the kernel's own"
_STAY, _ACTIVATIONS = "constants that stay", "activations"
_ROOMS: Mapping[RoomKind, str] = MappingProxyType(
    {"input": "input", "constants": "weights", "output": "output", "scratch": SCRATCH}
)


@dataclass(frozen=True)
class Area:
    """Bytes of a memory from step `first` to step `last`; `text` says what they are.

    label: what is written on them, if not `text`. placed: whether `offset` is their address in the memory.
    begin, end: the share of step `first` that is over when they are taken, and that of step `last` when they are free.
    """

    kind: str
    text: str
    first: int
    last: int
    offset: int
    bytes: int
    label: str = ""
    placed: bool = True
    begin: float = 0
    end: float = 1

    @property
    def in_part(self) -> bool:
        """Whether they are in use during a part of a step."""
        return self.begin > 0 or self.end < 1

    def is_taken(self, step: int, moment: float) -> bool:
        """Whether the bytes are in use when a share of a step is over."""
        return (self.first, self.begin) <= (step, moment) and (step, moment) < (self.last, self.end)


@dataclass(frozen=True)
class MemoryAreas:
    """A memory of `size` bytes, and what lies in it, in the first `used` bytes of the picture."""

    name: str
    size: int
    used: int
    areas: tuple[Area, ...]


@dataclass(frozen=True)
class NetworkAreas:
    """The steps of a network by name, what lies in its memories, and bytes of constants in external memory.

    `others` are the scratchpads and, where there is some, flash.
    """

    steps: tuple[str, ...]
    main: MemoryAreas
    external: MemoryAreas | None
    image_bytes: int
    others: tuple[MemoryAreas, ...]


def with_image(network: NetworkAreas) -> MemoryAreas | None:
    """External memory with the constants that lie there all the time, in front of what comes and goes."""
    external, image = network.external, network.image_bytes
    if external is None or not image:
        return external
    constants = Area(_STAY, "fetched when they are due", 0, len(network.steps) - 1, 0, image)
    others = (replace(area, offset=image + area.offset) for area in external.areas)
    return MemoryAreas(external.name, external.size, image + external.used, (constants, *others))


def held(areas: Sequence[Area], step: int) -> int:
    """The most bytes in use at once in a step; an operator's own arrays may take turns at the same place."""
    own = [area for area in areas if area.first <= step <= area.last]
    moments = {0.0, *(area.begin for area in own if area.first == step)}
    return max(_union([area for area in own if area.is_taken(step, moment)]) for moment in moments)


def _union(areas: Sequence[Area]) -> int:
    """Bytes that some areas take together, those that lie over each other once."""
    total = end = 0
    for begin, behind in sorted((area.offset, area.offset + area.bytes) for area in areas):
        total += max(0, behind - max(begin, end))
        end = max(end, behind)
    return total


def network_areas(report: Report) -> NetworkAreas:
    """What lies where.

    Raises:
        InputError: if the report does not say, because an older version of the compiler wrote it.
    """
    if isinstance(report.memory, MemoryPlanSummary):
        return planned_areas(report, report.memory)
    workspace, totals = report.workspace, report.totals
    if workspace is None:
        raise InputError("the report does not say where tensors lie in memory; compile the model again.")
    last = len(workspace.steps) - 1
    constants = tuple(_constants(report, workspace.operator_bytes, last))
    flash = report.target.flash
    areas = [*constants] if flash is None else []
    end = sum(area.bytes for area in areas)
    areas += [
        Area(_ACTIVATIONS, workspace.steps[b.first], b.first, b.last, end + b.offset, b.bytes, placed=False)
        for b in workspace.buffers
    ]
    end += workspace.bytes
    for area in _states(report, last, end):
        areas.append(area)
        end += area.bytes
    areas.append(Area(CALLERS, "the caller's", 0, last, end, totals.l2_peak_bytes - end, placed=False))
    memory, others = report.target.main_memory, tuple(_scratchpads(report, workspace.steps))
    if flash is None:
        areas += _program(report, totals.l2_peak_bytes, last)
    else:
        stay = (*constants, *_program(report, totals.constant_bytes, last))
        others = (*others, MemoryAreas(flash.name, flash.bytes, totals.constant_bytes + totals.program_bytes, stay))
    main = MemoryAreas(memory.name, memory.bytes, sum(main_memory_use(report)), tuple(areas))
    return NetworkAreas(workspace.steps, main, None, 0, others)


def _constants(report: Report, operators: int, last: int) -> Iterator[Area]:
    """Those of operators on the control core, so many bytes, and of each layer, one after the other."""
    end = 0
    layers = ((layer.name, layer.constant_bytes) for layer in report.layers)
    for name, size in (("operators", operators), *layers):
        if size:
            yield Area(_STAY, name, 0, last, end, size, placed=False)
            end += size


def planned_areas(report: Report, memory: MemoryPlanSummary) -> NetworkAreas:
    """What lies where in the plan of a network that takes external memory."""
    steps = tuple(step.name for step in memory.steps)
    main, outside = report.target.main_memory, memory.external_memory
    return NetworkAreas(
        steps,
        MemoryAreas(main.name, main.bytes, main.bytes, tuple(_in_main(report, memory))),
        MemoryAreas(
            outside.name,
            outside.bytes,
            memory.external_bytes - memory.image_bytes,
            tuple(_in_external(memory)),
        ),
        memory.image_bytes,
        tuple(_scratchpads(report, steps)),
    )


def _in_main(report: Report, memory: MemoryPlanSummary) -> Iterator[Area]:
    last = len(memory.steps) - 1
    if memory.operator_bytes:
        yield Area(_STAY, "operators", 0, last, 0, memory.operator_bytes)
    for number, step in enumerate(memory.steps):
        size = step.constant_bytes
        if step.constants == "resident" and step.offset is not None:
            yield Area(_STAY, step.name, 0, last, step.offset, size)
        if step.fetched_at is not None and step.offset is not None:
            if step.fetched_at < number:
                yield Area("constants on their way", step.name, step.fetched_at, number - 1, step.offset, size)
            yield Area("constants in use", step.name, number, number, step.offset, size)
        if step.cut and step.block_offset is not None:
            yield Area("blocks", step.name, number, number, step.block_offset, step.block_bytes)
    for tensor in memory.tensors:
        if not tensor.external:
            text = memory.steps[tensor.first].name
            yield Area(_ACTIVATIONS, text, tensor.first, tensor.last, tensor.offset, tensor.bytes)
    callers = sum(
        math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize
        for tensor in (*report.model.inputs, *report.model.outputs)
    )
    kept = sum(state.bytes for state in report.model.states)
    end = report.target.main_memory.bytes - report.totals.program_bytes
    yield from _states(report, last, end - callers - kept)
    yield Area(CALLERS, "the caller's", 0, last, end - callers, callers, placed=False)
    yield from _program(report, end, last)


def _states(report: Report, last: int, offset: int) -> Iterator[Area]:
    """What stays in contexts of the network, from `offset` on."""
    for state in report.model.states:
        yield Area(STATES, state.name, 0, last, offset, state.bytes, placed=False)
        offset += state.bytes


def _program(report: Report, offset: int, last: int) -> Iterator[Area]:
    if report.totals.program_bytes:
        yield Area(PROGRAM, "estimated", 0, last, offset, report.totals.program_bytes, placed=False)


def _in_external(memory: MemoryPlanSummary) -> Iterator[Area]:
    for tensor in memory.tensors:
        if tensor.external:
            text, offset = memory.steps[tensor.first].name, tensor.offset - memory.image_bytes
            yield Area(_ACTIVATIONS, text, tensor.first, tensor.last, offset, tensor.bytes)


def _scratchpads(report: Report, steps: Sequence[str]) -> Iterator[MemoryAreas]:
    """The memories of modules that layers use, with each layer's buffers one above the other, both of a pair."""
    layers = {layer.name: layer for layer in report.layers}
    sizes: dict[str, int] = {}
    for module in report.target.modules:
        for memory in module.memories:
            sizes[memory.name] = max(memory.bytes, sizes.get(memory.name, 0))
    sizes.pop(report.target.main_memory.name, None)
    for memory, size in sizes.items():
        areas = [a for n, name in enumerate(steps) if name in layers for a in _buffers(layers[name], n, memory)]
        if areas:
            used = max(area.offset + area.bytes for area in areas)
            yield MemoryAreas(memory, size, used, tuple(areas))


def _buffers(layer: LayerSummary, number: int, memory: str) -> Iterator[Area]:
    if layer.schedule is None:
        return
    innermost = layer.schedule.memories[-1].name if layer.schedule.memories else None
    if layer.schedule.rooms:
        yield from _rooms(layer, layer.schedule, number) if memory == innermost else ()
        return
    end = 0
    for operand in layer.schedule.operands:
        for buffer in operand.buffers:
            if buffer.memory == memory:
                for _ in range(buffer.buffers):
                    yield Area(operand.name, layer.name, number, number, end, buffer.bytes, operand.name, placed=False)
                    end += buffer.bytes
    if layer.schedule.scratch_bytes and memory == innermost:
        yield Area(SCRATCH, layer.name, number, number, end, layer.schedule.scratch_bytes, SCRATCH, placed=False)


def _rooms(layer: LayerSummary, schedule: ScheduleSummary, number: int) -> Iterator[Area]:
    """What a group's plan sets apart, while its kernel calls take the step from left to right."""
    moments = 2 * schedule.kernel_calls + 1
    for room in schedule.rooms:
        operator = layer.operators[room.operator]
        yield Area(
            _ROOMS[room.kind],
            layer.name,
            number,
            number,
            room.offset,
            room.bytes,
            f"{operator.op} {operator.source}".rstrip(),
            begin=room.first / moments,
            end=(room.last + 1) / moments,
        )
