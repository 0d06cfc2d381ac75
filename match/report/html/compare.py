"""Two reports side by side: totals, layers by what they compute, timelines and memories one above the other."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from match.report.compare import Comparison, LayerChange, compare
from match.report.compare_table import described, moved, relative, sentence
from match.report.html.bars import bars_beside
from match.report.html.details import each
from match.report.html.figures import Chart
from match.report.html.layers import searched
from match.report.html.legible import legible
from match.report.html.memory import has_memory, memory_charts, memory_panel
from match.report.html.overview import by_cause, by_unit
from match.report.html.page import Page, Tab, assembled
from match.report.html.text import joined, link, name, number, stacked, table
from match.report.html.timeline import timeline_chart, timeline_panel
from match.report.schema import Report

_COLOURS = {"A": "#56b4e9", "B": "#d55e00"}


def compare_page(a: Report, b: Report) -> Page:
    """Two reports as a page.

    Raises:
        ToolchainError: if the libraries that draw are not installed.
    """
    reports = {"A": legible(a), "B": legible(b)}
    comparison = compare(reports["A"], reports["B"])
    numbers = {"A": _numbers(reports["A"], comparison, "A"), "B": _numbers(reports["B"], comparison, "B")}
    cycles = _chart(comparison)
    charts = [cycles]
    tabs = [
        Tab("overview", "Overview", _overview(reports, comparison, cycles)),
        Tab("layers", "Layers", _layers(comparison)),
    ]
    longest = max(report.totals.cycles / report.target.clock_hz for report in reports.values())
    timelines: list[Markup] = []
    memories: list[Markup] = []
    for side, report in reports.items():
        heading = Markup('<h2 class="side">{}</h2>').format(f"{side}: {report.model.name} on {report.target.name}")
        if report.timeline is not None:
            chart = timeline_chart(report, report.timeline, f"timeline-{side.lower()}", numbers[side], longest)
            charts.append(chart)
            timelines += [heading, timeline_panel(report, chart, report.timeline)]
        if has_memory(report):
            drawn = memory_charts(report, f"memory-{side.lower()}", numbers[side])
            charts += [chart for _, chart in drawn]
            memories.append(Markup("<div>{}{}</div>").format(heading, memory_panel(report, drawn, numbers[side])))
    if timelines:
        tabs.append(Tab("timeline", "Timeline", joined(timelines)))
    if memories:
        tabs.append(Tab("memory", "Memory", Markup('<div class="columns">{}</div>').format(joined(memories))))
    title = "Compared: " + " and ".join(dict.fromkeys(report.model.name for report in reports.values()))
    subtitle = "; ".join(
        f"{side}: {report.target.name}, {report.totals.milliseconds:,.3f} ms" for side, report in reports.items()
    )
    generator = reports["B"].generator
    return assembled(title, subtitle, generator, tabs, charts, _details(reports, comparison, numbers))


def _numbers(report: Report, comparison: Comparison, side: str) -> list[int]:
    """For each layer of a report its line of the comparison."""
    lines = {
        layer: line
        for line, change in enumerate(comparison.layers)
        for layer in (change.a_layers if side == "A" else change.b_layers)
    }
    return [lines[layer.name] for layer in report.layers]


def _overview(reports: dict[str, Report], comparison: Comparison, cycles: Chart) -> Markup:
    sides = {"A": comparison.a, "B": comparison.b}
    totals = [
        (total.name.replace("_", " "), total.a, total.b, relative(total.a, total.b))
        for total in comparison.totals
        if total.a is not None or total.b is not None
    ]
    bars = joined(
        stacked(f"{side}: {what}", parts(report), "cycles")
        for what, parts in (("by unit", by_unit), ("by cause", by_cause))
        for side, report in reports.items()
    )
    others = sum(not layer.same for layer in comparison.layers)
    files = Markup("<p>The model files differ.</p>") if comparison.a.sha256 != comparison.b.sha256 else Markup()
    return Markup(
        '<div class="columns"><section class="card"><h2>Totals</h2>{}{}{}<p>{}</p></section>'
        '<section class="card"><h2>Where the cycles go</h2>{}</section></div>'
        '<section class="card"><h2>Cycles of each layer</h2>{}</section>'
    ).format(
        joined(Markup("<p><strong>{}:</strong> {}</p>").format(side, described(one)) for side, one in sides.items()),
        table(("predicted", "A", "B", "change"), totals),
        files,
        sentence(others, len(comparison.layers)),
        bars,
        cycles.content,
    )


def _layers(comparison: Comparison) -> Markup:
    """A row for each line of the comparison, with headings that sort and a field that searches."""
    headings = ("layer", "cycles A", "cycles B", "difference", "change", "what moved")
    return searched(headings, range(1, 4), [_row(line, layer) for line, layer in enumerate(comparison.layers)])


def _row(line: int, layer: LayerChange) -> Markup:
    figures = joined(
        Markup("<td></td>")
        if value is None
        else Markup('<td class="number" data-value="{}">{}</td>').format(value, number(value))
        for value in (layer.a_cycles, layer.b_cycles, layer.difference)
    )
    return Markup('<tr data-layer="{}"><th scope="row">{}</th>{}<td>{}</td><td>{}</td></tr>').format(
        line, link(line, _name(layer)), figures, relative(layer.a_cycles, layer.b_cycles), "; ".join(moved(layer))
    )


def _name(layer: LayerChange) -> str:
    return f"{layer.name} ({layer.b_name})" if layer.b_name else layer.name


def _details(reports: dict[str, Report], comparison: Comparison, numbers: dict[str, list[int]]) -> Markup:
    """What moved of each line, then its layers in both reports."""
    told = {side: each(report, numbers[side]) for side, report in reports.items()}
    places = {
        side: {layer.name: place for place, layer in enumerate(report.layers)} for side, report in reports.items()
    }

    def own(layer: LayerChange) -> Iterator[Markup]:
        for side, names in (("A", layer.a_layers), ("B", layer.b_layers)):
            for one in names:
                yield Markup("<details><summary>{}: {}</summary>{}</details>").format(
                    side, name(one), told[side][places[side][one]]
                )

    return joined(
        Markup('<article id="layer-{}" hidden><h2>{}</h2>{}{}</article>').format(
            line, name(_name(layer)), _changes(layer), joined(own(layer))
        )
        for line, layer in enumerate(comparison.layers)
    )


def _changes(layer: LayerChange) -> Markup:
    if layer.same:
        return Markup("<p>The same in both: {} cycles.</p>").format(number(layer.a_cycles))
    if not layer.changes:
        return Markup("<p>{}.</p>").format(moved(layer)[0].capitalize())
    return table(
        ("what", "A", "B", "why"), ((one.aspect.replace("_", " "), one.a, one.b, one.why) for one in layer.changes)
    )


def _chart(comparison: Comparison) -> Chart:
    """Two bars for each line."""
    layers = comparison.layers
    amounts = {"A": [layer.a_cycles or 0 for layer in layers], "B": [layer.b_cycles or 0 for layer in layers]}
    labels = [(line, _name(layer)) for line, layer in enumerate(layers)]
    return bars_beside("cycles", labels, amounts, _COLOURS, "cycles", "Predicted cycles of each layer in A and in B")
