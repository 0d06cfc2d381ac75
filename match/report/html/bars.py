"""Bars beside each other, for each of some layers one of each kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from match.report.html.figures import Chart, figure, finish, hover, source
from match.report.html.library import library
from match.report.html.text import number

_WIDTH = 0.84  # of all bars of a place, where 1 is the distance to the next


def bars_beside(
    name: str,
    labels: Sequence[tuple[int, str]],
    amounts: Mapping[str, Sequence[int]],
    colours: Mapping[str, str],
    unit: str,
    what: str,
) -> Chart:
    """A picture of bars in the order of execution.

    Args:
        name: of the picture.
        labels: for each place the number by which the page knows the layer, -1 for none, and what it is called.
        amounts: by kind, for each place its amount.
        colours: by kind.
        unit: of the amounts.
        what: the picture shows.
    """
    models = library("bokeh.models")
    places = range(len(labels))
    plot = figure(height=280, x_range=(-0.6, max(len(labels), 1) - 0.4), tools="xpan,xzoom_in,xzoom_out,reset")
    width = _WIDTH / len(amounts)
    drawn: list[object] = []
    for side, (kind, own) in enumerate(amounts.items()):
        columns = source(
            {
                "layer": [layer for layer, _ in labels],
                "left": [place - _WIDTH / 2 + side * width for place in places],
                "right": [place - _WIDTH / 2 + (side + 1) * width for place in places],
                "top": list(own),
                "amount": [number(amount) for amount in own],
                "name": [label for _, label in labels],
            }
        )
        bars = plot.quad(
            left="left",
            right="right",
            bottom=0,
            top="top",
            source=columns,
            color=colours[kind],
            line_color=None,
            nonselection_fill_alpha=0.35,
            name=kind,
        )
        plot.add_tools(hover([bars], (("layer", "@name"), (kind, f"@amount {unit}"))))
        drawn.append(bars)
    plot.add_tools(models.TapTool(renderers=drawn))
    plot.xaxis.visible = plot.xgrid.visible = False
    plot.y_range.start = 0
    plot.yaxis.formatter = models.NumeralTickFormatter(format="0,0")
    plot.yaxis.axis_label = unit
    return finish(name, plot, {kind: colours[kind] for kind in amounts}, what)
