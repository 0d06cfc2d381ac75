"""The predicted timeline: a lane for each unit and each DMA engine, over one for the layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from markupsafe import Markup

from match.analysis.timeline.chrome_trace import CORE, Doing
from match.dispatch.plan import CPU
from match.report.html.figures import Chart, figure, finish, hover, source
from match.report.html.library import library
from match.report.html.palette import DOINGS, OPERANDS, OTHER, unit_colours
from match.report.pieces import operator_name, shared_cycles
from match.report.schema import LayerSummary, Report, TimelineBar, TimelineSummary

_HALF = 0.4  # of a bar's height, where 1 is the distance to the next lane
_LANE = 34  # pixels
_MANY_SECONDS = 0.02

LAYERS = "layers"

_CORE: dict[Doing, str] = {
    "call": "core calls a kernel",
    "start": "core starts a transfer",
    "wait": "core waits for a transfer",
    "offload": "core offloads",
    "idle": "core idles",
}


class _Kind(NamedTuple):
    """Bars of one entry of the legend."""

    label: str
    colour: str


_VIEWS = Markup(
    '<div class="controls" role="group" aria-label="What of it is shown">'
    '<button type="button" data-view="in" aria-label="Zoom in">+</button>'
    '<button type="button" data-view="out" aria-label="Zoom out">−</button>'
    '<button type="button" data-view="left" aria-label="Earlier">←</button>'
    '<button type="button" data-view="right" aria-label="Later">→</button>'
    '<button type="button" data-view="layer">Selected layer</button>'
    '<button type="button" data-view="all">Everything</button></div>{}{}'
    '<p class="hint">Drag to move, Ctrl and the wheel to zoom; a click selects a layer. A button of the legend hides '
    "what it names.</p>"
)


def timeline_panel(report: Report, chart: Chart, timeline: TimelineSummary) -> Markup:
    """The picture with buttons that move and zoom it."""
    coarse = ", ".join(report.layers[place].name for place in timeline.coarse)
    note = Markup('<p class="hint">One bar for all kernel calls of {}.</p>').format(coarse) if coarse else Markup()
    return Markup('<section class="card">{}</section>').format(_VIEWS.format(chart.content, note))


def timeline_chart(
    report: Report,
    timeline: TimelineSummary,
    name: str = "timeline",
    numbers: Sequence[int] | None = None,
    seconds: float | None = None,
) -> Chart:
    """Bars over time, which can be moved and zoomed along it.

    Args:
        report: of the network.
        timeline: its timeline.
        name: of the picture.
        numbers: those by which the page knows the layers; none: their places.
        seconds: how long the picture is; none: one inference.
    """
    models = library("bokeh.models")
    order = _order(report, timeline)
    lanes = [LAYERS, *(timeline.lanes[lane] for lane in order)]
    rows = {lane: row for row, lane in enumerate(order, 1)}
    clock = report.target.clock_hz
    length = report.totals.cycles / clock if seconds is None else seconds
    unit, units = ("ms", 1e3) if length > _MANY_SECONDS else ("µs", 1e6)
    scale = units / clock
    span = max(length * units, 1e-9)
    room = 0.02 * span
    plot = figure(
        height=110 + _LANE * len(lanes),
        x_range=models.Range1d(-room, span + room, bounds=(-room, span + room)),
        y_range=models.Range1d(len(lanes) - 0.4, -0.6),
        tools="xpan,xbox_zoom,reset",
        active_drag="xpan",
    )
    wheel = models.WheelZoomTool(dimensions="width", modifiers={"ctrl": True})
    known = list(range(len(report.layers)) if numbers is None else numbers)
    drawn = [*_layers(plot, report, known, scale), *_bars(plot, report, timeline, rows, known, scale)]
    plot.add_tools(wheel, models.TapTool(renderers=drawn))
    plot.toolbar.active_scroll = wheel
    plot.add_tools(
        hover(
            drawn,
            (
                ("", "@text"),
                ("layer", "@name"),
                ("from", f"@left{{0,0.000}} {unit}"),
                ("to", f"@right{{0,0.000}} {unit}"),
                ("cycles", "@cycles{0,0}"),
                ("bytes", "@bytes{0,0}"),
            ),
        )
    )
    plot.yaxis.ticker = models.FixedTicker(ticks=list(range(len(lanes))))
    plot.yaxis.major_label_overrides = dict(enumerate(lanes))
    plot.ygrid.visible = False
    plot.yaxis.minor_tick_line_color = None
    plot.xaxis.axis_label = f"{unit} since the inference began"
    entries = {one.name: one.glyph.fill_color for one in drawn}
    return finish(name, plot, entries, "What each unit and each DMA engine does over time")


def _layers(plot: Any, report: Report, numbers: Sequence[int], scale: float) -> Iterator[Any]:
    """The lane of layers, coloured by unit, with names that the page shortens to what a bar has room for."""
    colours = unit_colours(report.target)
    begin = 0.0
    spans: list[tuple[float, float]] = []
    for layer in report.layers:
        spans.append((begin, begin + layer.cycles))
        begin += layer.cycles
    for module in report.target.modules:
        own = [place for place, layer in enumerate(report.layers) if layer.module == module.name]
        if own:
            bars = [TimelineBar(0, "layer", report.layers[place].source, *spans[place]) for place in own]
            yield _quads(
                plot, report, own, numbers, bars, [0] * len(own), scale, _Kind(module.name, colours[module.name])
            )
    labels = source(
        {
            "x": [float(begin * scale) for begin, _ in spans],
            "end": [float(end * scale) for _, end in spans],
            "y": [0.0] * len(spans),
            "text": [""] * len(spans),
            "full": [layer.name for layer in report.layers],
            "layer": list(numbers),
        }
    )
    plot.text(
        "x",
        "y",
        "text",
        source=labels,
        text_font_size="11px",
        text_baseline="middle",
        text_color="#111111",
        nonselection_text_color="#8a929c",
        nonselection_text_alpha=1.0,
        x_offset=4,
        name="labels",
    )


def _order(report: Report, timeline: TimelineSummary) -> list[int]:
    """The lanes from above: the core, DMA engines, then units in the order of the target."""
    first = {CORE: 0, **{module.name: place for place, module in enumerate(report.target.modules, 2)}}
    return sorted(range(len(timeline.lanes)), key=lambda lane: first.get(timeline.lanes[lane], 1))


def _bars(
    plot: Any,
    report: Report,
    timeline: TimelineSummary,
    rows: Mapping[int, int],
    numbers: Sequence[int],
    scale: float,
) -> Iterator[Any]:
    """What happens inside layers, all bars of one entry of the legend together."""
    colours = unit_colours(report.target)
    found: dict[_Kind, list[tuple[int, TimelineBar]]] = {}
    for place, bars in enumerate(timeline.bars):
        unit = report.layers[place].module
        for bar in _with_operators(report.layers[place], bars):
            found.setdefault(_kind(bar, unit, colours), []).append((place, bar))
    for kind, own in sorted(found.items()):
        places, bars = [place for place, _ in own], [bar for _, bar in own]
        yield _quads(plot, report, places, numbers, bars, [rows[bar.lane] for bar in bars], scale, kind)


def _with_operators(layer: LayerSummary, bars: Sequence[TimelineBar]) -> Iterator[TimelineBar]:
    """The bars, those of a group's kernel calls with the names of the operators, each of which has one, in order."""
    count = sum(bar.doing == "kernel" for bar in bars)
    named = shared_cycles(layer) is not None and count == len(layer.operators)
    number = 0
    for bar in bars:
        if named and bar.doing == "kernel":
            yield msgspec.structs.replace(bar, text=operator_name(layer, number))
            number += 1
        else:
            yield bar


