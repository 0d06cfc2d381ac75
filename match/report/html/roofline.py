"""A roofline for each module: what layers reach, under what the module and its DMA can do."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from match.report.html.figures import Chart, figure, finish, hover, source
from match.report.html.library import library
from match.report.html.palette import unit_colours
from match.report.html.text import joined
from match.report.pieces import operator_name
from match.report.roofline import Reached, Roofline, rooflines
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
    group = (
        "A diamond is an operator of a group, its own kernel call alone, at its group's bytes." if one.operators else ""
    )
    return f"{peak}{slope}. A point is a layer with all that it takes, the larger the more cycles it has. {group}"


def _chart(report: Report, one: Roofline, name: str) -> Chart:
    models = library("bokeh.models")
    everything = (*one.layers, *one.operators)
    xs, ys = [point.intensity for point in everything], [point.macs_per_cycle for point in everything]
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
    most = max(report.layers[point.place].cycles for point in everything)
    named = [_named(report, point) for point in everything]
    drawn: list[Any] = []
    for marker, part in (("circle", slice(len(one.layers))), ("diamond", slice(len(one.layers), None))):
        if not everything[part]:
            continue
        columns = source(
            {
                "layer": [point.place for point in everything[part]],
                "x": xs[part],
                "y": ys[part],
                "size": [_LEAST + (_MOST - _LEAST) * (cycles / most) ** 0.5 for _, _, cycles in named[part]],
                "name": [shown for shown, _, _ in named[part]],
                "model": [model for _, model, _ in named[part]],
                "cycles": [cycles for _, _, cycles in named[part]],
                "bound": [report.layers[point.place].bound or "" for point in everything[part]],
            }
        )
        drawn.append(
            plot.scatter(
                "x",
                "y",
                size="size",
                marker=marker,
                source=columns,
                fill_color=unit_colours(report.target)[one.module],
                fill_alpha=0.75,
                line_color="#111111",
                line_alpha=0.6,
                nonselection_fill_alpha=0.2,
                nonselection_line_alpha=0.2,
                name=marker,
            )
        )
    plot.add_tools(
        hover(
            drawn,
            (
                ("layer", "@name"),
                ("model", "@model"),
                ("MAC/cycle", "@y{0,0.00}"),
                ("MAC/byte", "@x{0,0.00}"),
                ("cycles", "@cycles{0,0}"),
                ("bound", "@bound"),
            ),
        ),
        models.TapTool(renderers=drawn),
    )
    plot.xaxis.axis_label = "MACs for each byte that moves"
    plot.yaxis.axis_label = "MACs in a cycle"
    plot.xaxis.formatter = plot.yaxis.formatter = models.PrintfTickFormatter(format="%g")
    return finish(name, plot, {}, f"What layers on {one.module} reach of its peak")


def _named(report: Report, point: Reached) -> tuple[str, str, int]:
    """What a point stands for: as it is shown, by its name in the model, and its cycles."""
    layer = report.layers[point.place]
    if point.operator is None:
        return layer.name, layer.source, layer.cycles
    own = layer.operators[point.operator]
    return operator_name(layer, point.operator), own.source, own.cycles or 0
