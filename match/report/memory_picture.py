"""Where a network lies and when, as an SVG picture: a column for each step, a panel for each memory.

Rectangles and text alone: matplotlib would be a dependency of 30 MB that takes a second to import, for the same lines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from match.report.memory_areas import CALLERS, PROGRAM, SCRATCH, STATES, Area, MemoryAreas, NetworkAreas, held
from match.report.memory_table import KIB

_LEFT, _RIGHT, _TOP = 90, 10, 30
_LEAST_WIDTH, _COLUMN = 1400, 24  # of the picture, of a step at least
_MAIN, _OUTSIDE, _SCRATCHPAD, _IMAGE, _NAMES = 420, 130, 170, 20, 170  # heights, of the external memory's at most
_HEADING, _GAP = 22, 14
_CHARACTER = 6.5  # pixels, of the font's widest ordinary letters
_PEAK = "#d55e00"

# The colours that Okabe and Ito chose to be told apart by everyone.
_COLOURS = {
    "activations": "#56b4e9",
    "constants that stay": "#e69f00",
    "constants on their way": "#f7f0a0",
    "constants in use": "#f0e442",
    "blocks": "#009e73",
    STATES: "#0072b2",
    CALLERS: "#bbbbbb",
    PROGRAM: "#dddddd",
    "input": "#56b4e9",
    "addend": "#0072b2",
    "weights": "#e69f00",
    "output": "#009e73",
    SCRATCH: "#bbbbbb",
}
_OTHER = "#cc79a7"


@dataclass(frozen=True)
class _Panel:
    """A memory in the picture: the bytes that are used of it from `top` to `base`, in pixels."""

    memory: MemoryAreas
    top: float
    base: float

    def y(self, offset: float) -> float:
        return self.base - offset * (self.base - self.top) / max(1, self.memory.used)


def memory_picture(title: str, network: NetworkAreas) -> str:
    """A network's memories as SVG: a bar for what lies there, details under the pointer, the fullest step framed."""
    width = max(_LEAST_WIDTH, _LEFT + _RIGHT + _COLUMN * len(network.steps))
    columns = _Columns(width, network.steps)
    panels, image_at, bottom = _panels(network)
    height = bottom + _NAMES
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" font-family="sans-serif" '
            'font-size="11">',
            f'<rect class="page" width="{width}" height="{height:.0f}" fill="white"/>',
            f'<text x="8" y="20" font-size="14">{escape(title)}</text>',
            *(line for panel in panels for line in _drawn(panel, columns)),
            *(_image(network, columns, image_at) if network.external else ()),
            *columns.names(bottom),
            "</svg>\n",
        ]
    )


def _panels(network: NetworkAreas) -> tuple[list[_Panel], float, float]:
    """The panels from above, where the constants in external memory are drawn, and where all ends."""
    y = float(_TOP)
    panels: list[_Panel] = []

    def add(memory: MemoryAreas, height: float) -> None:
        nonlocal y
        panels.append(_Panel(memory, y + _HEADING, y + _HEADING + height))
        y += _HEADING + height + _GAP

    add(network.main, _MAIN)
    image_at = y
    if network.external:
        if network.external.used:
            add(
                network.external,
                min(_OUTSIDE, _MAIN * network.external.used / network.main.used),
            )
        image_at = y
        y += _IMAGE + _GAP
    for other in network.others:
        add(other, _SCRATCHPAD)
    return panels, image_at, y


def _short(name: str) -> str:
    """As much of a step's name as there is room for; what TVM's functions do begins after "fused"."""
    name = name.partition("_fused_")[2] or name
    most = int((_NAMES - 12) / _CHARACTER)
    return name if len(name) <= most else f"{name[: most - 1]}…"


class _Columns:
    """Where steps are from left to right."""

    def __init__(self, width: int, steps: Sequence[str]) -> None:
        self.steps = steps
        self.right = width - _RIGHT
        self._each = (self.right - _LEFT) / max(1, len(steps))

    def x(self, step: float) -> float:
        return _LEFT + step * self._each

    def names(self, y: float) -> Iterator[str]:
        """Names of the steps, upwards, as far as there is room."""
        for number, step in enumerate(self.steps):
            x = (self.x(number) + self.x(number + 1)) / 2 + 4
            yield (
                f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="end" transform="rotate(-90 {x:.1f} {y:.1f})" '
                f'fill="#444444">{escape(_short(step))}</text>'
            )


