"""A picture of which operators of a network were fused: a line of boxes for each choice."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from benchmarks.fusion.results import Row

_WIDTH, _HEIGHT, _LEFT = 22, 34, 90
_COLORS = {"conv2d": "#4c78a8", "depthwise_conv2d": "#f58518", "add": "#54a24b"}
_OTHER = "#bab0ac"


def draw(rows: Sequence[Row]) -> str:
    """The choices for one network as SVG: a box for each operator on the cluster, a frame around those of a chain."""
    most = max(sum(len(group) for group in row.operators) for row in rows)
    width, height = _LEFT + _WIDTH * most + 10, _HEIGHT * len(rows) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">',
        f'<text x="4" y="16" font-size="13">{escape(rows[0].network)}, {rows[0].l1} bytes of L1</text>',
    ]
    for line, row in enumerate(rows):
        y = 26 + line * _HEIGHT
        parts.append(f'<text x="4" y="{y + 16}" font-size="12">{row.choice}</text>')
        x = _LEFT
        for group in row.operators:
            if len(group) > 1:
                frame = _WIDTH * len(group) - 2
                parts.append(
                    f'<rect x="{x - 1}" y="{y - 2}" width="{frame}" height="27" rx="5" fill="none" stroke="#000"/>'
                )
            for name in group:
                color = _COLORS.get(name.rpartition("_")[0], _OTHER)
                parts.append(
                    f'<rect x="{x + 1}" y="{y}" width="{_WIDTH - 6}" height="23" rx="3" fill="{color}">'
                    f"<title>{escape(name)}</title></rect>"
                )
                x += _WIDTH
    return "\n".join([*parts, "</svg>", ""])
