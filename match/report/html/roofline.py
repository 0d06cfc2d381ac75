"""A roofline for each module: what layers reach, under what the module and its DMA can do."""

from __future__ import annotations

from markupsafe import Markup

from match.report.html.figures import Chart, figure, finish, hover, source
from match.report.html.library import library
from match.report.html.palette import unit_colours
from match.report.html.text import joined
from match.report.roofline import Roofline, rooflines
from match.report.schema import Report

_LEAST, _MOST = 7.0, 30.0  # pixels: sizes of points
_ROOM = 2.0  # factor around the points


def roofline_charts(report: Report) -> list[tuple[Roofline, Chart]]:
    """A picture for each module that has layers with multiply-accumulates."""
    return [(one, _chart(report, one, f"roofline-{number}")) for number, one in enumerate(rooflines(report))]


def roofline_panel(charts: list[tuple[Roofline, Chart]]) -> Markup:
    """The pictures, with what they say in words."""
    parts = joined(
        Markup('<section class="card"><h2>{}</h2><p class="hint">{}</p>{}</section>').format(
            one.module, _sentence(one), chart.content
        )
        for one, chart in charts
    )
    return Markup('<div class="columns">{}</div>').format(parts)


def _sentence(one: Roofline) -> str:
    peak = f"The flat roof is the module's {one.peak:,} MACs a cycle" if one.peak else "The target gives no peak"
    slope = f"; the slope is {one.rate:.2f} bytes a cycle, the fastest transfers of these layers" if one.rate else ""
    return f"{peak}{slope}. A point is a layer with all that it takes, the larger the more cycles it has."


def _chart(report: Report, one: Roofline, name: str) -> Chart:
    models = library("bokeh.models")
    xs, ys = [point.intensity for point in one.layers], [point.macs_per_cycle for point in one.layers]
    left, right = min(xs) / _ROOM, max(xs) * _ROOM
    low, high = min(ys) / _ROOM, max(*ys, one.peak or 0.0) * _ROOM
    ridge = one.peak / one.rate if one.peak and one.rate else None
    if ridge is not None:
        left, right = min(left, ridge / _ROOM), max(right, ridge * _ROOM)
    plot = figure(
        height=380,
        x_axis_type="log",
        y_axis_type="log",
        x_range=models.Range1d(left, right),
        y_range=models.Range1d(low, high),
        tools="pan,box_zoom,zoom_in,zoom_out,reset",
    )
    if one.peak:
        plot.line([ridge or left, right], [one.peak, one.peak], line_width=2, tags=["ink"], name="peak")
    if one.rate:
        end = ridge or right
        plot.line([left, end], [left * one.rate, end * one.rate], line_width=2, tags=["ink"], name="transfers")
    most = max(report.layers[point.place].cycles for point in one.layers)
    layers = [report.layers[point.place] for point in one.layers]
    columns = source(
        {
            "layer": [point.place for point in one.layers],
            "x": xs,
            "y": ys,
            "size": [_LEAST + (_MOST - _LEAST) * (layer.cycles / most) ** 0.5 for layer in layers],
            "name": [layer.name for layer in layers],
            "model": [layer.source for layer in layers],
            "cycles": [layer.cycles for layer in layers],
            "bound": [layer.bound or "" for layer in layers],
        }
    )
    points = plot.scatter(
        "x",
        "y",
        size="size",
        source=columns,
        fill_color=unit_colours(report.target)[one.module],
        fill_alpha=0.75,
        line_color="#111111",
        line_alpha=0.6,
        nonselection_fill_alpha=0.2,
        nonselection_line_alpha=0.2,
    )
    plot.add_tools(
        hover(
            [points],
            (
                ("layer", "@name"),
                ("model", "@model"),
                ("MAC/cycle", "@y{0,0.00}"),
                ("MAC/byte", "@x{0,0.00}"),
                ("cycles", "@cycles{0,0}"),
                ("bound", "@bound"),
            ),
        ),
        models.TapTool(renderers=[points]),
    )
    plot.xaxis.axis_label = "MACs for each byte that moves"
    plot.yaxis.axis_label = "MACs in a cycle"
    plot.xaxis.formatter = plot.yaxis.formatter = models.PrintfTickFormatter(format="%g")
    return finish(name, plot, {}, f"What layers on {one.module} reach of its peak")