def _drawn(panel: _Panel, columns: _Columns) -> Iterator[str]:
    memory = panel.memory
    yield f'<g id="{escape(memory.name)}">'
    in_use = [held(memory.areas, step) for step in range(len(columns.steps))]
    peak = max(in_use, default=0)
    at = in_use.index(peak) if peak else 0
    text = f"{memory.name}, {memory.size / KIB:.6g} KiB"
    text += f": at most {peak / KIB:.4g} KiB in use, in {_short(columns.steps[at])}" if peak else ""
    text += "; in a group its kernel calls from left to right" if any(area.in_part for area in memory.areas) else ""
    yield f'<text x="{_LEFT}" y="{panel.top - 8:.1f}" font-weight="bold">{escape(text)}</text>'
    yield from _legend({area.kind: None for area in memory.areas}, columns.right, panel.top - 12)
    yield from _scale(panel, columns)
    for area in memory.areas:
        yield _bar(area, columns, panel.y(area.offset + area.bytes), panel.y(area.offset))
    if peak:
        x, end = columns.x(at), columns.x(at + 1)
        yield (
            f'<path class="peak" d="M{x:.2f} {panel.base:.2f}V{panel.top:.2f}H{end:.2f}V{panel.base:.2f}Z" '
            f'fill="none" stroke="{_PEAK}" stroke-width="2" pointer-events="none"/>'
        )
    yield "</g>"


def _image(network: NetworkAreas, columns: _Columns, y: float) -> Iterator[str]:
    assert network.external is not None
    text = f"{network.image_bytes / KIB:.0f} KiB of constants"
    area = Area("constants that stay", text, 0, len(columns.steps) - 1, 0, network.image_bytes)
    yield _bar(area, columns, y, y + _IMAGE)
    yield f'<text x="{_LEFT - 6}" y="{y + _IMAGE / 2 + 4:.1f}" text-anchor="end">{escape(network.external.name)}</text>'


def _bar(area: Area, columns: _Columns, y: float, base: float) -> str:
    x, end = columns.x(area.first + area.begin), columns.x(area.last + area.end)
    names = [columns.steps[number] for number in (area.first, area.last)]
    when = f"in {names[0]}" if area.first == area.last else f"from {names[0]} to {names[1]}"
    where = f" at {area.offset}" if area.placed else ""
    what = area.text if area.label in ("", area.kind) else area.label
    text = escape(f"{area.kind}, {what}: {area.bytes} bytes{where}, {when}")
    shape = (
        f'<rect class="{escape(area.kind)}" x="{x:.2f}" y="{y:.2f}" width="{end - x:.2f}" '
        f'height="{max(0.5, base - y):.2f}" fill="{_COLOURS.get(area.kind, _OTHER)}" stroke="white" '
        f'stroke-width="0.3"><title>{text}</title></rect>'
    )
    whole = area.label or area.text
    label = next((one for one in (whole, whole.partition(" ")[0]) if _CHARACTER * len(one) <= end - x), "")
    if base - y < 11 or not label:
        return shape
    place = f'x="{x + 3:.2f}" y="{(y + base) / 2 + 4:.2f}"'
    return f'{shape}<text {place} pointer-events="none">{escape(label)}</text>'


def _legend(kinds: Mapping[str, None], right: float, y: float) -> Iterator[str]:
    x = right
    for name in reversed([*(kind for kind in _COLOURS if kind in kinds), *(k for k in kinds if k not in _COLOURS)]):
        x -= _CHARACTER * len(name) + 26
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{_COLOURS.get(name, _OTHER)}"/>'
        yield f'<text x="{x + 9:.1f}" y="{y + 4:.1f}">{escape(name)}</text>'


def _scale(panel: _Panel, columns: _Columns) -> Iterator[str]:
    """Horizontal lines at both ends and at round sizes between them."""
    yield _line(panel.base, columns, panel.memory.name, "#000000")
    yield _line(panel.top, columns, f"{panel.memory.used / KIB:.4g} KiB", _PEAK)
    used = panel.memory.used
    step = 1 << max(0, math.ceil(math.log2(max(1, used) / 8)))
    for offset in range(step, used, step):
        y = panel.y(offset)
        if y > panel.top + 14:
            yield _line(y, columns, f"{offset / KIB:g} KiB", "#dddddd")


def _line(y: float, columns: _Columns, text: str, colour: str) -> str:
    letters = "#666666" if colour == "#dddddd" else colour
    return (
        f'<line x1="{_LEFT}" x2="{columns.right}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}"/>'
        f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end" fill="{letters}">{escape(text)}</text>'
    )
