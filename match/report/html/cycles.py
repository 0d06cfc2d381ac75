"""The cycles of each layer as bars, one cause above the other."""

from __future__ import annotations

from match.report.html.figures import Chart, figure, finish, hover, source
from match.report.html.library import library
from match.report.html.palette import CAUSES
from match.report.html.text import number
from match.report.layer_rows import Cause, causes
from match.report.schema import Report

CAUSE_NAMES: dict[Cause, str] = {
    "compute": "kernels compute",
    "transfers": "transfers that nothing hides",
    "offload": "offload, starts, first calls",
    "external memory": "waits for external memory",
    "control core": "control core computes",
}
_HALF = 0.42  # of a bar's width, where 1 is the distance to the next


def cycles_chart(report: Report) -> Chart:
    """A bar for each layer in the order of execution."""
    layers = report.layers
    plot = figure(height=280, x_range=(-0.6, max(len(layers), 1) - 0.4), tools="xpan,xzoom_in,xzoom_out,reset")
    found = [causes(layer) for layer in layers]
    places = range(len(layers))
    below = [0.0] * len(layers)
    drawn: dict[str, object] = {}
    for cause, label in CAUSE_NAMES.items():
        amounts = [one.get(cause, 0) for one in found]
        above = [low + amount for low, amount in zip(below, amounts, strict=True)]
        if any(amounts):
            columns = source(
                {
                    "layer": list(places),
                    "left": [place - _HALF for place in places],
                    "right": [place + _HALF for place in places],
                    "bottom": below,
                    "top": above,
                    "name": [layer.name for layer in layers],
                    "model": [layer.source for layer in layers],
                    "cycles": [number(amount) for amount in amounts],
                    "all": [number(layer.cycles) for layer in layers],
                }
            )
            bars = plot.quad(
                **{edge: edge for edge in ("left", "right", "bottom", "top")},
                source=columns,
                color=CAUSES[cause],
                line_color=None,
                nonselection_fill_alpha=0.35,
                name=label,
            )
            plot.add_tools(
                hover([bars], (("layer", "@name"), ("model", "@model"), (label, "@cycles"), ("all", "@all cycles")))
            )
            drawn[label] = bars
        below = above
    plot.add_tools(library("bokeh.models").TapTool(renderers=list(drawn.values())))
    plot.xaxis.visible = False
    plot.xgrid.visible = False
    plot.y_range.start = 0
    plot.yaxis.formatter = library("bokeh.models").NumeralTickFormatter(format="0,0")
    plot.yaxis.axis_label = "cycles"
    colours = {label: CAUSES[cause] for cause, label in CAUSE_NAMES.items() if label in drawn}
    return finish("cycles", plot, colours, "Predicted cycles of each layer, in the order of execution, by cause")
