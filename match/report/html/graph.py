"""The network as a graph, drawn as SVG: layers with the model's own names, arrows from what they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from match.report.html.library import library
from match.report.html.palette import unit_colours
from match.report.html.text import joined, number, share
from match.report.schema import LayerSummary, Report

_WIDTH, _COLUMN, _LANE = 216, 248, 26  # of a box, from a box to the next one beside it, of an arrow that passes boxes
_ROW, _PADDING, _BETWEEN = 16, 8, 34  # heights: of a line of text, around the text, between boxes
_MARGIN = 12
_MOST_OPERATORS = 8
"""Operators of one box that are named; the others are counted."""

_CHARACTERS = 27
"""As many of a name as a box is wide; the page shows all of it in the details."""


@dataclass(frozen=True)
class _Box:
    """A layer or a tensor of the network: lines of text, and the layer's place."""

    lines: tuple[str, ...]
    title: str
    colour: str | None
    place: int | None

    @property
    def height(self) -> float:
        return 2 * _PADDING + _ROW * len(self.lines)


@dataclass(frozen=True)
class _Point:
    """Where the middle of a box, or an arrow that passes boxes, is in its row; rows are counted from above."""

    x: float
    row: int


def graph(report: Report) -> Markup:
    """The graph from above to below, in the order of computation."""
    boxes, arrows = _boxes(report), _arrows(report)
    points, ways = _layout(len(boxes), arrows)
    left = min((point.x for point in points.values()), default=0.0) - _WIDTH / 2 - _MARGIN
    width = max((point.x for point in points.values()), default=0.0) + _WIDTH / 2 + _MARGIN - left
    tops = _tops(boxes, points)
    height = tops[-1]
    drawn = joined(
        (
            *(_arrow([(points[one].x - left, *_edges(one, boxes, points, tops)) for one in way]) for way in ways),
            *(
                _drawn(box, points[one].x - left - _WIDTH / 2, tops[points[one].row])
                for one, box in enumerate(boxes)
                if one in points
            ),
        )
    )
    colours = unit_colours(report.target)
    legend = joined(
        Markup('<span><i class="swatch" style="background:{}"></i>{}</span>').format(colours[name], name)
        for name in dict.fromkeys(layer.module for layer in report.layers)
    )
    return Markup(
        '<section class="card"><div class="controls" role="group" aria-label="Size of the graph">'
        '<button type="button" data-size="in" aria-label="Larger">+</button>'
        '<button type="button" data-size="out" aria-label="Smaller">−</button>'
        '<button type="button" data-size="all">Whole width</button>{}</div>'
        '<div class="scroll graph" tabindex="0" role="group" aria-label="Graph of the network">'
        '<svg xmlns="http://www.w3.org/2000/svg" width="{:.0f}" height="{:.0f}" viewBox="0 0 {:.0f} {:.0f}">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker></defs>{}</svg></div></section>'
    ).format(legend, width, height, width, height, drawn)


def _boxes(report: Report) -> list[_Box]:
    """Layers, then the network's inputs and outputs."""
    colours = unit_colours(report.target)
    boxes = [_layer(report, place, layer, colours) for place, layer in enumerate(report.layers)]
    for kind, tensors in (("input", report.model.inputs), ("output", report.model.outputs)):
        for tensor in tensors:
            shape = "x".join(map(str, tensor.shape)) or "scalar"
            lines = _short(f"{kind} {tensor.name}"), _short(f"{shape} {tensor.dtype}")
            boxes.append(_Box(lines, tensor.name, None, None))
    return boxes


def _layer(report: Report, place: int, layer: LayerSummary, colours: Mapping[str, str]) -> _Box:
    operators = [one.op if one.cycles is None else f"{one.op}, {number(one.cycles)}" for one in layer.operators]
    if len(operators) > _MOST_OPERATORS:
        operators = [*operators[: _MOST_OPERATORS - 1], f"and {len(operators) - _MOST_OPERATORS + 1} more"]
    own = [layer.source] if layer.source else []
    lines = (
        *map(_short, (layer.name, *own, *(f"· {op}" for op in operators))),
        f"{layer.module}, {number(layer.cycles)} cycles, {share(layer.cycles, report.totals.cycles)}",
    )
    return _Box(lines, f"{layer.name}: {layer.source or layer.op}", colours.get(layer.module), place)


def _arrows(report: Report) -> list[tuple[int, int]]:
    """From box to box."""
    layers, inputs = len(report.layers), len(report.model.inputs)
    found: list[tuple[int, int]] = []
    for place, layer in enumerate(report.layers):
        found += [(layers + one, place) for one in layer.network_inputs]
        found += [(source, place) for source in layer.reads]
        found += [(place, layers + inputs + one) for one in layer.network_outputs]
    return found


