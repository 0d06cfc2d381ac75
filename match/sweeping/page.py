"""The picture of a sweep as a page: cycles beside energy or bytes of L1, and the points as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from match.report.html.figures import Chart, figure, finish, hover, source
from match.report.html.library import library
from match.report.html.page import Page, Tab, assembled
from match.report.html.text import joined, table
from match.sweeping.schema import Figures, PointResult, SweepResult
from match.sweeping.table import hypothetical, value_text

_BEST, _OTHER = "#d55e00", "#56b4e9"
_HEIGHT = 420


def sweep_page(result: SweepResult, pages: Mapping[int, str]) -> Page:
    """A sweep as a page; `pages` are the names of the files with the reports of points, by their numbers.

    Raises:
        ToolchainError: if the libraries that draw are not installed.
    """
    models = list(dict.fromkeys(point.model for point in result.points))
    charts: list[tuple[str, Chart]] = []
    tabs: list[Tab] = []
    for place, model in enumerate(models):
        own = [(number, point) for number, point in enumerate(result.points) if point.model == model]
        drawn = _charts(own, place, result)
        charts += drawn
        warned = joined(Markup('<p class="hint">{}</p>').format(line) for line in hypothetical(result))
        pictures = joined(Markup("<h2>{}</h2>{}").format(title, chart.content) for title, chart in drawn)
        tabs.append(
            Tab(f"points-{place}", model, Markup("{}{}{}").format(warned, pictures, _table(own, result, pages)))
        )
    title = f"{len(result.points)} points"
    subtitle = f"on {result.target}: {', '.join(result.axes) or 'nothing set'}; predicted"
    drawings = [chart for _, chart in charts]
    return assembled(title, subtitle, result.generator, tabs, drawings, Markup(""))


def _charts(own: list[tuple[int, PointResult]], place: int, result: SweepResult) -> list[tuple[str, Chart]]:
    known = [(number, point, point.figures) for number, point in own if point.figures]
    sizes = [float(figures.l1_bytes) for *_, figures in known]
    pictures = [("Cycles and bytes of L1", _scatter(known, f"l1-{place}", "bytes of L1", sizes, result))]
    energies = [figures.energy_pj / 1e6 for *_, figures in known if figures.energy_pj is not None]
    if len(energies) == len(known):
        drawn = _scatter(known, f"energy-{place}", _energy_unit(result), energies, result)
        pictures.append(("Cycles and energy", drawn))
    return pictures


def _scatter(
    known: list[tuple[int, PointResult, Figures]], name: str, unit: str, across: Sequence[float], result: SweepResult
) -> Chart:
    """Cycles of each point above what it has `across`; best ones are orange, inexact ones triangles."""
    plot = figure(height=_HEIGHT, x_axis_label=unit, y_axis_label="cycles", tools="pan,wheel_zoom,box_zoom,reset")
    drawn: list[Any] = []
    entries: dict[str, str] = {}
    for best, exact in ((False, True), (False, False), (True, True), (True, False)):
        points = [
            (x, *one)
            for x, one in zip(across, known, strict=True)
            if (one[1].best, not one[2].inexact_layers) == (best, exact)
        ]
        label = f"{'no other' if best else 'another'} is better, {'exact (dot)' if exact else 'not exact (triangle)'}"
        columns = {
            "x": [x for x, *_ in points],
            "y": [float(figures.cycles) for *_, figures in points],
            "what": [_described(number, point, result) for _, number, point, _ in points],
        }
        colour, marker = _BEST if best else _OTHER, "circle" if exact else "triangle"
        if points:
            entries[label] = colour
            drawn.append(
                plot.scatter(
                    "x", "y", source=source(columns), marker=marker, size=9, color=colour, alpha=0.8, name=label
                )
            )
    plot.xaxis.formatter = plot.yaxis.formatter = library("bokeh.models").NumeralTickFormatter(format="0,0[.]0")
    plot.add_tools(hover(drawn, [("", "@what"), ("cycles", "@y{0,0}"), (unit, "@x{0,0.[00]}")]))
    return finish(name, plot, entries, f"cycles of each point beside its {unit}")


def _energy_unit(result: SweepResult) -> str:
    return "µJ, estimated" if result.estimated_energy else "µJ"


def _described(number: int, point: PointResult, result: SweepResult) -> str:
    return f"point {number}: " + ", ".join(f"{name}={value_text(name, point.values[name])}" for name in result.axes)


def _table(own: list[tuple[int, PointResult]], result: SweepResult, pages: Mapping[int, str]) -> Markup:
    headings = (
        "point",
        *result.axes,
        "cycles",
        "ms",
        _energy_unit(result),
        "L1",
        "main memory",
        "bytes moved",
        "layers not exact",
        "",
    )
    return table(headings, (_row(number, point, result, pages.get(number)) for number, point in own))


def _row(number: int, point: PointResult, result: SweepResult, page: str | None) -> tuple[Any, ...]:
    named = Markup('<a href="{}">{}</a>').format(page, number) if page else str(number)
    values = (value_text(name, point.values[name]) for name in result.axes)
    figures = point.figures
    if figures is None:
        return (named, *values, *("",) * 7, point.refusal or "")
    return (
        named,
        *values,
        figures.cycles,
        round(figures.milliseconds, 3),
        None if figures.energy_pj is None else round(figures.energy_pj / 1e6, 3),
        figures.l1_bytes,
        figures.main_bytes,
        figures.bytes_moved,
        figures.inexact_layers,
        "best" if point.best else "",
    )