def _kind(bar: TimelineBar, unit: str, colours: dict[str, str]) -> _Kind:
    if bar.doing == "kernel":
        return _Kind(unit, colours.get(unit, colours[CPU]))
    if bar.doing == "transfer":
        return _Kind(f"{bar.operand or 'other'} moves", OPERANDS.get(bar.operand, OTHER))
    return _Kind(_CORE[bar.doing], DOINGS[bar.doing])


def _quads(
    plot: Any,
    report: Report,
    places: Sequence[int],
    numbers: Sequence[int],
    bars: Sequence[TimelineBar],
    lanes: Sequence[int],
    scale: float,
    kind: _Kind,
) -> Any:
    columns = source(
        {
            "layer": [numbers[place] for place in places],
            "left": [float(bar.begin * scale) for bar in bars],
            "right": [float(bar.end * scale) for bar in bars],
            "bottom": [lane - _HALF for lane in lanes],
            "top": [lane + _HALF for lane in lanes],
            "text": [bar.text for bar in bars],
            "name": [report.layers[place].name for place in places],
            "cycles": [float(bar.end - bar.begin) for bar in bars],
            "bytes": [bar.bytes for bar in bars],
        }
    )
    return plot.quad(
        **{edge: edge for edge in ("left", "right", "bottom", "top")},
        source=columns,
        fill_color=kind.colour,
        line_color=kind.colour,
        line_width=0.5,
        nonselection_fill_alpha=0.25,
        nonselection_line_alpha=0.25,
        name=kind.label,
    )