def _layout(count: int, arrows: Sequence[tuple[int, int]]) -> tuple[dict[int, _Point], list[list[int]]]:
    """Where boxes are, and the boxes and points that each arrow leads by; what has no arrow stands below all others."""
    points: dict[int, _Point] = {}
    ways: list[list[int]] = []
    rows = 0
    beside = 0.0
    for positions, width, height, edges in _parts(arrows):
        # A point of a long arrow has a number that no box has, which counts anew in each part of the graph.
        names = {one: one if one < count else -1 - len(points) - one for one, _ in positions}
        left = min((x for _, (x, _) in positions), default=0.0)
        for one, (x, y) in positions:
            points[names[one]] = _Point(beside + x - left, round(height - y))
        ways += [[names[one] for one in way] for way in _ways(edges, count)]
        rows = max(rows, round(height) + 1)
        beside += width + _COLUMN
    for one in range(count):
        if one not in points:
            points[one] = _Point(0.0, rows)
            rows += 1
    return points, ways


def _parts(arrows: Sequence[tuple[int, int]]) -> Iterator[tuple[Any, float, float, Any]]:
    """The connected parts of the graph: places of boxes, width, height in rows, and arrows cut at each row."""
    if not arrows:
        return
    made = library("fast_sugiyama").from_edges(
        list(arrows), vertex_spacing=_COLUMN, dummy_vertices=True, dummy_size=_LANE / _COLUMN
    )
    for positions, width, height, edges in sorted(made, key=lambda part: min(one for one, _ in part[0])):
        ordered = sorted((one, (x, y / _COLUMN)) for one, (x, y) in positions)
        yield ordered, width, height / _COLUMN, sorted(edges or ())


def _ways(edges: Sequence[tuple[int, int]], count: int) -> Iterator[list[int]]:
    """Arrows from box to box, by way of the points between: these have one arrow in and one out."""
    after = dict(edge for edge in edges if edge[0] >= count)
    for begin, end in edges:
        if begin < count:
            way = [begin, end]
            while way[-1] >= count:
                way.append(after[way[-1]])
            yield way


def _tops(boxes: Sequence[_Box], points: Mapping[int, _Point]) -> list[float]:
    """Where each row begins, as high as its highest box, and the height of all."""
    heights = [0.0] * (1 + max((point.row for point in points.values()), default=0))
    for one, box in enumerate(boxes):
        if one in points:
            heights[points[one].row] = max(heights[points[one].row], box.height)
    tops = [float(_MARGIN)]
    for height in heights:
        tops.append(tops[-1] + height + _BETWEEN)
    tops[-1] += _MARGIN - _BETWEEN
    return tops


def _edges(one: int, boxes: Sequence[_Box], points: Mapping[int, _Point], tops: Sequence[float]) -> tuple[float, float]:
    """The upper and the lower edge of a box; what only passes a row passes all of it."""
    row = points[one].row
    top = tops[row]
    if one >= 0:
        return top, top + boxes[one].height
    return top, tops[row + 1] - _BETWEEN


def _arrow(way: Sequence[tuple[float, float, float]]) -> Markup:
    """A line from the lower edge of the first to the upper edge of the last, straight beside boxes that it passes."""
    x, _, y = way[0]
    path = [f"M{x:.1f} {y:.1f}"]
    for to, top, bottom in way[1:]:
        middle = (y + top) / 2
        path.append(f"C{x:.1f} {middle:.1f} {to:.1f} {middle:.1f} {to:.1f} {top:.1f}")
        x, y = to, top
        if (to, top, bottom) != way[-1]:
            path.append(f"V{bottom:.1f}")
            y = bottom
    return Markup('<path class="arrow" d="{}" marker-end="url(#tip)"/>').format("".join(path))


def _drawn(box: _Box, x: float, y: float) -> Markup:
    texts = joined(
        Markup('<text x="14" y="{:.0f}" class="{}">{}</text>').format(
            _PADDING + _ROW * (line + 0.75), "first" if not line else "line", text
        )
        for line, text in enumerate(box.lines)
    )
    outline = Markup('<rect class="box" width="{}" height="{:.0f}" rx="8"/>').format(_WIDTH, box.height)
    if box.place is None:
        return Markup('<g class="tensor" transform="translate({:.1f} {:.1f})">{}{}</g>').format(x, y, outline, texts)
    stripe = Markup('<path d="M6 0H8V{0:.0f}H6a6 6 0 0 1-6-6V6a6 6 0 0 1 6-6z" style="fill:{1}"/>').format(
        box.height, box.colour or "none"
    )
    return Markup(
        '<g data-layer="{}" tabindex="0" role="button" aria-label="{}" transform="translate({:.1f} {:.1f})">'
        "<title>{}</title>{}{}{}</g>"
    ).format(box.place, box.title, x, y, box.title, outline, stripe, texts)


def _short(text: str) -> str:
    return text if len(text) <= _CHARACTERS else f"{text[: _CHARACTERS - 1]}…"
