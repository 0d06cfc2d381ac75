"""Where a network lies and when, as an SVG picture: main memory by step, and below it what is in external memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

import numpy as np

from match.report.memory_table import KIB
from match.report.schema import MemoryPlanSummary, Report

_WIDTH, _LEFT, _RIGHT, _TOP = 1400, 90, 10, 40
_MAIN, _GAP, _OUTSIDE, _IMAGE, _NAMES = 420, 26, 130, 20, 150  # heights, of the external memory's at most
_CHARACTER = 6.5  # pixels, of the font's widest ordinary letters
_CALLERS = "inputs and outputs"

# The colours that Okabe and Ito chose to be told apart by everyone.
_COLOURS = {
    "activations": "#56b4e9",
    "constants that stay": "#e69f00",
    "constants on their way": "#f7f0a0",
    "constants in use": "#f0e442",
    "blocks": "#009e73",
    _CALLERS: "#bbbbbb",
}


@dataclass(frozen=True)
class _Area:
    """Bytes of a memory from the beginning of step `first` to the end of step `last`; `text` says what they are."""

    kind: str
    text: str
    first: int
    last: int
    offset: int
    bytes: int


def memory_picture(report: Report, memory: MemoryPlanSummary) -> str:
    """The plan of a report as SVG: a column for each step, a bar for what lies there, details under the pointer.

    Args:
        report: of a network that takes external memory.
        memory: its part about that.
    """
    main = report.target.main_memory
    scale = _MAIN / main.bytes
    base = _TOP + _MAIN
    outer = base + _GAP
    spilled = memory.external_bytes - memory.image_bytes
    outer_scale = min(scale, _OUTSIDE / spilled) if spilled else 0.0
    bottom = outer + round(spilled * outer_scale) + _IMAGE
    height = bottom + _NAMES
    inside = _in_main(report, memory)
    outside = _in_external(memory)
    image = f"{memory.image_bytes / KIB:.0f} KiB of constants"
    drawn = [
        *(_bar(area, memory, base - (area.offset + area.bytes) * scale, area.bytes * scale) for area in inside),
        *(
            _bar(area, memory, bottom - _IMAGE - (area.offset + area.bytes) * outer_scale, area.bytes * outer_scale)
            for area in outside
        ),
        _bar(
            _Area("constants that stay", image, 0, len(memory.steps) - 1, 0, memory.image_bytes),
            memory,
            bottom - _IMAGE,
            _IMAGE,
        ),
    ]
    title = f"{report.model.name} on {report.target.name}: what lies where in which step"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
            'font-size="11">',
            f'<rect class="page" width="{_WIDTH}" height="{height}" fill="white"/>',
            f'<text x="8" y="20" font-size="14">{escape(title)}</text>',
            *_legend(),
            *_scale(main.bytes, scale),
            *drawn,
            _line(_TOP, f"{main.name}: {main.bytes / KIB:.4g} KiB", "#d55e00"),
            _line(base, main.name, "#000000"),
            _line(bottom, memory.external_memory.name, "#000000"),
            *_names(memory, bottom),
            "</svg>\n",
        ]
    )


def _in_main(report: Report, memory: MemoryPlanSummary) -> Iterator[_Area]:
    last = len(memory.steps) - 1
    if memory.operator_bytes:
        yield _Area("constants that stay", "operators", 0, last, 0, memory.operator_bytes)
    for number, step in enumerate(memory.steps):
        size = step.constant_bytes
        if step.constants == "resident" and step.offset is not None:
            yield _Area("constants that stay", step.name, 0, last, step.offset, size)
        if step.fetched_at is not None and step.offset is not None:
            if step.fetched_at < number:
                yield _Area("constants on their way", step.name, step.fetched_at, number - 1, step.offset, size)
            yield _Area("constants in use", step.name, number, number, step.offset, size)
        if step.cut and step.block_offset is not None:
            yield _Area("blocks", step.name, number, number, step.block_offset, step.block_bytes)
    for tensor in memory.tensors:
        if not tensor.external:
            text = memory.steps[tensor.first].name
            yield _Area("activations", text, tensor.first, tensor.last, tensor.offset, tensor.bytes)
    callers = sum(
        math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize
        for tensor in (*report.model.inputs, *report.model.outputs)
    )
    yield _Area(_CALLERS, "the caller's", 0, last, report.target.main_memory.bytes - callers, callers)


def _in_external(memory: MemoryPlanSummary) -> Iterator[_Area]:
    for tensor in memory.tensors:
        if tensor.external:
            text, offset = memory.steps[tensor.first].name, tensor.offset - memory.image_bytes
            yield _Area("activations", text, tensor.first, tensor.last, offset, tensor.bytes)


def _column(memory: MemoryPlanSummary, step: int) -> float:
    return _LEFT + step * (_WIDTH - _LEFT - _RIGHT) / len(memory.steps)


def _bar(area: _Area, memory: MemoryPlanSummary, y: float, height: float) -> str:
    x, end = _column(memory, area.first), _column(memory, area.last + 1)
    names = [memory.steps[number].name for number in (area.first, area.last)]
    when = f"in {names[0]}" if area.first == area.last else f"from {names[0]} to {names[1]}"
    where = "" if area.kind == _CALLERS else f" at {area.offset}"
    text = escape(f"{area.kind}, {area.text}: {area.bytes} bytes{where}, {when}")
    shape = (
        f'<rect class="{area.kind}" x="{x:.2f}" y="{y:.2f}" width="{end - x:.2f}" height="{max(0.5, height):.2f}" '
        f'fill="{_COLOURS[area.kind]}" stroke="white" stroke-width="0.3"><title>{text}</title></rect>'
    )
    if height < 11 or _CHARACTER * len(area.text) > end - x:
        return shape
    return f'{shape}<text x="{x + 3:.2f}" y="{y + height / 2 + 4:.2f}" pointer-events="none">{escape(area.text)}</text>'


def _legend() -> Iterator[str]:
    x = float(_WIDTH - _RIGHT)
    for name, colour in reversed(_COLOURS.items()):
        x -= _CHARACTER * len(name) + 20
        yield f'<circle cx="{x:.1f}" cy="16" r="5" fill="{colour}"/><text x="{x + 9:.1f}" y="20">{name}</text>'


def _scale(size: int, scale: float) -> Iterator[str]:
    """Horizontal lines at round sizes."""
    step = 1 << max(0, math.ceil(math.log2(size / 8)))
    for offset in range(step, size, step):
        y = _TOP + _MAIN - offset * scale
        if y > _TOP + 14:
            yield _line(y, f"{offset / KIB:g} KiB", "#dddddd")


def _line(y: float, text: str, colour: str) -> str:
    letters = "#666666" if colour == "#dddddd" else colour
    return (
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="{letters}">{escape(text)}</text>'
    )


def _names(memory: MemoryPlanSummary, y: int) -> Iterator[str]:
    """Names of the steps, upwards, as far as there is room."""
    most = int((_NAMES - 12) / _CHARACTER)
    for number, step in enumerate(memory.steps):
        x = (_column(memory, number) + _column(memory, number + 1)) / 2 + 4
        name = step.name if len(step.name) <= most else f"…{step.name[1 - most :]}"
        yield (
            f'<text x="{x:.1f}" y="{y + 8}" text-anchor="end" transform="rotate(-90 {x:.1f} {y + 8})" '
            f'fill="#444444">{escape(name)}</text>'
        )
