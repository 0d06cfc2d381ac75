"""Memory over time: what lies in each memory during which steps of the network, the fullest one marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from match.report.html.figures import Chart, figure, finish, hover, source
from match.report.html.library import library
from match.report.html.palette import AREAS, OTHER
from match.report.html.text import joined, link, share, size
from match.report.memory_areas import Area, MemoryAreas, NetworkAreas, held, network_areas, with_image
from match.report.schema import MemoryPlanSummary, Report

_FULLEST = 3
_MOST_TICKS = 8
_PEAK = "#d55e00"
_NEAR = 0.5
"""Share of a memory's size: if more of it is used, all of it is drawn."""


def has_memory(report: Report) -> bool:
    """Whether the report says where tensors lie; those of older versions do not."""
    return report.workspace is not None or isinstance(report.memory, MemoryPlanSummary)


def memory_charts(
    report: Report, name: str = "memory", numbers: Sequence[int] | None = None
) -> list[tuple[MemoryAreas, Chart]]:
    """A picture for each memory: the main one, the external one, those of modules.

    The names of pictures begin with `name`; `numbers` are those by which the page knows the layers, none: their places.
    """
    network = network_areas(report)
    external = with_image(network)
    memories = [network.main, *([external] if external else ()), *network.others]
    places = _numbers(report, numbers)
    return [
        (memory, _chart(memory, network, places, f"{name}-{number}"))
        for number, memory in enumerate(memories)
        if memory.areas
    ]


def _numbers(report: Report, numbers: Sequence[int] | None) -> dict[str, int]:
    """By the names of layers the numbers by which the page knows them."""
    known = range(len(report.layers)) if numbers is None else numbers
    return {layer.name: number for layer, number in zip(report.layers, known, strict=True)}


def memory_panel(
    report: Report, charts: list[tuple[MemoryAreas, Chart]], numbers: Sequence[int] | None = None
) -> Markup:
    """The pictures, each below the fullest moments of its memory."""
    steps = network_areas(report).steps
    places = _numbers(report, numbers)
    return joined(
        Markup('<section class="card"><h2>{}</h2><p class="hint">{}</p>{}</section>').format(
            memory.name, _fullest(memory, steps, places), chart.content
        )
        for memory, chart in charts
    )


def _fullest(memory: MemoryAreas, steps: tuple[str, ...], places: Mapping[str, int]) -> Markup:
    in_use = [held(memory.areas, step) for step in range(len(steps))]
    fullest = sorted((step for step, held_then in enumerate(in_use) if held_then), key=lambda step: -in_use[step])
    moments = Markup(", ").join(
        Markup("{} ({}) in {}").format(
            size(in_use[step]),
            share(in_use[step], memory.size),
            link(places[steps[step]], steps[step]) if steps[step] in places else steps[step],
        )
        for step in fullest[:_FULLEST]
    )
    return Markup("{} in all; fullest: {}.").format(size(memory.size), moments)


def _chart(memory: MemoryAreas, network: NetworkAreas, places: Mapping[str, int], name: str) -> Chart:
    models = library("bokeh.models")
    steps = network.steps
    in_use = [held(memory.areas, step) for step in range(len(steps))]
    top = memory.size if memory.used > _NEAR * memory.size else memory.used
    plot = figure(
        height=300,
        x_range=models.Range1d(-0.6, max(len(steps), 1) - 0.4, bounds=(-0.6, max(len(steps), 1) - 0.4)),
        y_range=models.Range1d(0, 1.04 * top),
        tools="xpan,xzoom_in,xzoom_out,reset",
    )
    drawn: list[object] = []
    colours: dict[str, str] = {}
    for kind, areas in _kinds(memory):
        colours[kind] = AREAS.get(kind, OTHER)
        columns = source(
            {
                "layer": [places.get(area.text, -1) for area in areas],
                "left": [area.first + area.begin - 0.5 for area in areas],
                "right": [area.last + area.end - 0.5 for area in areas],
                "bottom": [area.offset for area in areas],
                "top": [area.offset + area.bytes for area in areas],
                "text": [area.text if area.label in ("", area.kind) else area.label for area in areas],
                "bytes": [size(area.bytes) for area in areas],
                "from": [steps[area.first] if steps else "" for area in areas],
                "to": [steps[area.last] if steps else "" for area in areas],
            }
        )
        bars = plot.quad(
            **{edge: edge for edge in ("left", "right", "bottom", "top")},
            source=columns,
            fill_color=colours[kind],
            line_color="#ffffff",
            line_width=0.5,
            line_alpha=0.7,
            nonselection_fill_alpha=0.3,
            nonselection_line_alpha=0.3,
            name=kind,
        )
        plot.add_tools(hover([bars], ((kind, "@text"), ("bytes", "@bytes"), ("from", "@from"), ("to", "@to"))))
        drawn.append(bars)
    plot.add_tools(models.TapTool(renderers=drawn))
    if in_use:
        fullest = max(range(len(in_use)), key=lambda step: in_use[step])
        box = models.BoxAnnotation(
            left=fullest - 0.5, right=fullest + 0.5, fill_alpha=0, line_width=2, line_color=_PEAK, line_alpha=1.0
        )
        plot.add_layout(box)
    if top == memory.size:
        plot.add_layout(models.Span(location=memory.size, dimension="width", line_width=2, tags=["ink"]))
    ticks = _ticks(round(1.04 * top))
    plot.yaxis.ticker = models.FixedTicker(ticks=ticks)
    plot.yaxis.major_label_overrides = {tick: size(tick) for tick in ticks}
    plot.xaxis.axis_label = "steps of the network"
    plot.xaxis.major_label_text_alpha = 0
    plot.xaxis.major_tick_line_alpha = plot.xaxis.minor_tick_line_alpha = 0
    plot.xgrid.visible = False
    return finish(name, plot, colours, f"What lies in {memory.name} during which steps")


def _ticks(most: int) -> list[int]:
    """Multiples of a power of two up to the most."""
    step = 1
    while step * _MOST_TICKS < most:
        step *= 2
    return list(range(0, most + 1, step))


def _kinds(memory: MemoryAreas) -> Iterator[tuple[str, list[Area]]]:
    found: dict[str, list[Area]] = {}
    for area in memory.areas:
        found.setdefault(area.kind, []).append(area)
    yield from found.items()
