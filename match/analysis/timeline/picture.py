"""A timeline as an SVG picture: a row for each lane, a bar for what takes time, details under the pointer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape

from match.analysis.timeline.chrome_trace import CORE, LAYERS, Document, Mark

_WIDTH, _LABELS, _ROW, _BAR, _TOP = 1400, 120, 30, 22, 34
_CHARACTER = 6.5  # pixels, of the font's widest ordinary letters
_TICKS = 10

# The colours that Okabe and Ito chose to be told apart by everyone.
_COLOURS = {"input": "#56b4e9", "addend": "#0072b2", "weights": "#e69f00", "output": "#009e73"}
_LAYER, _KERNEL = "#f0e442", "#cc79a7"
_DOING = {"wait": "#dddddd", "offload": "#d55e00", "idle": "#f4f4f4"}


def draw(document: Document) -> str:
    """The document as SVG; times are those of the document."""
    lanes = {mark.tid: str(mark.args["name"]) for mark in document.traceEvents if mark.name == "thread_name"}
    bars = [mark for mark in document.traceEvents if mark.ph == "X"]
    end = max((mark.ts + mark.dur for mark in bars), default=0.0) or 1.0
    title = next(str(mark.args["name"]) for mark in document.traceEvents if mark.name == "process_name")
    height = _TOP + _ROW * len(lanes) + 30
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
            'font-size="11">',
            f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
            f'<text x="8" y="20" font-size="14">{escape(title)}: {escape(str(document.otherData["times"]))}</text>',
            *_legend(),
            *(_ground(tid) for tid, name in lanes.items() if name != LAYERS),
            *_axis(end, height),
            *(f'<text x="8" y="{_y(tid) + 15}">{escape(name)}</text>' for tid, name in lanes.items()),
            *(_bar(mark, lanes[mark.tid], (_WIDTH - _LABELS - 10) / end) for mark in bars),
            "</svg>\n",
        ]
    )


def _y(row: int) -> int:
    return _TOP + _ROW * row


def _legend() -> Iterator[str]:
    shown = {**_COLOURS, "kernel": _KERNEL, **_DOING}
    for place, (name, colour) in enumerate(shown.items()):
        x = _WIDTH - 72 * (len(shown) - place)
        yield (
            f'<circle cx="{x}" cy="16" r="5" fill="{colour}" stroke="#999999" stroke-width="0.5"/>'
            f'<text x="{x + 9}" y="20">{name}</text>'
        )


def _ground(row: int) -> str:
    """What bars lie on, of a lane: where there is none, it is idle."""
    outline = f"M{_LABELS} {_y(row)}H{_WIDTH - 10}v{_BAR}H{_LABELS}z"
    return f'<path d="{outline}" fill="{_DOING["idle"]}"><title>idle</title></path>'


def _doing(mark: Mark) -> str:
    """The first word of what a bar says."""
    return mark.name.split(" ", 1)[0]


def _axis(end: float, height: int) -> Iterator[str]:
    """Vertical lines at round times, in microseconds."""
    step = 10.0 ** math.floor(math.log10(end / _TICKS))
    step *= next(factor for factor in (1, 2, 5, 10) if end / (step * factor) <= _TICKS)
    for tick in range(int(end / step) + 1):
        x = _LABELS + tick * step * (_WIDTH - _LABELS - 10) / end
        yield f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 4}" y2="{height - 22}" stroke="#eeeeee"/>'
        if x < _WIDTH - 50:
            yield f'<text x="{x:.1f}" y="{height - 8}" fill="#666666">{tick * step:g} µs</text>'


def _bar(mark: Mark, lane: str, scale: float) -> str:
    x, width = _LABELS + mark.ts * scale, max(0.5, mark.dur * scale)
    operand = str(mark.args.get("operand", ""))
    if lane == LAYERS:
        colour = _LAYER
    elif lane == CORE and _doing(mark) in _DOING:
        colour = _DOING[_doing(mark)]
    else:
        colour = _COLOURS.get(operand, _KERNEL)
    details = ", ".join(f"{name} {value}" for name, value in mark.args.items())
    text = escape(f"{mark.name}: {mark.ts:.2f} to {mark.ts + mark.dur:.2f} µs; {details}")
    shape = (
        f'<rect x="{x:.2f}" y="{_y(mark.tid)}" width="{width:.2f}" height="{_BAR}" fill="{colour}" stroke="white" '
        f'stroke-width="0.3"><title>{text}</title></rect>'
    )
    labels = [f"{mark.name}: {mark.args['model']}", mark.name] if "model" in mark.args else [mark.name]
    label = next((label for label in labels if _CHARACTER * len(label) <= width), None)
    if label is None:
        return shape
    return f'{shape}<text x="{x + 3:.2f}" y="{_y(mark.tid) + 15}" pointer-events="none">{escape(label)}</text>'
