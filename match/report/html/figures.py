"""What all pictures of a page have in common, and their JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from markupsafe import Markup

from match.report.html.library import library
from match.report.html.text import joined, swatch

Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Chart:
    """A picture of the page: its name, what draws it, and the HTML that it is drawn in.

    Columns called `layer` in its sources hold places of layers; a tap on one selects it, and it then stands out.
    """

    name: str
    item: dict[str, Any]
    content: Markup


def figure(**options: Any) -> Any:
    """An empty figure, as wide as there is room."""
    plot = library("bokeh.plotting").figure(
        sizing_mode="stretch_width", background_fill_alpha=0, border_fill_alpha=0, **options
    )
    plot.toolbar.logo = None
    plot.xaxis.axis_label_text_font_style = plot.yaxis.axis_label_text_font_style = "normal"
    return plot


def source(columns: Columns) -> Any:
    """A source of columns; those of floating-point numbers take eight bytes for each."""
    return library("bokeh.models").ColumnDataSource(
        {
            name: np.array(values, np.float64) if any(isinstance(one, float) for one in values) else list(values)
            for name, values in columns.items()
        }
    )


def hover(renderers: Sequence[Any], tips: Sequence[tuple[str, str]]) -> Any:
    """What is told of what is under the pointer."""
    return library("bokeh.models").HoverTool(
        renderers=list(renderers), tooltips=list(tips), point_policy="follow_mouse", visible=False
    )


def legend(chart: str, entries: Mapping[str, str]) -> Markup:
    """A button for each entry, with its colour; it hides and shows what the picture draws under that name."""
    buttons = joined(
        Markup('<button type="button" aria-pressed="true" data-shows="{}">{}{}</button>').format(
            label, swatch(colour), label
        )
        for label, colour in entries.items()
    )
    return Markup('<div class="legend" role="group" aria-label="Legend" data-of="{}">{}</div>').format(chart, buttons)


def finish(name: str, plot: Any, entries: Mapping[str, str], what: str) -> Chart:
    """The picture; equal figures give equal JSON.

    Bokeh numbers its objects in the order in which a process makes them: here they are numbered anew.

    Args:
        name: of the picture.
        plot: its figure.
        entries: of the legend: colours by the names of renderers.
        what: it shows, for readers who do not see it.
    """
    plot.name = name
    made = _renumbered(library("bokeh.embed").json_item(plot), {})
    place = Markup('<div class="chart" data-chart="{}" role="img" aria-label="{}"></div>').format(name, what)
    return Chart(name, made, Markup("{}{}").format(legend(name, entries) if len(entries) > 1 else "", place))


def _renumbered(value: Any, numbers: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_renumbered(one, numbers) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    new: dict[str, Any] = {}
    for key, one in cast("dict[str, Any]", value).items():
        named = key in ("id", "root_id") and isinstance(one, str)
        new[key] = numbers.setdefault(one, f"m{len(numbers)}") if named else _renumbered(one, numbers)
    return new
