"""What was measured, beside what was predicted."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from match.report.beside import Beside, beside
from match.report.html.figures import Chart, figure, finish, hover, source
from match.report.html.library import library
from match.report.html.text import joined, link, number, table
from match.report.schema import Measurement, Report

_PREDICTED, _COUNTED = "#56b4e9", "#d55e00"


def measured_charts(report: Report) -> list[tuple[Measurement, Chart]]:
    """A picture for each platform."""
    return [
        (one, _chart(report, one, beside(report, one), f"measured-{place}"))
        for place, one in enumerate(report.measured)
    ]


def measured_panel(report: Report, charts: Sequence[tuple[Measurement, Chart]]) -> Markup:
    """For each platform the picture, and a table."""
    return joined(
        Markup('<section class="card"><h2>{}</h2><p class="hint">{}</p>{}{}</section>').format(
            f"On {one.platform}", _sentence(one), chart.content, _table(report, one)
        )
        for one, chart in charts
    )


def _sentence(one: Measurement) -> str:
    counted = f" {one.counted}" if one.counted else ""
    return f"{one.total:,} {one.unit} for one inference, the mean of {one.samples}, by {one.command}.{counted}"


def _table(report: Report, one: Measurement) -> Markup:
    rows = [
        (
            Markup(", ").join(link(place, report.layers[place].name) for place in group.places)
            or ", ".join(group.functions),
            group.predicted,
            group.counted,
            f"{group.counted / group.predicted:.2f}" if group.predicted else "",
        )
        for group in beside(report, one)
    ]
    return table(("layers", "predicted cycles", f"counted {one.unit}", "counted / predicted"), rows)


def _chart(report: Report, one: Measurement, groups: Sequence[Beside], name: str) -> Chart:
    models = library("bokeh.models")
    plot = figure(height=280, x_range=(-0.6, max(len(groups), 1) - 0.4), tools="xpan,xzoom_in,xzoom_out,reset")
    known = any(group.predicted is not None for group in groups)
    colours = {"predicted": _PREDICTED, "counted": _COUNTED} if known else {"counted": _COUNTED}
    width = 0.84 / len(colours)
    drawn: list[object] = []
    for side, (label, colour) in enumerate(colours.items()):
        amounts = [group.counted if label == "counted" else group.predicted or 0 for group in groups]
        columns = source(
            {
                "layer": [group.places[0] if group.places else -1 for group in groups],
                "left": [place - 0.42 + side * width for place in range(len(groups))],
                "right": [place - 0.42 + (side + 1) * width for place in range(len(groups))],
                "top": amounts,
                "amount": [number(amount) for amount in amounts],
                "name": [
                    ", ".join(report.layers[place].name for place in group.places) or ", ".join(group.functions)
                    for group in groups
                ],
            }
        )
        bars = plot.quad(
            left="left",
            right="right",
            bottom=0,
            top="top",
            source=columns,
            color=colour,
            line_color=None,
            nonselection_fill_alpha=0.35,
            name=label,
        )
        plot.add_tools(hover([bars], (("layers", "@name"), (label, f"@amount {one.unit}"))))
        drawn.append(bars)
    plot.add_tools(models.TapTool(renderers=drawn))
    plot.xaxis.visible = plot.xgrid.visible = False
    plot.y_range.start = 0
    plot.yaxis.formatter = models.NumeralTickFormatter(format="0,0")
    plot.yaxis.axis_label = one.unit
    return finish(name, plot, colours, f"What was counted on {one.platform} for each layer, beside what was predicted")
