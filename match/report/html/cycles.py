"""The cycles of each layer, or of a group's operators, as bars, one cause above the other."""

from __future__ import annotations

from match.report.html.figures import Chart, figure, finish, hover, source
from match.report.html.library import library
from match.report.html.palette import CAUSES
from match.report.html.text import number
from match.report.layer_rows import Cause
from match.report.pieces import pieces
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
    """A bar for each layer in the order of execution, of a group one for each operator and one for what they share."""
    shown = pieces(report)
    plot = figure(height=280, x_range=(-0.6, max(len(shown), 1) - 0.4), tools="xpan,xzoom_in,xzoom_out,reset")
    places = range(len(shown))
    below = [0.0] * len(shown)
    drawn: dict[str, object] = {}
    for cause, label in CAUSE_NAMES.items():
        amounts = [piece.causes.get(cause, 0) for piece in shown]
        above = [low + amount for low, amount in zip(below, amounts, strict=True)]
        if any(amounts):
            columns = source(
                {
                    "layer": [piece.place for piece in shown],
                    "left": [place - _HALF for place in places],
                    "right": [place + _HALF for place in places],
                    "bottom": below,
                    "top": above,
                    "name": [piece.name for piece in shown],
                    "model": [piece.source for piece in shown],
                    "cycles": [number(amount) for amount in amounts],
                    "all": [number(piece.cycles) for piece in shown],
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
    what = "Predicted cycles of each layer or operator of a group, in the order of execution, by cause"
    return finish("cycles", plot, colours, what)
